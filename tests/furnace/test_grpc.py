"""The gRPC service: every method, tensors in both forms, faults as statuses, deadlines, keys, limits, and its end."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("grpc", reason="grpcio is not installed (the grpc extra)")
pytest.importorskip("google.protobuf", reason="protobuf is not installed (the grpc extra)")

import grpc

import furnace
from furnace.errors import ModelError
from furnace.grpc.messages import HEALTH_SERVICE, MESSAGES, SERVICE
from furnace.http.listener import ListenError
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler

CODE = grpc.StatusCode


def echo(datatype="FP32"):
    """A model that gives back what it was given, in one type."""
    signature = Signature((TensorSpec("x", datatype, ("batch", None)),), (TensorSpec("y", datatype, ("batch", None)),))
    return ServedModel("echo", "1", signature, lambda inputs: [inputs[0]])


class Caller:
    """Calls methods by name over one channel."""

    def __init__(self, address, **options):
        self.channel = grpc.insecure_channel(address, **options)

    def __call__(self, method, timeout=20, metadata=None, **fields):
        call = self.channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=MESSAGES[f"{method}Request"].SerializeToString,
            response_deserializer=MESSAGES[f"{method}Response"].FromString,
        )
        return call(MESSAGES[f"{method}Request"](**fields), timeout=timeout, metadata=metadata)

    def refused(self, method, **fields):
        """The fault of a call that must fail."""
        with pytest.raises(grpc.RpcError) as caught:
            self(method, **fields)
        return caught.value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


@pytest.fixture(scope="module")
def grpc_server():
    with furnace.TestServer(doubler(), grpc_port=0, max_body_mb=1.0) as running:
        yield running


@pytest.fixture
def call(grpc_server):
    with Caller(grpc_server.grpc_address) as made:
        yield made


def tensor(values, datatype="FP32", name="x", **more):
    return {"name": name, "datatype": datatype, "shape": list(np.shape(values)), **more}


def test_health_and_metadata(call):
    assert call("ServerLive").live
    assert call("ServerReady").ready
    assert call("ModelReady", name="doubler").ready
    assert call("ModelReady", name="doubler", version="1").ready
    assert call("ServerMetadata").name == "furnace"
    described = call("ModelMetadata", name="doubler")
    assert (described.name, list(described.versions), described.platform) == ("doubler", ["1"], "burn")
    assert (described.inputs[0].name, described.inputs[0].datatype, list(described.inputs[0].shape)) == (
        "x", "FP32", [-1, 4])  # fmt: skip
    config = call("ModelConfig", name="doubler").config
    assert (config.max_batch_size, config.input[0].data_type, list(config.input[0].dims)) == (32, 11, [4])


def test_the_health_protocol_of_probes(call):
    check = call.channel.unary_unary(
        f"/{HEALTH_SERVICE}/Check",
        request_serializer=MESSAGES["HealthCheckRequest"].SerializeToString,
        response_deserializer=MESSAGES["HealthCheckResponse"].FromString,
    )
    for service in ("", SERVICE, "doubler"):
        assert check(MESSAGES["HealthCheckRequest"](service=service), timeout=20).status == 1
    with pytest.raises(grpc.RpcError) as caught:
        check(MESSAGES["HealthCheckRequest"](service="other"), timeout=20)
    assert caught.value.code() == CODE.NOT_FOUND


def test_raw_contents_are_answered_raw(call):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    answer = call("ModelInfer", model_name="doubler", id="seven", inputs=[tensor(x)], raw_input_contents=[x.tobytes()])
    assert (answer.model_name, answer.model_version, answer.id) == ("doubler", "1", "seven")
    assert list(answer.outputs[0].shape) == [2, 4]
    assert np.array_equal(np.frombuffer(answer.raw_output_contents[0], np.float32).reshape(2, 4), 2 * x)


def test_typed_contents_are_answered_typed(call):
    x = np.arange(4, dtype=np.float32)[None]
    answer = call(
        "ModelInfer", model_name="doubler", inputs=[tensor(x, contents={"fp32_contents": x.reshape(-1).tolist()})]
    )
    assert list(answer.outputs[0].contents.fp32_contents) == [0, 2, 4, 6]
    assert not answer.raw_output_contents


@pytest.mark.parametrize(
    "datatype, field, values",
    [
        ("BOOL", "bool_contents", [True, False]),
        ("INT8", "int_contents", [-128, 127]),
        ("INT16", "int_contents", [-5, 5]),
        ("INT32", "int_contents", [-(2**31), 2**31 - 1]),
        ("INT64", "int64_contents", [-(2**63), 2**63 - 1]),
        ("UINT8", "uint_contents", [0, 255]),
        ("UINT16", "uint_contents", [0, 65535]),
        ("UINT32", "uint_contents", [0, 2**32 - 1]),
        ("UINT64", "uint64_contents", [0, 2**64 - 1]),
        ("FP32", "fp32_contents", [0.5, -2.0]),
        ("FP64", "fp64_contents", [0.1, 1e300]),
        ("BYTES", "bytes_contents", [b"fire", "Ofen ä".encode()]),
    ],
)
def test_every_type_travels_typed(datatype, field, values):
    with furnace.TestServer(echo(datatype), grpc_port=0) as server, Caller(server.grpc_address) as call:
        given = {"name": "x", "datatype": datatype, "shape": [1, 2], "contents": {field: values}}
        answer = call("ModelInfer", model_name="echo", inputs=[given])
        assert list(getattr(answer.outputs[0].contents, field)) == values


@pytest.mark.parametrize("dtype, datatype", [(np.float16, "FP16"), (ml_dtypes.bfloat16, "BF16")])
def test_short_floats_travel_raw(dtype, datatype):
    x = np.asarray([[0.5, -3.0]], dtype)
    with furnace.TestServer(echo(datatype), grpc_port=0) as server, Caller(server.grpc_address) as call:
        answer = call("ModelInfer", model_name="echo", inputs=[tensor(x, datatype)], raw_input_contents=[x.tobytes()])
        assert answer.raw_output_contents[0] == x.tobytes()
        refused = call.refused("ModelInfer", model_name="echo", inputs=[tensor(x, datatype)])
        assert "travels in raw_input_contents only" in refused.details()


@pytest.mark.parametrize(
    "fields, words",
    [
        (dict(inputs=[tensor([[1.0] * 4])]), "is 4 elements, fp32_contents has 0"),
        (dict(inputs=[tensor([[1.0] * 4])], raw_input_contents=[b"abc"]), "is 16 bytes, 3 came"),
        (dict(inputs=[tensor([[1.0] * 4])], raw_input_contents=[b"", b""]), "2 entries for 1 inputs"),
        (dict(inputs=[tensor([[1.0] * 4], "FP31")]), "no datatype 'FP31'"),
        (dict(inputs=[dict(name="x", datatype="FP32", shape=[-1, 4])]), "has a size below 0"),
        (dict(inputs=[tensor([[1] * 4], "INT8", contents={"int_contents": [300] * 4})]), "outside -128 to 127"),
        (dict(inputs=[tensor([[1.0] * 4], contents={"fp64_contents": [1.0] * 4})]), "stands in fp32_contents"),
        (dict(inputs=[tensor([[1.0] * 3], contents={"fp32_contents": [1.0] * 3})]), "has 3 at dim 1, expected 4"),
        (dict(inputs=[tensor([[1.0] * 4], name="z", contents={"fp32_contents": [1.0] * 4})]), "no input 'z'"),
        (dict(inputs=[tensor([[1.0] * 4], contents={"fp32_contents": [float("nan")] * 4})]), "NaN or infinity"),
        (
            dict(inputs=[tensor([[1.0] * 4], contents={"fp32_contents": [1.0] * 4})], outputs=[{"name": "z"}]),
            "no output 'z'",
        ),
        (
            dict(
                inputs=[tensor([[1.0] * 4], contents={"fp32_contents": [1.0] * 4})],
                parameters={"timeout": {"string_param": "soon"}},
            ),
            "give microseconds above 0",
        ),
    ],
)
def test_bad_requests_are_invalid_arguments(call, fields, words):
    refused = call.refused("ModelInfer", model_name="doubler", **fields)
    assert refused.code() == CODE.INVALID_ARGUMENT
    assert words in refused.details()
    assert dict(refused.trailing_metadata())["furnace-code"].startswith("INVALID_")


def test_what_is_not_there_is_not_found(call):
    assert call.refused("ModelMetadata", name="other").code() == CODE.NOT_FOUND
    assert call.refused("ModelReady", name="doubler", version="9").code() == CODE.NOT_FOUND
    assert call.refused("ModelInfer", model_name="").code() == CODE.NOT_FOUND


def test_statistics_and_the_index(call):
    x = np.ones((3, 4), np.float32)
    before = call("ModelStatistics", name="doubler").model_stats[0].inference_count
    call("ModelInfer", model_name="doubler", inputs=[tensor(x)], raw_input_contents=[x.tobytes()])
    stats = call("ModelStatistics", name="doubler").model_stats[0]
    assert stats.inference_count - before == 3
    assert stats.inference_stats.compute_infer.ns > 0
    assert [each.name for each in call("ModelStatistics").model_stats] == ["doubler"]
    index = call("RepositoryIndex", ready=True).models
    assert [(each.name, each.version, each.state) for each in index] == [("doubler", "1", "READY")]


def test_loading_is_refused_unless_allowed(call):
    for method in ("RepositoryModelLoad", "RepositoryModelUnload"):
        refused = call.refused(method, model_name="doubler")
        assert refused.code() == CODE.PERMISSION_DENIED
        assert "--allow-repository-control" in refused.details()


def test_a_stream_answers_each_request_and_survives_a_bad_one(call):
    x = np.ones((1, 4), np.float32)
    good = MESSAGES["ModelInferRequest"](
        model_name="doubler", id="a", inputs=[tensor(x)], raw_input_contents=[x.tobytes()]
    )
    bad = MESSAGES["ModelInferRequest"](model_name="other", id="b")
    stream = call.channel.stream_stream(
        f"/{SERVICE}/ModelStreamInfer",
        request_serializer=MESSAGES["ModelInferRequest"].SerializeToString,
        response_deserializer=MESSAGES["ModelStreamInferResponse"].FromString,
    )
    answers = list(stream(iter([good, bad, good]), timeout=20))
    assert [each.infer_response.id for each in answers] == ["a", "b", "a"]
    assert [bool(each.error_message) for each in answers] == [False, True, False]


def test_a_generator_gives_several_answers_to_one_request_of_a_stream():
    def count(inputs):
        for number in range(int(inputs[0][0, 0])):
            yield [np.full(1, number, np.int64)]

    signature = Signature((TensorSpec("x", "FP32", (1, 1)),), (TensorSpec("n", "INT64", (1,)),))
    model = ServedModel("counter", "1", signature, lambda inputs: [np.zeros(1, np.int64)], stream=count)
    with furnace.TestServer(model, grpc_port=0) as server, Caller(server.grpc_address) as call:
        stream = call.channel.stream_stream(
            f"/{SERVICE}/ModelStreamInfer",
            request_serializer=MESSAGES["ModelInferRequest"].SerializeToString,
            response_deserializer=MESSAGES["ModelStreamInferResponse"].FromString,
        )
        given = tensor([[3.0]], contents={"fp32_contents": [3.0]})
        request = MESSAGES["ModelInferRequest"](model_name="counter", id="c", inputs=[given])
        answers = [each.infer_response for each in stream(iter([request, request]), timeout=20)]
        assert [list(each.outputs[0].contents.int64_contents) for each in answers] == [[0], [1], [2]] * 2


def test_messages_above_the_limit_are_refused(call):
    refused = call.refused(
        "ModelInfer", model_name="doubler", inputs=[tensor([[1.0] * 4])], raw_input_contents=[b"0" * (2 << 20)]
    )
    assert refused.code() == CODE.RESOURCE_EXHAUSTED


class Held:
    """A model that runs when it is let to."""

    def __init__(self):
        self.entered, self.open = threading.Event(), threading.Event()
        self.open.set()

    def __call__(self, inputs):
        self.entered.set()
        assert self.open.wait(20)
        return [inputs[0]]

    def shut(self):
        self.open.clear()
        self.entered.clear()


def held_model(held):
    spec = ("batch", 1)
    return ServedModel("held", "1", Signature((TensorSpec("x", "FP32", spec),), (TensorSpec("y", "FP32", spec),)), held)


ONE = dict(model_name="held", inputs=[tensor([[1.0]])], raw_input_contents=[np.ones(1, np.float32).tobytes()])


def test_deadlines_and_timeouts_end_a_call():
    held = Held()
    with furnace.TestServer(held_model(held), grpc_port=0) as server, Caller(server.grpc_address) as call:
        held.shut()
        assert call.refused("ModelInfer", timeout=0.1, **ONE).code() == CODE.DEADLINE_EXCEEDED
        late = call.refused("ModelInfer", parameters={"timeout": {"int64_param": 50_000}}, **ONE)
        assert late.code() == CODE.DEADLINE_EXCEEDED
        assert "within 50 ms" in late.details()
        held.open.set()


def test_a_full_queue_is_unavailable_and_the_end_answers_what_was_taken():
    held = Held()
    with (
        furnace.TestServer(held_model(held), grpc_port=0, max_concurrent_requests=1) as server,
        Caller(server.grpc_address) as call,
    ):
        held.shut()
        answers = []
        first = threading.Thread(target=lambda: answers.append(call("ModelInfer", **ONE)))
        first.start()
        assert held.entered.wait(20)
        refused = call.refused("ModelInfer", **ONE)
        assert refused.code() == CODE.UNAVAILABLE
        assert int(dict(refused.trailing_metadata())["retry-after"]) >= 1
        threading.Timer(0.3, held.open.set).start()
        server.close()
        first.join(20)
        assert len(answers) == 1
        assert call.refused("ServerLive", timeout=2).code() in (CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED)


def test_keys_travel_in_the_metadata(tmp_path):
    (tmp_path / "keys").write_text("# people\nsecret\n")
    with (
        furnace.TestServer(doubler(), grpc_port=0, api_key_file=str(tmp_path / "keys")) as server,
        Caller(server.grpc_address) as call,
    ):
        assert call("ServerLive").live
        assert call("ServerReady").ready
        assert call.refused("ServerMetadata").code() == CODE.UNAUTHENTICATED
        assert call.refused("ServerMetadata", metadata=[("x-api-key", "other")]).code() == CODE.UNAUTHENTICATED
        assert call("ServerMetadata", metadata=[("x-api-key", "secret")]).name == "furnace"
        assert call("ServerMetadata", metadata=[("authorization", "Bearer secret")]).name == "furnace"


def test_a_taken_port_is_named(grpc_server):
    with (
        pytest.raises(ListenError, match="--grpc-port"),
        furnace.TestServer(doubler(), grpc_port=grpc_server.server.grpc_port),
    ):
        pass


def test_without_the_extra_the_option_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "furnace.grpc.server", raising=False)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ModelError, match=r"burn-dl\[grpc\]"):
        furnace.Server(doubler(), grpc_port=0)
