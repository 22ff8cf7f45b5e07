"""Clients that others wrote, as they are: Triton's over HTTP and gRPC, KServe's, curl, and Prometheus' parser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import furnace
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler
from tests.furnace.interpreters import run_script

ROOT = Path(__file__).resolve().parents[2]
SEED = ROOT.parent / "shared" / "seeds" / "001_cb2ac56b498efa35.txt"


def shout(inputs):
    """Text in capitals, and how long each is."""
    texts = inputs[0]
    lengths = np.array([[len(each) for each in row] for row in texts], np.int64)
    return [np.array([[str(each).upper() for each in row] for row in texts], object), lengths]


def shouter():
    signature = Signature(
        (TensorSpec("text", "BYTES", ("batch", 2)),),
        (TensorSpec("loud", "BYTES", ("batch", 2)), TensorSpec("length", "INT64", ("batch", 2))),
    )
    return ServedModel("shouter", "1", signature, shout)


@pytest.fixture(scope="module")
def both():
    """A server with two models, over HTTP and gRPC."""
    options = {} if _missing("grpc") else {"grpc_port": 0}
    with furnace.TestServer(doubler(), **options) as running:
        running.server.hub.add(shouter())
        yield running


def _missing(package):
    try:
        __import__(package)
    except ImportError:
        return True
    return False


@pytest.fixture(params=["http", "grpc"])
def triton(request, both):
    """Triton's client library of one kind, and a client of it."""
    if request.param == "grpc":
        pytest.importorskip("grpc", reason="grpcio is not installed")
        library = pytest.importorskip("tritonclient.grpc", reason="tritonclient is not installed")
        client = library.InferenceServerClient(both.grpc_address)
    else:
        pytest.importorskip("geventhttpclient", reason="geventhttpclient is not installed")
        library = pytest.importorskip("tritonclient.http", reason="tritonclient is not installed")
        client = library.InferenceServerClient(both.url.removeprefix("http://"))
    yield library, client
    client.close()


def _input(library, name, array, datatype, **options):
    made = library.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, **options)
    return made


def test_triton_asks_for_health_and_metadata(triton):
    _, client = triton
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("doubler", "1")
    as_json = {"as_json": True} if "grpc" in type(client).__module__ else {}
    described = client.get_model_metadata("doubler", **as_json)
    assert [int(size) for size in described["inputs"][0]["shape"]] == [-1, 4]
    config = client.get_model_config("doubler", **as_json)
    config = config.get("config", config)
    assert (config["max_batch_size"], config["input"][0]["data_type"]) == (32, "TYPE_FP32")
    assert client.get_server_metadata(**as_json)["name"] == "furnace"


def test_triton_infers(triton):
    library, client = triton
    x = np.random.default_rng(0).random((3, 4), np.float32)
    result = client.infer(
        "doubler", [_input(library, "x", x, "FP32")], request_id="1", outputs=[library.InferRequestedOutput("y")]
    )
    assert np.array_equal(result.as_numpy("y"), 2 * x)
    response = result.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "1"


def test_triton_infers_in_json_over_http(both):
    pytest.importorskip("geventhttpclient", reason="geventhttpclient is not installed")
    library = pytest.importorskip("tritonclient.http", reason="tritonclient is not installed")
    client = library.InferenceServerClient(both.url.removeprefix("http://"))
    x = np.random.default_rng(1).random((2, 4), np.float32)
    given = _input(library, "x", x, "FP32", binary_data=False)
    for binary in (True, False):
        result = client.infer("doubler", [given], outputs=[library.InferRequestedOutput("y", binary_data=binary)])
        assert np.allclose(result.as_numpy("y"), 2 * x, rtol=1e-6)
    client.close()


def test_triton_sends_text(triton):
    library, client = triton
    text = np.array([[b"fire", "öl".encode()], [b"", b"x"]], object)
    result = client.infer("shouter", [_input(library, "text", text, "BYTES")])
    assert result.as_numpy("loud").tolist() == [[b"FIRE", "ÖL".encode()], [b"", b"X"]]
    assert result.as_numpy("length").tolist() == [[4, 2], [0, 1]]


