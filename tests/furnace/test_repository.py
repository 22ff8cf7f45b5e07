"""A folder of models: what is found in it, what clients may do with it, and files that change under load."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import furnace
from furnace import watching
from furnace.client.messages import ServerError
from furnace.errors import ModelError
from tests.furnace.adders import write_adder

ROW = {"x": np.zeros((1, 2), np.float32)}


@pytest.fixture
def folder(tmp_path):
    """Two versions of one model as Triton lays them out, a model without versions, and one that is broken."""
    write_adder(tmp_path / "adder" / "1" / "model.onnx", 1)
    write_adder(tmp_path / "adder" / "2" / "model.onnx", 2)
    (tmp_path / "adder" / "config.pbtxt").write_text('name: "adder"\nplatform: "onnxruntime_onnx"\n')
    write_adder(tmp_path / "plain" / "anything.onnx", 10)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden" / "1").mkdir(parents=True)
    (tmp_path / "README.txt").write_text("a file beside the models")
    return tmp_path


def served(folder, **options):
    return furnace.TestServer(model_repository=str(folder), device="ndarray", max_batch_size=2, **options)


def first(client, model, **options):
    return float(client.infer(ROW, model=model, **options)["y"][0, 0])


def index(client):
    return {(each["name"], each["version"]): each for each in client._json("POST", "/v2/repository/index")}


def test_versions_are_served_side_by_side_and_the_newest_by_default(folder):
    with served(folder) as server, server.client() as client:
        assert first(client, "adder") == 2
        assert first(client, "adder", version="1") == 1
        assert first(client, "plain") == 10
        assert client.metadata("adder")["versions"] == ["1", "2"]
        with pytest.raises(ServerError, match="has no version '3'"):
            first(client, "adder", version="3")


def test_a_model_that_cannot_load_is_unready_with_the_reason_and_the_others_serve(folder):
    with served(folder) as server, server.client() as client:
        entries = index(client)
        assert entries["broken", "1"]["state"] == "UNAVAILABLE"
        assert "cannot be loaded" in entries["broken", "1"]["reason"]
        assert entries["adder", "1"]["state"] == "READY"
        assert not client.ready("broken")
        assert not client.ready()  # the server as a whole says that something is missing
        with pytest.raises(ServerError, match="is not ready") as caught:
            first(client, "broken")
        assert caught.value.status == 503


def test_loading_and_unloading_when_it_is_allowed(folder):
    with served(folder, allow_repository_control=True) as server, server.client() as client:
        client.unload("plain")
        assert index(client)["plain", "1"]["state"] == "UNAVAILABLE"
        with pytest.raises(ServerError, match="there is no model 'plain'"):
            first(client, "plain")
        client.load("plain")
        assert first(client, "plain") == 10
        write_adder(folder / "late" / "1" / "model.onnx", 7)
        client.load("late")
        assert first(client, "late") == 7
        write_adder(folder / "broken" / "1" / "model.onnx", 3)
        client.load("broken")
        assert first(client, "broken") == 3
        for name in ("nothing", "empty", "README.txt"):
            with pytest.raises(ServerError, match="has no model") as caught:
                client.load(name)
            assert caught.value.status == 404


def test_a_bad_file_does_not_end_the_version_that_runs(folder):
    with served(folder, allow_repository_control=True) as server, server.client() as client:
        (folder / "plain" / "anything.onnx").write_bytes(b"half a file")
        with pytest.raises(ServerError, match="cannot be loaded"):
            client.load("plain")
        assert first(client, "plain") == 10


def test_reload_under_load_fails_no_request(folder, monkeypatch):
    monkeypatch.setattr(watching, "SECONDS", 0.03)
    with served(folder, reload=True) as server:
        seen, faults, ended = set(), [], threading.Event()

        def ask():
            with furnace.Client(server.url) as client:
                while not ended.is_set():
                    try:
                        seen.add(first(client, "plain"))
                    except Exception as error:
                        faults.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in (11, 12, 13):
            write_adder(folder / "plain" / "anything.onnx", number)
            end = time.monotonic() + 30
            while number not in seen and time.monotonic() < end:
                time.sleep(0.01)
        (folder / "plain" / "anything.onnx").write_bytes(b"half a file")
        time.sleep(0.3)
        write_adder(folder / "adder" / "3" / "model.onnx", 3)  # a new version is taken into service too
        with server.client() as client:
            end = time.monotonic() + 30
            while first(client, "adder") != 3 and time.monotonic() < end:
                time.sleep(0.01)
            assert first(client, "adder") == 3
            assert first(client, "plain") == 13
        ended.set()
        for thread in threads:
            thread.join(20)
    assert faults == []
    assert {10, 11, 12, 13} >= seen >= {11, 12, 13}


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelError, match="there is no folder"):
        served(tmp_path / "absent")


def test_an_empty_repository_serves_and_is_not_ready(tmp_path):
    with served(tmp_path) as server, server.client() as client:
        assert index(client) == {}
        assert not client.ready()
