"""Files of ONNX Runtime's own format, written by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import verify
from burn_import.onnx.passes import prepare
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, runtime, text_model
from tests.onnx.serialize import to_proto

PROTO = text_model(
    """g (float[N, 4] x, bool c, seq(float[2]) s) => (float[N, 3] y, int64 n, float[A, B] z)
    <float[4, 3] w, int64[2] axes = {0, 1}, float16[2] half = {1, 2}> {
        a = MatMul(x, w)
        b = Softmax<axis = -1>(a)
        n = SequenceLength(s)
        y = If(c) <
            then_branch = t () => (float[N, 3] p) { p = Neg(b) },
            else_branch = e () => (float[N, 3] q) { q = Abs(b) }
        >
        pads = Constant<value_ints = [0, 0, 1, 2]>()
        z = Pad<mode = "constant">(b, pads)
    }""",
    13,
    8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as ONNX Runtime saves it."""
    target = tmp_path_factory.mktemp("ort") / "m.ort"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(target)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(PROTO.SerializeToString(), options, providers=["CPUExecutionProvider"])
    assert target.read_bytes()[4:8] == b"ORTM"
    return target


def test_it_reads_as_the_model_it_was_made_from(path: Path) -> None:
    model, other = read(path), read(PROTO)
    verify(model)
    assert [str(value.type) for value in model.graph.inputs] == [str(value.type) for value in other.graph.inputs]
    assert model.graph.output_names == other.graph.output_names
    assert model.opset_imports[""] == 13
    branch = next(node for node in model.graph if node.op_type == "If")
    assert [value.name for value in branch.captures()] == ["b"]


@pytest.mark.parametrize("condition", [True, False])
def test_it_computes_the_same(path: Path, condition: bool) -> None:
    model = read(path)
    prepare(model, verify=True)
    assert model.notes == []
    feed = {
        "x": np.arange(8, dtype=np.float32).reshape(2, 4),
        "c": np.array(condition),
        "s": [np.ones(2, np.float32)] * 3,
    }
    for actual, expected in zip(runtime(to_proto(model, 21), feed), runtime(PROTO, feed), strict=True):
        assert_same(actual, expected)


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_refused_or_read(path: Path, data: st.DataObject) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(len(content) // 2, len(content)))
    try:
        model = read(bytes(content[:cut]))
        verify(model)
        prepare(model, verify=True)
    except OnnxError:
        return