def test_triton_asks_without_waiting(triton):
    library, client = triton
    rows = [np.full((1, 4), float(i), np.float32) for i in range(8)]
    if "grpc" in library.__name__:
        found, done = {}, threading.Semaphore(0)

        def take(result, error, place):
            found[place] = error or result
            done.release()

        for place, row in enumerate(rows):
            client.async_infer(
                "doubler", [_input(library, "x", row, "FP32")],
                lambda result, error, place=place: take(result, error, place),
            )  # fmt: skip
        assert all(done.acquire(timeout=20) for _ in rows)
        results = [found[place] for place in range(len(rows))]
    else:
        asked = [client.async_infer("doubler", [_input(library, "x", row, "FP32")]) for row in rows]
        results = [each.get_result() for each in asked]
    assert [float(each.as_numpy("y")[0, 0]) for each in results] == [2.0 * i for i in range(8)]


def test_triton_streams_over_grpc(both):
    pytest.importorskip("grpc", reason="grpcio is not installed")
    library = pytest.importorskip("tritonclient.grpc", reason="tritonclient is not installed")
    found, done = [], threading.Semaphore(0)

    def take(result, error):
        found.append((result, error))
        done.release()

    with library.InferenceServerClient(both.grpc_address) as client:
        client.start_stream(take)
        for i in range(3):
            client.async_stream_infer("doubler", [_input(library, "x", np.full((1, 4), i, np.float32), "FP32")])
        client.async_stream_infer("other", [_input(library, "x", np.zeros((1, 4), np.float32), "FP32")])
        assert all(done.acquire(timeout=20) for _ in range(4))
        client.stop_stream()
    assert [float(result.as_numpy("y")[0, 0]) for result, error in found[:3]] == [0.0, 2.0, 4.0]
    assert "there is no model 'other'" in str(found[3][1])


def test_triton_is_told_what_is_wrong(triton):
    library, client = triton
    from tritonclient.utils import InferenceServerException

    wide = np.zeros((1, 5), np.float32)
    with pytest.raises(InferenceServerException, match="has 5 at dim 1, expected 4"):
        client.infer("doubler", [_input(library, "x", wide, "FP32")])
    with pytest.raises(InferenceServerException, match="there is no model 'other'"):
        client.infer("other", [_input(library, "x", wide, "FP32")])
    with pytest.raises(InferenceServerException, match="--allow-repository-control"):
        client.load_model("doubler")
    ask = library.InferRequestedOutput("y", class_count=2)
    with pytest.raises(InferenceServerException, match="no classification"):
        client.infer("doubler", [_input(library, "x", wide[:, :4], "FP32")], outputs=[ask])


def test_triton_reads_statistics_and_the_index(triton):
    library, client = triton
    as_json = {"as_json": True} if "grpc" in library.__name__ else {}

    def count():
        stats = client.get_inference_statistics("doubler", **as_json)["model_stats"][0]
        return int(stats.get("inference_count", 0))

    before = count()
    client.infer("doubler", [_input(library, "x", np.zeros((5, 4), np.float32), "FP32")])
    assert count() - before == 5
    index = client.get_model_repository_index(**as_json)
    models = index["models"] if isinstance(index, dict) else index
    assert {(each["name"], each["state"]) for each in models} == {("doubler", "READY"), ("shouter", "READY")}


