"""Opset lifting: every version of every operator has a way to the newest form, and means the same there."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import helper, numpy_helper

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import schemas
from burn_import.onnx.passes import prepare
from burn_import.onnx.passes.lift.compatible import COMPATIBLE
from burn_import.onnx.passes.lift.registry import ADAPTERS
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, prepared, runtime
from tests.onnx.serialize import to_proto

DOMAINS = ("", "ai.onnx.ml")
VERSIONS: dict[tuple[str, str], list[int]] = {}
for _schema in onnx.defs.get_all_schemas_with_history():
    if _schema.domain in DOMAINS:
        VERSIONS.setdefault((_schema.domain, _schema.name), []).append(_schema.since_version)
STEPS = [(domain, name, version) for (domain, name), found in VERSIONS.items() for version in sorted(found)[1:]]


def test_the_table_of_schemas_is_that_of_the_standard() -> None:
    assert sorted(
        (each.domain, each.name, each.since_version) for each in onnx.defs.get_all_schemas_with_history()
    ) == [
        (domain, name, version)
        for domain, name in sorted(schemas.operators())
        for version in schemas.versions(domain, name)
    ]
    rows = {(row["domain"], row["name"], row["version"]): row for row in schemas.rows_from_onnx()}
    assert all(schemas._from_row(row) == schemas.schema(*key) for key, row in rows.items())


@pytest.mark.parametrize("domain, name, version", STEPS)
def test_every_step_between_versions_is_either_compatible_or_adapted(domain: str, name: str, version: int) -> None:
    adapted = any(before == version for before, _ in ADAPTERS.get((domain, name), ()))
    compatible = version in COMPATIBLE[domain].get(name, ())
    assert adapted != compatible


def test_no_step_is_listed_that_does_not_exist() -> None:
    known = set(STEPS)
    listed = {
        (domain, name, each) for domain, rows in COMPATIBLE.items() for name, found in rows.items() for each in found
    }
    adapted = {(domain, name, before) for (domain, name), found in ADAPTERS.items() for before, _ in found}
    assert listed <= known
    assert adapted <= known


def test_compatible_steps_keep_inputs_outputs_and_defaults() -> None:
    """What the schemas can tell about a step that needs no adapter: nothing is renamed, no default moves."""
    for domain, rows in COMPATIBLE.items():
        for name, found in rows.items():
            for version in found:
                known = schemas.versions(domain, name)
                new = schemas.schema(domain, name, version)
                old = schemas.schema(domain, name, known[known.index(version) - 1])
                assert new is not None
                assert old is not None
                for attribute, rule in old.attributes.items():
                    other = new.attributes.get(attribute)
                    if other is None or attribute == "consumed_inputs":
                        assert attribute in ("consumed_inputs", "is_test", "broadcast", "output_sequence"), (
                            name,
                            version,
                        )
                    elif name not in ("Split", "GRU", "Clip"):
                        assert (rule.kind, rule.default) == (other.kind, other.default), (name, version, attribute)
                if name not in ("Split", "BatchNormalization"):
                    assert len(new.inputs) >= len(old.inputs), (name, version)


def build(
    op_type: str,
    opset: int,
    inputs: dict[str, np.ndarray],
    attributes: dict[str, Any] | None = None,
    outputs: tuple[str, ...] = ("y",),
    constants: dict[str, np.ndarray] | None = None,
    domain: str = "",
    untyped: bool = False,
) -> onnx.ModelProto:
    """One node of an old opset, without types for its results."""
    constants = constants or {}
    node = helper.make_node(op_type, [*inputs, *constants], list(outputs), domain=domain, **(attributes or {}))
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), None if untyped else array.shape
        )
        for name, array in inputs.items()
        if name
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    initialisers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "g", infos, results, initializer=initialisers)
    imports = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 13)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def lifted_result(proto: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[Any]:
    model = prepared(proto, simplify=False)
    for graph in model.graphs():
        for node in graph:
            assert node.version == schemas.newest(node.domain, node.op_type)
    return runtime(to_proto(model, 21), {value.name: feed[value.name] for value in model.graph.inputs})


rng = np.random.default_rng(0)
X = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
POSITIVE = np.abs(X) + 0.1

# operator, opset, attributes, further constant inputs, number of outputs; ONNX Runtime judges from opset 7
CASES: list[tuple[str, int, dict[str, Any], dict[str, np.ndarray], int]] = [
    ("Softmax", 11, {}, {}, 1),
    ("Softmax", 11, {"axis": 2}, {}, 1),
    ("Softmax", 11, {"axis": -1}, {}, 1),
    ("Softmax", 11, {"axis": 0}, {}, 1),
    ("LogSoftmax", 7, {"axis": 2}, {}, 1),
    ("Hardmax", 11, {"axis": 1}, {}, 1),
    ("Clip", 7, {"min": -0.5, "max": 0.25}, {}, 1),
    ("Clip", 10, {"max": 0.25}, {}, 1),
    ("Dropout", 7, {"ratio": 0.3}, {}, 1),
    ("Dropout", 10, {}, {}, 1),
    ("Pad", 7, {"pads": [0, 1, 0, 2, 0, 0, 1, 0], "value": 2.5}, {}, 1),
    ("Pad", 10, {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "mode": "reflect"}, {}, 1),
    ("Slice", 9, {"starts": [1, -3], "ends": [9, -1], "axes": [1, 3]}, {}, 1),
    ("Slice", 7, {"starts": [0, 1], "ends": [1, 3]}, {}, 1),
    ("Split", 11, {"axis": 3, "split": [1, 4]}, {}, 2),
    ("Split", 7, {"axis": 2}, {}, 2),
    ("Split", 13, {"axis": 2}, {}, 4),
    ("Squeeze", 11, {"axes": [0]}, {}, 1),
    ("Unsqueeze", 11, {"axes": [0, -1]}, {}, 1),
    ("TopK", 9, {"k": 2, "axis": 3}, {}, 2),
    ("TopK", 10, {"axis": 1}, {"k": np.array([2], np.int64)}, 2),
    ("Upsample", 7, {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}, {}, 1),
    ("Upsample", 9, {"mode": "linear"}, {"s": np.array([1, 1, 2, 2], np.float32)}, 1),
    ("Resize", 10, {"mode": "nearest"}, {"s": np.array([1, 1, 2, 1.6], np.float32)}, 1),
    ("Resize", 10, {"mode": "linear"}, {"s": np.array([1, 1, 0.5, 0.6], np.float32)}, 1),
    ("PRelu", 7, {}, {"slope": np.full((3, 1, 1), 0.25, np.float32)}, 1),
    ("LpPool", 7, {"kernel_shape": [2, 2], "p": 1}, {}, 1),
    ("MaxPool", 8, {"kernel_shape": [2, 2]}, {}, 2),
    ("AveragePool", 7, {"kernel_shape": [2, 2], "count_include_pad": 1, "pads": [1, 1, 0, 0]}, {}, 1),
    ("Cast", 7, {"to": 7}, {}, 1),
    ("Add", 7, {}, {"b": np.ones((5,), np.float32)}, 1),
    ("Pow", 7, {}, {"b": np.full((5,), 2.0, np.float32)}, 1),
    ("Gather", 7, {"axis": 1}, {"i": np.array([0, 2], np.int64)}, 1),
    ("ArgMax", 7, {"axis": 2, "keepdims": 0}, {}, 1),
    ("Scatter", 9, {"axis": 1}, {"i": np.zeros((1, 1, 1, 2), np.int64), "u": np.ones((1, 1, 1, 2), np.float32)}, 1),
    ("Flatten", 7, {"axis": 2}, {}, 1),
    *(
        (name, opset, {"axes": [1, -1], "keepdims": keep}, {}, 1)
        for name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceL1", "ReduceL2",
                     "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
        for opset, keep in ((11, 0), (12, 1))
    ),
    ("ReduceSum", 11, {}, {}, 1),
    ("BatchNormalization", 7, {"epsilon": 1e-3}, {name: np.full(3, 0.5, np.float32) for name in "abcd"}, 1),
    ("BatchNormalization", 9, {}, {name: np.full(3, 0.5, np.float32) for name in "abcd"}, 1),
    ("GridSample", 16, {"mode": "bicubic"}, {"grid": rng.uniform(-1, 1, (2, 3, 3, 2)).astype(np.float32)}, 1),
]  # fmt: skip


@pytest.mark.parametrize("untyped", [False, True], ids=["shapes", "no shapes"])
@pytest.mark.parametrize("op_type, opset, attributes, constants, count", CASES, ids=lambda each: str(each)[:30])
def test_old_versions_give_what_onnx_runtime_gives_for_them(
    op_type: str, opset: int, attributes: dict[str, Any], constants: dict[str, np.ndarray], count: int, untyped: bool
) -> None:
    data = POSITIVE if op_type in ("Pow", "ReduceLogSum") else X
    data = data[:1] if op_type == "Squeeze" else data
    outputs = tuple(f"y{index}" for index in range(count))
    proto = build(op_type, opset, {"x": data}, attributes, outputs, constants, untyped=untyped)
    feed = {"x": data}
    expected = runtime(proto, feed)
    for actual, wanted in zip(lifted_result(proto, feed), expected, strict=True):
        assert_same(actual, wanted, rtol=1e-3, atol=1e-4)


def old(op_type: str, opset: int, inputs: dict[str, np.ndarray], **attributes: Any) -> Any:
    """The first result of a lifted node of an opset that no other program runs any more."""
    return lifted_result(build(op_type, opset, inputs, attributes), inputs)[0]


B3, B45 = np.arange(3, dtype=np.float32) + 1, rng.standard_normal((4, 5)).astype(np.float32)


@pytest.mark.parametrize("opset", [1, 6])
def test_broadcasting_along_an_axis(opset: int) -> None:
    b = B3.reshape(3, 1, 1)
    for name, function in {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}.items():
        assert_same(old(name, opset, {"x": X, "b": B3}, broadcast=1, axis=1), function(X, b))
        assert_same(old(name, opset, {"x": X, "b": B45}, broadcast=1), function(X, B45))
        assert_same(old(name, opset, {"x": X, "b": X}), function(X, X))
    assert_same(old("Pow", 1, {"x": POSITIVE, "b": B3}, broadcast=1, axis=-3), POSITIVE**b)
    assert_same(old("Greater", 1, {"x": X, "b": B3}, broadcast=1, axis=1), np.greater(X, b))
    assert_same(old("And", 1, {"x": X > 0, "b": B3 > 1}, broadcast=1, axis=1), (X > 0) & (b > 1))


def test_first_versions_of_other_operators() -> None:
    assert_same(old("PRelu", 6, {"x": X, "s": B3}), np.where(X < 0, X * B3.reshape(3, 1, 1), X))
    assert_same(old("Reshape", 1, {"x": X}, shape=[0, -1]), X.reshape(2, -1))
    assert_same(old("Concat", 1, {"x": X, "z": X}), np.concatenate([X, X], 1))
    assert_same(old("Cast", 1, {"x": X}, to="INT32"), X.astype(np.int32))
    assert_same(old("Pad", 1, {"x": X}, paddings=[0, 0, 0, 1, 0, 0, 0, 2]), np.pad(X, [(0, 0)] * 3 + [(1, 2)]))
    alpha, gamma = 1.6732, 1.0507
    assert_same(old("Selu", 1, {"x": X}), gamma * np.where(X < 0, alpha * (np.exp(X) - 1), X))
    assert_same(old("GlobalLpPool", 1, {"x": X}, p=2.0), np.sqrt((X**2).sum((2, 3), keepdims=True)))
    assert_same(old("Upsample", 1, {"x": X}, height_scale=2.0, width_scale=1.0, mode="nearest"), X.repeat(2, 2))
    tiles, axis = np.array(2, np.float32), np.array(1, np.float32)
    assert_same(old("Tile", 1, {"x": X, "t": tiles, "a": axis}), np.tile(X, (1, 2, 1, 1)))
    assert_same(old("Dropout", 1, {"x": X}, is_test=1), X)
    assert_same(old("Max", 1, {"x": X, "z": -X}), np.abs(X))


def test_batch_normalisation_by_position() -> None:
    scale, bias, mean, variance = (np.abs(rng.standard_normal((3, 4, 5))).astype(np.float32) + 0.1 for _ in range(4))
    inputs = {"x": X, "s": scale, "b": bias, "m": mean, "v": variance}
    expected = (X - mean) / np.sqrt(variance + 1e-5) * scale + bias
    assert_same(old("BatchNormalization", 7, inputs, spatial=0), expected)


def test_batch_normalisation_trains_when_it_gives_statistics() -> None:
    inputs = {"x": X, **{name: np.full(3, 0.5, np.float32) for name in "sbmv"}}
    model = prepared(build("BatchNormalization", 9, inputs, {}, ("y", "m2", "v2")), simplify=False)
    (node,) = model.graph
    assert node.attributes["training_mode"] == 1
    model = prepared(build("BatchNormalization", 9, inputs, {}), simplify=False)
    assert next(iter(model.graph)).attributes["training_mode"] == 0
    with pytest.raises(OnnxError, match="gives the saved mean or variance"):
        prepared(build("BatchNormalization", 9, inputs, {}, ("y", "m2", "v2", "sm", "sv")))


def test_the_mask_of_dropout_becomes_a_float_again() -> None:
    model = prepared(build("Dropout", 7, {"x": X}, {}, ("y", "mask")), simplify=False)
    assert [str(value.type) for value in model.graph.outputs] == ["f32[2, 3, 4, 5]", "f32[2, 3, 4, 5]"]


def test_group_normalisation_scales_channels_not_groups() -> None:
    x = rng.standard_normal((2, 4, 3)).astype(np.float32)
    scale, bias = np.array([1, 2], np.float32), np.array([0.5, -1], np.float32)
    actual = old("GroupNormalization", 18, {"x": x, "s": scale, "b": bias}, num_groups=2, epsilon=1e-5)
    rows = x.reshape(2, 2, -1)
    normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    expected = (normal * scale[:, None] + bias[:, None]).reshape(x.shape)
    assert_same(actual, expected)


def test_fourier_transforms_keep_their_default_axis() -> None:
    x = rng.standard_normal((2, 8, 3, 1)).astype(np.float32)
    actual = old("DFT", 17, {"x": x})
    expected = np.fft.fft(x[..., 0], axis=1)
    assert_same(actual, np.stack([expected.real, expected.imag], -1).astype(np.float32))


def test_regions_are_aligned_as_before() -> None:
    inputs: dict[str, np.ndarray] = {"x": X, "r": np.array([[0, 0, 3, 3]], np.float32), "i": np.array([0], np.int64)}
    proto = build("RoiAlign", 10, inputs, {"output_height": 2, "output_width": 2})
    assert_same(lifted_result(proto, inputs)[0], runtime(proto, inputs)[0])


def test_scans_over_batches() -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
        "body",
        [helper.make_tensor_value_info(name, 1, [2]) for name in ("s", "x")],
        [helper.make_tensor_value_info(name, 1, [2]) for name in ("t", "o")],
    )
    state, x = np.zeros((3, 2), np.float32), rng.standard_normal((3, 4, 2)).astype(np.float32)
    node = helper.make_node("Scan", ["", "state", "x"], ["final", "all"], num_scan_inputs=1, body=body)
    infos = [helper.make_tensor_value_info("state", 1, [3, 2]), helper.make_tensor_value_info("x", 1, [3, 4, 2])]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="final"), onnx.ValueInfoProto(name="all")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=8)
    model = prepared(proto)
    final, every = runtime(to_proto(model, 21), {"state": state, "x": x})
    assert_same(final, x.sum(1))
    assert_same(every, np.cumsum(x, 1))
    assert [str(value.type) for value in model.graph.outputs] == ["f32[3, 2]", "f32[3, 4, 2]"]


@pytest.mark.parametrize("text", [True, False])
def test_label_encoders_of_the_first_version(text: bool) -> None:
    data = np.array(["b", "a", "z"], object) if text else np.array([1, 0, 7], np.int64)
    info = helper.make_tensor_value_info("x", onnx.TensorProto.STRING if text else onnx.TensorProto.INT64, [3])
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", classes_strings=["a", "b"])
    graph = helper.make_graph([node], "g", [info], [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 13)], ir_version=8
    )
    result = runtime(to_proto(prepared(proto), 21), {"x": data})[0]
    assert result.tolist() == ([1, 0, -1] if text else ["b", "a", "_Unused"])


@pytest.mark.parametrize(
    "op_type, attributes, expected",
    [
        ("Affine", {"alpha": 2.0, "beta": 1.0}, 2 * X + 1),
        ("Scale", {"scale": 3.0}, 3 * X),
        ("ScaledTanh", {"alpha": 2.0, "beta": 0.5}, 2 * np.tanh(0.5 * X)),
        ("ParametricSoftplus", {"alpha": 2.0, "beta": 0.5}, 2 * np.log1p(np.exp(0.5 * X))),
        ("ImageScaler", {"scale": 2.0, "bias": [1.0, 2.0, 3.0]}, 2 * X + B3.reshape(3, 1, 1)),
        ("Crop", {"border": [1, 0, 2, 1]}, X[:, :, 0:3, 1:3]),
        ("Crop", {"border": [1, 0, 0, 0], "scale": [2, 3]}, X[:, :, 0:2, 1:4]),
    ],
)
def test_operators_that_the_standard_dropped(op_type: str, attributes: dict[str, Any], expected: np.ndarray) -> None:
    assert_same(old(op_type, 1, {"x": X}, **attributes), expected.astype(np.float32))


def test_constants_of_every_kind_become_constants_of_the_graph() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_float=1.5),
        helper.make_node("Constant", [], ["b"], value_ints=[1, 2]),
        helper.make_node("Constant", [], ["c"], value_strings=["x", "y"]),
        helper.make_node("Constant", [], ["d"], value=numpy_helper.from_array(np.ones(2, np.float16))),
    ]
    infos = [onnx.ValueInfoProto(name=name) for name in "abcd"]
    proto = helper.make_model(helper.make_graph(nodes, "g", [], infos), opset_imports=[helper.make_opsetid("", 13)])
    model = prepared(proto)
    assert len(model.graph) == 0
    assert [str(value.type) for value in model.graph.outputs] == ["f32[]", "i64[2]", "string[2]", "f16[2]"]
    assert [value.name for value in model.graph.outputs] == ["a", "b", "c", "d"]


def test_nodes_without_a_newest_form_are_listed_at_once() -> None:
    proto = build("Add", 6, {"x": X, "b": B3}, {"broadcast": 1, "axis": 1}, untyped=True)
    proto.graph.node.append(helper.make_node("PRelu", ["x", "b"], ["z"]))
    proto.graph.output.append(onnx.ValueInfoProto(name="z"))
    proto.graph.input[1].type.tensor_type.shape.dim.add(dim_value=3)
    model = read(proto)
    with pytest.raises(OnnxError) as caught:
        prepare(model)
    assert len(caught.value.faults) == 2


def test_attributes_with_defaults_are_written_out() -> None:
    (node,) = prepared(build("LeakyRelu", 6, {"x": X})).graph
    assert node.attributes == {"alpha": pytest.approx(0.01)}
    assert node.version == 16
