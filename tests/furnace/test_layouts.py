"""Requests whose JSON came before are answered as the first one was, and what is wrong with them is still told."""

from __future__ import annotations

import json
import socket

import numpy as np
import pytest

import furnace
from furnace.models.served import ServedModel
from furnace.protocols import layouts
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler
from tests.furnace.test_protocols import call

PATH = "/v2/models/doubler/infer"


@pytest.fixture
def fresh():
    with furnace.TestServer(doubler()) as running:
        yield running


def asked(rows=1, name="x", outputs=None, **more):
    """The JSON of a request for some rows, and the size of its tensor."""
    tensor = {"name": name, "shape": [rows, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16 * rows}}
    given = {"inputs": [tensor], "parameters": {"binary_data_output": True}, **more}
    return json.dumps(given | ({"outputs": outputs} if outputs else {})).encode()


def infer(server, text, data, **headers):
    given = {"inference-header-content-length": str(len(text)), **headers}
    return call(server, "POST", PATH, text + data, given)


def layouts_of(server):
    return server.server.hub.find("doubler").layouts


def split(headers, body):
    length = int(headers["inference-header-content-length"])
    return json.loads(body[:length]), np.frombuffer(body[length:], np.float32)


def test_later_requests_of_the_same_json_get_answers_of_the_same_form(fresh):
    text = asked(2)
    answers = []
    for number in range(3):
        data = np.full((2, 4), number, np.float32)
        status, headers, body = infer(fresh, text, data.tobytes())
        assert status == 200
        header, found = split(headers, body)
        assert found.tolist() == [2.0 * number] * 8
        answers.append((headers, header))
    assert answers[0] == answers[1] == answers[2]
    assert list(layouts_of(fresh)) == [text]
    assert fresh.server.hub.find("doubler").serving.statistics.answers == {"success": 3}


@pytest.mark.parametrize(
    "data, words",
    [
        (np.array([1, np.nan, 3, 4], np.float32).tobytes(), "NaN or infinity"),
        (np.array([1, 2, 3, -np.inf], np.float32).tobytes(), "NaN or infinity"),
        (bytes(12), "12 bytes are left"),
        (bytes(20), "4 bytes of the body belong to no input"),
    ],
)
def test_what_is_wrong_with_a_later_request_is_told(fresh, data, words):
    text = asked()
    assert infer(fresh, text, bytes(16))[0] == 200
    status, _, body = infer(fresh, text, data)
    assert status == 400
    assert words in json.loads(body)["error"]
    assert infer(fresh, text, bytes(16))[0] == 200


def test_a_server_that_lets_them_through_does_so_for_later_requests_too():
    with furnace.TestServer(doubler(), allow_non_finite=True) as server:
        for _ in range(2):
            assert infer(server, asked(), np.full(4, np.inf, np.float32).tobytes())[0] == 200


def test_requests_that_carry_an_identity_or_numbers_are_read_each_time(fresh):
    for number in range(2):
        status, headers, body = infer(fresh, asked(id=f"n{number}"), bytes(16))
        assert split(headers, body)[0]["id"] == f"n{number}"
        plain = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [number] * 4}]}
        status, _, body = infer(fresh, json.dumps(plain).encode(), b"")
        assert status == 200
        assert json.loads(body)["outputs"][0]["data"] == [2 * number] * 4
    assert not layouts_of(fresh)


def test_outputs_may_come_in_json_though_inputs_do_not(fresh):
    text = asked(outputs=[{"name": "y", "parameters": {"binary_data": False}}])
    for number in range(3):
        status, headers, body = infer(fresh, text, np.full(4, number, np.float32).tobytes())
        assert status == 200
        assert "inference-header-content-length" not in headers
        assert json.loads(body)["outputs"][0]["data"] == [2 * number] * 4


def test_the_time_of_a_later_request_is_its_own(fresh):
    text = asked()
    assert infer(fresh, text, bytes(16))[0] == 200
    status, _, body = infer(fresh, text, bytes(16), **{"x-request-timeout-ms": "soon"})
    assert status == 400
    assert "x-request-timeout-ms" in json.loads(body)["error"]
    assert infer(fresh, text, bytes(16), **{"x-request-timeout-ms": "5000"})[0] == 200


def test_only_so_many_are_kept_and_none_that_is_long(fresh):
    for rows in range(1, layouts.LAYOUTS + 5):
        assert infer(fresh, asked(rows), bytes(16 * rows))[0] == 200
    kept = layouts_of(fresh)
    assert len(kept) == layouts.LAYOUTS
    assert asked(1) not in kept
    long = asked() + b" " * layouts.LONGEST
    assert infer(fresh, long, bytes(16))[0] == 200
    assert long not in kept


def test_inputs_are_found_by_name_and_optional_ones_may_be_left_out():
    signature = Signature(
        (TensorSpec("a", "FP32", ("n",)), TensorSpec("b", "INT64", ("n",)), TensorSpec("c", "FP32", ("n",), True)),
        (TensorSpec("sum", "FP32", ("n",)),),
    )

    def run(inputs):
        return [(inputs[0] - inputs[1]).astype(np.float32)]

    def tensor(name, datatype, size):
        return {"name": name, "shape": [2], "datatype": datatype, "parameters": {"binary_data_size": size}}

    with furnace.TestServer(ServedModel("doubler", "1", signature, run)) as server:
        given = [tensor("b", "INT64", 16), tensor("a", "FP32", 8)]  # not in the order of the model
        text = json.dumps({"inputs": given, "parameters": {"binary_data_output": True}}).encode()
        for number in range(3):
            data = np.array([1, number]).tobytes() + np.array([5, 5], np.float32).tobytes()
            status, headers, body = infer(server, text, data)
            assert status == 200, body
            assert split(headers, body)[1].tolist() == [4, 5 - number]
        assert len(layouts_of(server)) == 1


def test_answers_to_browsers_and_last_answers_of_a_connection_have_their_headers():
    with furnace.TestServer(doubler(), cors_origin=("https://a.example",)) as server:
        for _ in range(2):
            _, headers, _ = infer(server, asked(), bytes(16), origin="https://a.example")
            assert headers["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-origin" not in infer(server, asked(), bytes(16))[1]
        assert infer(server, asked(), bytes(16), connection="close")[1]["connection"] == "close"


def test_a_length_that_is_no_number_is_told(fresh):
    with socket.create_connection(("127.0.0.1", fresh.server.port)) as client:
        client.settimeout(20)
        client.sendall(
            f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n".encode()
            + b"inference-header-content-length: \xb2\r\n\r\n{}"
        )
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 400")
