"""The examples and commands of the serving pages, as they are written: run in a shell, on a port that is free."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import furnace
from furnace.command import make_parser
from furnace.models.served import ServedModel
from furnace.settings import Settings, read_toml
from furnace.signature import Signature, TensorSpec
from tests.docs.test_docs_run import SKIP, blocks
from tests.furnace.interpreters import run_script

ROOT = Path(__file__).resolve().parents[2]
SERVING = ROOT / "examples" / "serving"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def commands(page, *, until=None):
    """The shell blocks of a page, without those that it leaves out."""
    text = page.read_text(encoding="utf-8").partition(until)[0] if until else page.read_text(encoding="utf-8")
    return [each.text for each in blocks(text) if each.language == "sh" and not SKIP.match(each.remark)]


def run_commands(text, folder):
    """Run blocks as one script each; what they left running is ended. Gives what was printed."""
    script = f"set -e\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n{text.replace('3000', free_port())}"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=90, check=False,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A folder in which the four commands of the page have run, and what they printed."""
    for tool in ("bash", "curl"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    folder = tmp_path_factory.mktemp("digits")
    first = commands(ROOT / "docs" / "serving.md")[0]
    assert len(first.strip().splitlines()) == 4
    return folder, run_commands(first, folder)


def test_four_commands_lead_to_an_answer(digits):
    folder, printed = digits
    answer = json.loads(printed.splitlines()[-1])
    assert answer["status"] == "success"
    said = re.search(r"a request with a (\d)", printed)
    assert int(np.argmax(answer["output"])) == int(said[1])
    assert {"digits.onnx", "digits.mpk", "digits.json", "digit.json"} <= {each.name for each in folder.iterdir()}


def test_the_readme_of_the_example_says_the_same():
    assert "python -m examples.serving.train digits.onnx" in commands(SERVING / "README.md")[0]
    assert [line.split()[0] for line in commands(SERVING / "README.md")[0].splitlines()] == [
        "python", "burn-import", "furnace", "curl"]  # fmt: skip


def test_the_commands_of_the_security_page(digits):
    folder, _ = digits
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    keys, tls = commands(ROOT / "docs" / "serving-security.md")
    assert run_commands(keys, folder).split() == ["200", "401", "200"]
    assert run_commands(tls, folder).split() == ["200"]


def test_the_client_of_the_example(capsys):
    from examples.serving import client

    shape = ("batch", 1, 28, 28)
    signature = Signature((TensorSpec("image", "FP32", shape),), (TensorSpec("scores", "FP32", ("batch", 10)),))
    model = ServedModel("seven", "1", signature, lambda inputs: [np.eye(10, dtype=np.float32)[[7] * len(inputs[0])]])
    with furnace.TestServer(model) as server:
        assert client.main([server.url, "--count", "40", "--together", "4"]) == 0
    assert re.fullmatch(
        r"[\d.]+% of 40 digits recognised, [\d.]+ ms for an answer \(median\)\n", capsys.readouterr().out
    )


RAY = """
import json, os, sys, urllib.request
import ray
from ray import serve
from examples.serving.ray_deployment import app

model, port = sys.argv[1:]
ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
serve.start(http_options={"port": int(port)})
serve.run(app({"model": model, "replicas": "2"}))

def ask(path, body=None):
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", body)) as answer:
        return answer.read()

assert json.loads(ask("/v2/health/ready")) == {"ready": True}
for i in range(10):
    assert json.loads(ask("/predict", json.dumps({"input": [i, 0]}).encode()))["output"] == [i + 1.0, 1.0]
assert ask("/").startswith(b"<!doctype html>")
serve.shutdown()
ray.shutdown()
print("served by ray", ray.__version__)
"""


@pytest.mark.slow
def test_the_ray_deployment_serves(tmp_path):
    """Two replicas of a model behind Ray's own proxy."""
    from tests.furnace.adders import write_adder

    model = write_adder(tmp_path / "adder.onnx", 1)
    path = f"{ROOT}:{ROOT / 'src'}"
    assert "served by ray" in run_script("ray", RAY, str(model), free_port(), seconds=150, PYTHONPATH=path)


def test_manifests_use_what_the_server_has(tmp_path):
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    plain = list(yaml.safe_load_all((SERVING / "kubernetes" / "deployment.yaml").read_text()))
    (tmp_path / "furnace.toml").write_text(plain[0]["data"]["furnace.toml"])
    settings = Settings(**read_toml(tmp_path / "furnace.toml"))
    pod = plain[1]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert {each["containerPort"] for each in container["ports"]} == {settings.port, settings.grpc_port}
    assert pod["terminationGracePeriodSeconds"] > settings.drain_seconds
    runtime, service = yaml.safe_load_all((SERVING / "kubernetes" / "kserve.yaml").read_text())
    given = vars(make_parser().parse_args(runtime["spec"]["containers"][0]["args"]))
    assert given["port"] == runtime["spec"]["containers"][0]["ports"][0]["containerPort"]
    assert service["spec"]["predictor"]["model"]["runtime"] == runtime["metadata"]["name"]
    from furnace.routes import FIXED

    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in FIXED
    assert runtime["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] in FIXED


def test_every_option_is_on_the_operations_page(tmp_path):
    page = (ROOT / "docs" / "serving-operations.md").read_text()
    missing = [each.name for each in fields(Settings) if f"`--{each.name.replace('_', '-')}" not in page]
    assert missing == []
    (tmp_path / "furnace.toml").write_text(next(each.text for each in blocks(page) if each.language == "toml"))
    assert read_toml(tmp_path / "furnace.toml")["workers"] == 2


def test_every_metric_is_on_the_operations_page():
    from furnace.hub import Hub
    from furnace.protocols.prometheus import exposition

    page = (ROOT / "docs" / "serving-operations.md").read_text()
    names = re.findall(r"# TYPE (\w+)", exposition(Hub(), uptime=0.0, connections=0))
    assert len(names) >= 9
    assert [each for each in names if f"`{each}`" not in page] == []
