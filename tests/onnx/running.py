"""Other programs as judges: ONNX Runtime and the standard's reference evaluator run what passes made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime  # type: ignore[import-untyped]
from onnx.reference import ReferenceEvaluator

from burn_import.onnx.ir import Dim, Model, SequenceType, TensorType, Type
from burn_import.onnx.passes import prepare
from burn_import.onnx.reader import read
from tests.onnx.serialize import to_proto

Arrays = Mapping[str, Any]


def text_model(text: str, opset: int = 21, ir_version: int = 10, extra: str = "") -> onnx.ModelProto:
    """A model from the standard's text form, without its header. `<float[2, 3] w>` becomes a weight."""
    header = f'<ir_version: {ir_version}, opset_import: ["" : {opset}{extra}]>'
    proto = onnx.parser.parse_model(header + text)
    rng = np.random.default_rng(0)
    for info in proto.graph.value_info:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        values = (rng.standard_normal(shape) * 10).astype(dtype)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(values, info.name))
    del proto.graph.value_info[:]
    return proto


def reference(proto: onnx.ModelProto, feed: Arrays) -> list[Any]:
    return list(ReferenceEvaluator(proto).run(None, dict(feed)))


def runtime(proto: onnx.ModelProto | bytes, feed: Arrays) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feed)))


def prepared(proto: onnx.ModelProto, *, simplify: bool = True) -> Model:
    model = read(proto)
    prepare(model, simplify=simplify, verify=True)
    assert model.notes == []
    return model


def assert_same(actual: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """Equal up to rounding, in shape and element type too."""
    if expected is None:
        return
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            assert_same(one, other, rtol, atol)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if expected.dtype.kind in "OUS":
        assert [str(each) for each in actual.reshape(-1)] == [str(each) for each in expected.reshape(-1)]
        return
    assert actual.dtype == expected.dtype
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, equal_nan=True)


def assert_type(type_: Type | None, value: Any, sizes: dict[str, int], name: str) -> None:
    """What inference said holds for a value that was computed; `sizes` learns names of sizes on the way."""
    if isinstance(type_, SequenceType):
        assert isinstance(value, list), name
        for each in value:
            assert_type(type_.element, each, {**sizes}, name)
    if not isinstance(type_, TensorType) or value is None:
        return
    array = np.asarray(value)
    if type_.dtype is not None and array.dtype.kind not in "OUS":
        assert type_.dtype.numpy == array.dtype, f"{name}: {type_} is {array.dtype}"
    if type_.shape is None:
        return
    assert len(type_.shape) == array.ndim, f"{name}: {type_} has shape {array.shape}"
    for size, actual in zip(type_.shape, array.shape):
        if isinstance(size, Dim):
            if size.name is not None and size.name not in sizes:
                sizes[size.name] = actual
            if not set(size.symbols()) <= sizes.keys():
                continue
            size = size.substitute(sizes)
        assert size is None or size == actual, f"{name}: {type_} has shape {array.shape}, {sizes}"


def assert_content(content: Any, value: Any, sizes: dict[str, int], name: str) -> None:
    """The elements that inference knew are those that were computed."""
    if content is None:
        return
    for known, actual in zip(content.reshape(-1), np.asarray(value).reshape(-1)):
        if isinstance(known, Dim):
            if not set(known.symbols()) <= sizes.keys() or not known.is_integral:
                continue
            known = known.substitute(sizes)
        assert known is None or abs(float(known) - float(actual)) <= 1e-6 * abs(float(actual)), f"{name}: {content}"


def assert_inference_tells_the_truth(proto: onnx.ModelProto | bytes, feed: Arrays, *, opset: int = 21) -> Model:
    """Prepare a model, run it in ONNX Runtime with every value as an output, and hold each type against it.

    The results must also be those of the original.
    """
    expected = runtime(proto, feed)
    model = read(proto)
    prepare(model, verify=True)
    assert model.notes == []
    made = to_proto(model, opset)
    outputs = {output.name for output in made.graph.output}
    values = [
        value
        for node in model.graph
        for value in node.outputs
        if value.is_used and isinstance(value.type, TensorType) and value.name not in outputs
    ]
    for value in values:
        made.graph.output.append(onnx.ValueInfoProto(name=value.name))
    needed = {value.name for value in model.graph.inputs}
    results = runtime(made, {name: array for name, array in feed.items() if name in needed})
    sizes: dict[str, int] = {}
    for value in model.graph.inputs:
        assert_type(value.type, feed[value.name], sizes, value.name)
    for value, result in zip(values, results[len(outputs) :]):
        assert_type(value.type, result, sizes, value.name)
    for value, result in zip(values, results[len(outputs) :]):
        assert_content(value.content, result, sizes, value.name)
    for actual, wanted in zip(results, expected):
        assert_same(actual, wanted, rtol=1e-3, atol=1e-4)
    return model
