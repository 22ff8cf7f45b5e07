"""What the server answers to well-formed and ill-formed requests of each protocol."""

from __future__ import annotations

import http.client
import json
import struct

import numpy as np
import pytest

from furnace.client.messages import ServerError


def call(server, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server.port, timeout=20)
    data = json.dumps(body).encode() if isinstance(body, dict | list) else body
    connection.request(method, path, data, headers or {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def call_json(server, method, path, body=None, headers=None):
    status, _, text = call(server, method, path, body, headers)
    return status, json.loads(text)


def test_predict_takes_a_flat_item(server):
    status, answer = call_json(server, "POST", "/predict", {"input": [1, 2, 3, 4]})
    assert status == 200
    assert answer["output"] == [2, 4, 6, 8]
    assert answer["status"] == "success"
    assert answer["batch_size"] == 1
    assert answer["inference_time_ms"] > 0
    assert answer["timestamp"].startswith("20")


def test_predict_takes_a_nested_item_and_named_inputs(server):
    assert call_json(server, "POST", "/predict", {"input": [[1, 2, 3, 4]]})[1]["output"] == [2, 4, 6, 8]
    assert call_json(server, "POST", "/predict", {"input": {"x": [1, 2, 3, 4]}})[1]["output"] == [2, 4, 6, 8]
    whole = call_json(server, "POST", "/predict", {"inputs": {"x": [[1, 2, 3, 4], [0, 0, 0, 1]]}})[1]
    assert whole["outputs"] == {"y": [[2, 4, 6, 8], [0, 0, 0, 2]]}


def test_predict_of_several_items_keeps_their_order(server):
    items = [[i, 0, 0, i] for i in range(5)]
    status, answer = call_json(server, "POST", "/predict", {"inputs": items})
    assert status == 200
    assert answer["outputs"] == [[2 * i, 0, 0, 2 * i] for i in range(5)]
    assert answer["batch_size"] == 5


@pytest.mark.parametrize(
    "body, words",
    [
        ({"input": [1, 2, 3]}, "has 3 values, expected 4"),
        ({"input": ["a", "b", "c", "d"]}, "takes numbers, found the string 'a'"),
        ({"input": [1, None, 3, 4]}, "found null"),
        ({"input": [[1, 2], [3]]}, "ragged"),
        ({"input": {"z": [1]}}, "there is no input 'z'"),
        ({"inputs": []}, "at least one"),
        ({"input": [1], "inputs": [[1]]}, "write"),
        ({}, "write"),
        ([1, 2], "expected an object"),
        (b"{nonsense", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ({"input": [1e39, 0, 0, 0]}, "too large for FP32"),
        ({"input": [True, False, True, False]}, "found true"),
    ],
)
def test_bad_items_are_refused_with_what_was_expected(server, body, words):
    status, answer = call_json(server, "POST", "/predict", body)
    assert status == 400
    assert words in answer["error"]
    assert set(answer) == {"error", "code", "details", "timestamp"}


def test_deep_nesting_is_refused(server):
    status, answer = call_json(server, "POST", "/predict", b'{"input":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert status == 400
    assert answer["code"] == "INVALID_REQUEST"


def test_unknown_paths_and_methods(server):
    assert call_json(server, "GET", "/nothing")[0] == 404
    status, headers, _ = call(server, "GET", "/predict")
    assert status == 405
    assert {name.lower(): value for name, value in headers.items()}["allow"] == "POST"
    assert call_json(server, "POST", "/models/other/predict", {"input": [1]})[0] == 404


def test_health_and_model_info(server):
    for path in ("/health", "/healthz"):
        status, answer = call_json(server, "GET", path)
        assert (status, answer["status"]) == (200, "healthy")
    info = call_json(server, "GET", "/model/info")[1]
    assert info["inputs"] == [{"name": "x", "datatype": "FP32", "shape": ["batch", 4]}]
    assert info["parameters"] == 16
    assert info["stats"]["request_count"] >= 0


def test_the_second_protocol_describes_server_and_model(server):
    assert call_json(server, "GET", "/v2")[1]["name"] == "furnace"
    assert call_json(server, "GET", "/v2/health/live")[0] == 200
    assert call_json(server, "GET", "/v2/health/ready")[0] == 200
    described = call_json(server, "GET", "/v2/models/doubler")[1]
    assert described["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert described["versions"] == ["1"]
    assert call_json(server, "GET", "/v2/models/doubler/versions/1/ready")[0] == 200
    assert call_json(server, "GET", "/v2/models/doubler/versions/7")[0] == 404


def test_the_second_protocol_infers_in_json(server):
    tensor = {"name": "x", "shape": [2, 4], "datatype": "FP32", "data": list(range(8))}
    status, answer = call_json(server, "POST", "/v2/models/doubler/infer", {"id": "seven", "inputs": [tensor]})
    assert status == 200
    assert answer["id"] == "seven"
    assert answer["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [2, 4], "data": [2.0 * i for i in range(8)]}
    ]


def test_the_second_protocol_infers_with_bytes(server):
    values = np.arange(4, dtype="<f4")
    header = json.dumps(
        {
            "inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}],
            "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
        }
    ).encode()
    status, headers, body = call(
        server,
        "POST",
        "/v2/models/doubler/infer",
        header + values.tobytes(),
        {"Inference-Header-Content-Length": str(len(header))},
    )
    assert status == 200
    length = int({name.lower(): value for name, value in headers.items()}["inference-header-content-length"])
    assert json.loads(body[:length])["outputs"][0]["parameters"] == {"binary_data_size": 16}
    assert struct.unpack("<4f", body[length:]) == (0.0, 2.0, 4.0, 6.0)


@pytest.mark.parametrize(
    "tensor, words",
    [
        ({"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1]}, "is 4 elements, data has 1"),
        ({"name": "x", "shape": [1, 4], "datatype": "FP31", "data": [1] * 4}, "no datatype 'FP31'"),
        ({"name": "x", "shape": [1, 4], "datatype": "FP64", "data": [1] * 4}, "is FP64, the model takes FP32"),
        ({"name": "x", "shape": [1, 5], "datatype": "FP32", "data": [1] * 5}, "has 5 at dim 1, expected 4"),
        ({"name": "x", "shape": [4], "datatype": "FP32", "data": [1] * 4}, "has shape [4]"),
        ({"name": "x", "shape": [-1, 4], "datatype": "FP32", "data": [1] * 4}, "shape is not a list of whole numbers"),
        ({"name": "x", "shape": [0, 4], "datatype": "FP32", "data": []}, "no rows"),
        ({"name": "x", "shape": [1, 4], "datatype": "FP32"}, "has no data"),
        ({"shape": "wide", "datatype": 3}, "inputs[0].name is missing; inputs[0].shape"),
        (
            {"name": "x", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}},
            "0 bytes are left",
        ),
    ],
)
def test_bad_tensors_of_the_second_protocol(server, tensor, words):
    status, answer = call_json(server, "POST", "/v2/models/doubler/infer", {"inputs": [tensor]})
    assert status == 400
    assert words in answer["error"]


def test_not_a_number_is_let_in_only_by_choice(client):
    with pytest.raises(ServerError, match="holds NaN or infinity"):
        client.infer({"x": np.array([[1, np.nan, 3, 4]], np.float32)})


def test_the_first_protocol_of_kserve(server):
    status, answer = call_json(
        server, "POST", "/v1/models/doubler:predict", {"instances": [[1, 2, 3, 4], [0, 0, 0, 1]]}
    )
    assert (status, answer) == (200, {"predictions": [[2, 4, 6, 8], [0, 0, 0, 2]]})
    assert call_json(server, "GET", "/v1/models")[1] == {"models": ["doubler"]}
    assert call_json(server, "GET", "/v1/models/doubler")[1] == {"name": "doubler", "ready": True}
    assert call_json(server, "POST", "/v1/models/doubler:predict", {"instances": []})[0] == 400


def test_statistics_count_what_was_asked(server, client):
    before = call_json(server, "GET", "/v2/models/doubler/stats")[1]["model_stats"][0]
    client.infer({"x": np.ones((3, 4), np.float32)})
    after = call_json(server, "GET", "/v2/models/doubler/stats")[1]["model_stats"][0]
    assert after["inference_count"] - before["inference_count"] == 3
    assert after["execution_count"] - before["execution_count"] == 1


def test_metrics_are_what_prometheus_reads(server, client):
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
    client.infer({"x": np.ones((2, 4), np.float32)})
    families = {
        each.name: each for each in parser.text_string_to_metric_families(call(server, "GET", "/metrics")[2].decode())
    }
    assert {"furnace_requests", "furnace_compute_seconds", "furnace_batch_rows", "furnace_queue_depth"} <= set(families)
    rows = {sample.name: sample.value for sample in families["furnace_batch_rows"].samples if "le" not in sample.labels}
    assert rows["furnace_batch_rows_sum"] >= 2


def test_clients_get_arrays(client):
    x = np.random.default_rng(0).random((3, 4), np.float32)
    for binary in (True, False):
        assert np.array_equal(client.infer({"x": x}, binary=binary)["y"], 2 * x)
    assert client.ready()
    assert client.models() == ["doubler"]
    assert client.predict([1, 1, 1, 1]) == [2, 2, 2, 2]
    with pytest.raises(ServerError, match="there is no output 'z'"):
        client.infer({"x": x}, outputs=["z"])