KSERVE = """
import asyncio, sys
import numpy as np
from kserve import InferInput, InferOutput, InferRequest, InferenceRESTClient, RESTConfig
from kserve.inference_client import InferenceGRPCClient

url, grpc_address = sys.argv[1:]
x = np.arange(8, dtype=np.float32).reshape(2, 4)

def request(binary):
    given = InferInput("x", [2, 4], "FP32")
    given.set_data_from_numpy(x, binary_data=binary)
    return InferRequest("doubler", infer_inputs=[given])

async def main():
    second = InferenceRESTClient(RESTConfig(protocol="v2"))
    assert await second.is_server_live(url) and await second.is_server_ready(url)
    assert await second.is_model_ready(url, "doubler")
    for binary in (False, True):
        answer = await second.infer(url, request(binary), model_name="doubler")
        assert np.array_equal(answer.outputs[0].as_numpy(), 2 * x), answer
    print("rest v2")
    first = InferenceRESTClient(RESTConfig(protocol="v1"))
    assert await first.is_model_ready(url, "doubler")
    answer = await first.infer(url, {"instances": x.tolist()}, model_name="doubler")
    assert answer == {"predictions": (2 * x).tolist()}, answer
    print("rest v1")
    await first.close(); await second.close()
    client = InferenceGRPCClient(grpc_address)
    assert await client.is_server_live() and await client.is_server_ready() and await client.is_model_ready("doubler")
    for binary in (False, True):
        answer = await client.infer(request(binary))
        assert np.array_equal(answer.outputs[0].as_numpy(), 2 * x), answer
    await client.close()
    print("grpc")

asyncio.run(main())
"""


def test_kserve_speaks_both_protocols(both):
    pytest.importorskip("grpc", reason="grpcio is not installed")
    assert run_script("kserve", KSERVE, both.url, both.grpc_address).split("\n")[:3] == ["rest v2", "rest v1", "grpc"]


def curl(*arguments):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_curl_of_the_conversion_guide():
    """The guide's command with 784 values in the place of its comment, and our port in the place of its."""
    if not SEED.exists():
        pytest.skip(f"{SEED.name} is not in ../shared/seeds")
    text = SEED.read_text(encoding="utf-8", errors="replace")
    found = re.search(r"curl -X POST http://localhost:3000/predict \\\n\s+-H \"(.*?)\" \\\n\s+-d '(.*?)'", text)
    assert found is not None
    body = re.sub(r"/\*.*?\*/", ", ".join(["0.0"] * 784), found[2])
    flat = Signature((TensorSpec("image", "FP32", (1, 1, 28, 28)),), (TensorSpec("scores", "FP32", (1, 10)),))
    model = ServedModel("mnist_burn", "1", flat, lambda inputs: [inputs[0].reshape(1, -1)[:, :10] + 1])
    with furnace.TestServer(model) as server:
        address = f"http://localhost:{server.server.port}/predict"
        answer = json.loads(curl("-4", "-X", "POST", address, "-H", found[1], "-d", body))
    assert answer["output"] == [1.0] * 10
    assert answer["status"] == "success"


def test_curl_with_a_large_body_waits_for_100_continue(both, tmp_path):
    rows = [[1.0, 2.0, 3.0, 4.0]] * 20_000
    (tmp_path / "body.json").write_text(json.dumps({"inputs": {"x": rows}}))
    given = f"@{tmp_path / 'body.json'}"
    answer = json.loads(
        curl("--data-binary", given, f"{both.url}/models/doubler/predict", "-H", "Expect: 100-continue")
    )
    assert len(answer["outputs"]["y"]) == 20_000


def test_prometheus_parses_every_family(both):
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
    with both.client() as client:
        client.infer({"x": np.ones((2, 4), np.float32)}, model="doubler")
    families = {each.name: each for each in parser.text_string_to_metric_families(curl(f"{both.url}/metrics"))}
    assert all(each.documentation and each.type in ("gauge", "counter", "histogram") for each in families.values())
    buckets = [each for each in families["furnace_compute_seconds"].samples
               if each.name.endswith("_bucket") and each.labels["model"] == "doubler"]  # fmt: skip
    assert [each.value for each in buckets] == sorted(each.value for each in buckets)
    assert buckets[-1].labels["le"] == "+Inf"


def test_workers_are_summed_into_one_exposition():
    from furnace.protocols.prometheus import summed

    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
    with furnace.TestServer(doubler()) as server, server.client() as client:
        client.infer({"x": np.ones((2, 4), np.float32)})
        text = curl(f"{server.url}/metrics")
    families = {each.name: each for each in parser.text_string_to_metric_families(summed([text, text]))}
    assert [each.value for each in families["furnace_inferences"].samples] == [4.0]
    assert [each.value for each in families["furnace_model_ready"].samples] == [1.0]
