"""Forms that the standard allows and few files have: scalars for lists, vectors for matrices, strings, odd branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import burn
from burn_import.onnx import OnnxError, load

DEVICES = [burn.NdArray(), burn.Cpu(), burn.LibTorch()]
FLOAT, INT, TEXT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL
RANDOM = np.random.default_rng(0)


def model(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, int], **constants: Any) -> onnx.ModelProto:
    """A model of some nodes; inputs are given as arrays, constants too."""
    types = {name: helper.np_dtype_to_tensor_dtype(each.dtype) if each.dtype != object else TEXT
             for name, each in inputs.items()}  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, types[name], each.shape) for name, each in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def check(proto: onnx.ModelProto, inputs: dict[str, Any], expected: list[Any] | None = None) -> None:
    """Each device gives what the reference evaluator gives, twice: the second run is the captured one."""
    if expected is None:
        expected = ReferenceEvaluator(proto).run(None, inputs)
    for device in DEVICES:
        loaded = load(proto, device)
        for _ in range(2):
            for actual, wanted in zip(loaded.run(inputs).values(), expected, strict=True):
                wanted = np.asarray(wanted)
                assert np.shape(actual) == wanted.shape
                if wanted.dtype.kind == "f":
                    np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6)
                elif wanted.dtype.kind in "OU":
                    assert np.asarray(actual).tolist() == wanted.astype(object).tolist()
                else:
                    assert np.asarray(actual).dtype == wanted.dtype
                    np.testing.assert_array_equal(actual, wanted)


def floats(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


# Signals


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("given", [("w", "n"), ("w", ""), ("", "n")])
def test_a_signal_may_come_without_a_dim_for_its_real_part(batch: int, given: tuple[str, str]) -> None:
    x = floats(batch, 64)
    node = helper.make_node("STFT", ["x", "step", *given], ["y"])
    proto = model([node], {"x": x}, {"y": FLOAT}, step=np.int64(8), w=np.hanning(16).astype(np.float32), n=np.int64(16))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    check(proto, {"x": x}, session.run(None, {"x": x}))


# Scalars where lists are usual


@pytest.mark.parametrize("node, result, dims", [
    (helper.make_node("Slice", ["x", "one", "three"], ["y"]), lambda x: x[1:3], (4, 5)),
    (helper.make_node("Slice", ["x", "one", "three", "one", "two"], ["y"]), lambda x: x[:, 1:3:2], (4, 5)),
    (helper.make_node("Squeeze", ["x", "one"], ["y"]), lambda x: x[:, 0], (4, 1, 5)),
    (helper.make_node("Unsqueeze", ["x", "one"], ["y"]), lambda x: x[:, None], (4, 5)),
    (helper.make_node("ReduceSum", ["x", "one"], ["y"]), lambda x: x.sum(1, keepdims=True), (4, 5)),
    (helper.make_node("ReduceMax", ["x", "one"], ["y"], keepdims=0), lambda x: x.max(1), (4, 5)),
    (helper.make_node("CumSum", ["x", "one"], ["y"]), lambda x: x.cumsum(1), (4, 5)),
    (helper.make_node("Trilu", ["x", "one"], ["y"]), lambda x: np.triu(x, 1), (4, 5)),
], ids=lambda each: each.op_type if isinstance(each, onnx.NodeProto) else None)  # fmt: skip
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "computed"])
def test_a_list_of_one_may_be_a_scalar(node: Any, result: Any, dims: tuple[int, ...], constant: bool) -> None:
    x, numbers = floats(*dims), {"one": np.array(1), "two": np.array(2), "three": np.array(3)}
    used = {name: each for name, each in numbers.items() if name in node.input}
    inputs = {"x": x} if constant else {"x": x, **used}
    check(model([node], inputs, {"y": FLOAT}, **(used if constant else {})), inputs, [result(x)])


# Vectors among matrices of integers


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4))])
@pytest.mark.parametrize("zeros", [False, True], ids=["plain", "zeros"])
def test_products_of_bytes_take_vectors(shapes: Any, zeros: bool) -> None:
    a = RANDOM.integers(0, 256, shapes[0]).astype(np.uint8)
    b = RANDOM.integers(-128, 128, shapes[1]).astype(np.int8)
    node = helper.make_node("MatMulInteger", ["a", "b", *(["za", "zb"] if zeros else [])], ["y"])
    constants = {"za": np.uint8(3), "zb": np.int8(-2)} if zeros else {}
    expected = np.matmul(a.astype(np.int32) - 3 * zeros, b.astype(np.int32) + 2 * zeros)
    check(model([node], {"a": a, "b": b}, {"y": TensorProto.INT32}, **constants), {"a": a, "b": b}, [expected])


# Strings

WORDS = np.array([["a", "bb"], ["c", "dd"]], object)
CUBE = np.array([f"{index}" for index in range(24)], object).reshape(2, 3, 4)


@pytest.mark.parametrize("node, constants", [
    (helper.make_node("Gather", ["x", "k"], ["y"], axis=1), {"k": np.array([1])}),
    (helper.make_node("Gather", ["x", "k"], ["y"]), {"k": np.array(-1)}),
    (helper.make_node("GatherElements", ["x", "k"], ["y"], axis=2), {"k": np.zeros((2, 3, 1), np.int64)}),
    (helper.make_node("GatherND", ["x", "k"], ["y"]), {"k": np.array([[1, 2]])}),
    (helper.make_node("Concat", ["x", "x"], ["y"], axis=-1), {}),
    (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1]), {}),
    (helper.make_node("Transpose", ["x"], ["y"]), {}),
    (helper.make_node("Reshape", ["x", "k"], ["y"]), {"k": np.array([6, -1])}),
    (helper.make_node("Slice", ["x", "k", "e", "a"], ["y"]),
     {"k": np.array([3]), "e": np.array([0]), "a": np.array([-1])}),
    (helper.make_node("Unsqueeze", ["x", "k"], ["y"]), {"k": np.array([0, 2])}),
    (helper.make_node("Expand", ["x", "k"], ["y"]), {"k": np.array([2, 1, 1, 1])}),
    (helper.make_node("Tile", ["x", "k"], ["y"]), {"k": np.array([1, 2, 1])}),
    (helper.make_node("Flatten", ["x"], ["y"], axis=2), {}),
    (helper.make_node("Compress", ["x", "k"], ["y"], axis=1), {"k": np.array([True, False, True])}),
    (helper.make_node("Pad", ["x", "k"], ["y"]), {"k": np.array([0, 0, 1, 0, 1, 0])}),
], ids=lambda each: each.op_type if isinstance(each, onnx.NodeProto) else None)  # fmt: skip
def test_strings_move_as_numbers_do(node: Any, constants: dict[str, Any]) -> None:
    expected = None
    if node.op_type == "Pad":
        expected = [np.pad(CUBE, [(0, 0), (0, 1), (1, 0)], constant_values="")]
    check(model([node], {"x": CUBE}, {"y": TEXT}, **constants), {"x": CUBE}, expected)


def test_strings_are_chosen_joined_scattered_and_split() -> None:
    inputs = {"c": np.eye(2, dtype=bool), "x": WORDS, "y": np.array(["q"], object)}
    check(model([helper.make_node("Where", ["c", "x", "y"], ["z"])], inputs, {"z": TEXT}), inputs)
    check(model([helper.make_node("Concat", ["x", "x"], ["z"], axis=0)], {"x": WORDS}, {"z": TEXT}), {"x": WORDS})
    split = helper.make_node("Split", ["x", "k"], ["y", "z"], axis=1)
    check(model([split], {"x": WORDS}, {"y": TEXT, "z": TEXT}, k=np.array([1, 1])), {"x": WORDS})
    inputs = {"x": WORDS, "u": np.array([["r", "s"]], object)}
    node = helper.make_node("ScatterElements", ["x", "k", "u"], ["y"])
    check(model([node], inputs, {"y": TEXT}, k=np.array([[0, 1]])), inputs)


MIXED = np.array([["b", "a", "b", "é"], ["", "c", "a", ""], ["b", "a", "b", "é"]], object)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("in_order", [0, 1])
def test_distinct_strings_match_onnx_runtime(axis: int | None, in_order: int) -> None:
    along = {} if axis is None else {"axis": axis}
    node = helper.make_node("Unique", ["x"], ["y", "first", "which", "count"], sorted=in_order, **along)
    proto = model([node], {"x": MIXED}, {"y": TEXT, "first": INT, "which": INT, "count": INT})
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    check(proto, {"x": MIXED}, session.run(None, {"x": MIXED}))


def test_strings_stand_for_on_and_off_and_empty_ones_are_false() -> None:
    inputs = {"k": np.array([0, 2, 1]), "v": np.array(["off", "on"], object)}
    proto = model([helper.make_node("OneHot", ["k", "n", "v"], ["y"])], inputs, {"y": TEXT}, n=np.array(3))
    check(proto, inputs, [np.where(np.eye(3, dtype=bool)[[0, 2, 1]], "on", "off").astype(object)])
    proto = model([helper.make_node("NonZero", ["x"], ["y"])], {"x": MIXED}, {"y": INT})
    check(proto, {"x": MIXED}, [np.stack(np.nonzero(MIXED != ""))])


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("new_axis", [0, 1])
def test_sequences_of_strings_are_split_and_joined(keepdims: int, new_axis: int) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["parts"], axis=1, keepdims=keepdims),
        helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=-1, new_axis=new_axis),
        helper.make_node("SequenceAt", ["parts", "place"], ["z"]),
    ]
    parts = [MIXED[:, each : each + 1] if keepdims else MIXED[:, each] for each in range(4)]
    joined = np.stack(parts, -1) if new_axis else np.concatenate(parts, -1)
    check(model(nodes, {"x": MIXED}, {"y": TEXT, "z": TEXT}, place=np.array(-2)), {"x": MIXED}, [joined, parts[-2]])


def test_a_table_of_labels_is_read_by_the_index_of_the_largest() -> None:
    x = floats(3, 2)
    nodes = [
        helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "best"], ["y"]),
    ]
    check(model(nodes, {"x": x}, {"y": TEXT}, labels=np.array(["cat", "dog"], object)), {"x": x})


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "float16"])
def test_strings_are_read_as_numbers(dtype: str) -> None:
    x = np.array(["1", "-2", "3e2", "inf", "NaN"] if "float" in dtype else ["1", "-2"], object)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    check(model([helper.make_node("Cast", ["x"], ["y"], to=kind)], {"x": x}, {"y": kind}), {"x": x}, [x.astype(dtype)])


def test_a_string_that_is_no_number_is_an_error() -> None:
    x = np.array(["one"], object)
    loaded = load(model([helper.make_node("Cast", ["x"], ["y"], to=FLOAT)], {"x": x}, {"y": FLOAT}), burn.NdArray())
    with pytest.raises(burn.errors.ArgumentError, match="'one' is no number of f32"):
        loaded.run({"x": x})


@pytest.mark.parametrize("x", [
    np.array([1.5, -0.0, 1e20, 1 / 3], np.float32), np.array([1 / 3, 1e-7]), np.array([[1, -2]]), np.array([True]),
], ids=lambda array: str(array.dtype))  # fmt: skip
def test_numbers_are_written_as_strings(x: Any) -> None:
    check(model([helper.make_node("Cast", ["x"], ["y"], to=TEXT)], {"x": x}, {"y": TEXT}), {"x": x})


# Branches that declare what they read


def _branches(declared: str) -> onnx.ModelProto:
    x = floats(2)
    info = [helper.make_tensor_value_info(declared, FLOAT, (2,))]
    outputs = [helper.make_tensor_value_info(name, FLOAT, (2,)) for name in ("o1", "o2")]
    then = helper.make_graph([helper.make_node("Add", ["x", "x"], ["o1"])], "t", info, outputs[:1])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["o2"])], "e", info, outputs[1:])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return model([node], {"c": np.array(True), "x": x}, {"y": FLOAT})


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_may_list_what_it_reads_from_around_it(taken: bool) -> None:
    inputs = {"c": np.array(taken), "x": floats(2)}
    check(_branches("x"), inputs, [inputs["x"] * 2 if taken else -inputs["x"]])


def test_a_branch_that_declares_what_nothing_defines_is_refused() -> None:
    with pytest.raises(OnnxError, match="declares input 'w', which nothing around it defines"):
        load(_branches("w"), burn.NdArray())


# Dtypes of what a model is given

NEGATED = model([helper.make_node("Neg", ["x"], ["y"])], {"x": floats(2)}, {"y": FLOAT})


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_an_input_of_another_dtype_is_refused_with_what_to_write(device: burn.Device) -> None:
    loaded = load(NEGATED, device)
    message = r"run: input 'x' is float64, and the model takes float32; write x.astype\(np.float32\)"
    with pytest.raises(OnnxError, match=message):
        loaded.run({"x": np.ones(2)})
    with pytest.raises(OnnxError, match=r'input .x. is int64, .* float32; write x.cast\("f32"\)'):
        loaded.run({"x": burn.tensor(np.array([1, 2]), device=device)})
    with pytest.raises(OnnxError, match=r"input 'x' is None, and the model takes a tensor of float32"):
        loaded.run({"x": None})
    with pytest.raises(OnnxError, match=r"is object, and the model takes float32"):
        loaded.run({"x": np.array(["a", "b"], object)})


def test_numbers_and_lists_take_the_dtype_of_their_input() -> None:
    for given in ([1, 2], [1.0, 2.0], (1, 2.0)):
        result = load(NEGATED, burn.Cpu()).run({"x": given})["y"]
        assert result.dtype == np.float32
        assert result.tolist() == [-1.0, -2.0]
    whole = load(model([helper.make_node("Neg", ["x"], ["y"])], {"x": np.ones(2, np.int8)}, {"y": TensorProto.INT8}))
    assert whole.run({"x": [1, 2]})["y"].dtype == np.int8
    with pytest.raises(OnnxError, match="is float64, and the model takes int8"):
        whole.run({"x": [1.5, 2.0]})


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_an_input_of_other_sizes_than_the_file_gives_is_refused_by_run(device: burn.Device) -> None:
    loaded = load(NEGATED, device)
    for given, has in ((np.ones(3, np.float32), r"\[3\]"), (np.ones((2, 1), np.float32), r"\[2, 1\]"), (1.0, r"\[\]")):
        with pytest.raises(OnnxError, match=f"run: input 'x' has shape {has}, and the model takes \\[2\\]"):
            loaded.run({"x": given})
    assert loaded(burn.tensor(np.ones(3, np.float32), device=device)).shape == (3,)
    opened = model([helper.make_node("Neg", ["x"], ["y"])], {"x": floats(2, 3)}, {"y": FLOAT})
    opened.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    assert load(opened, device).run({"x": floats(7, 3)})["y"].shape == (7, 3)
    with pytest.raises(OnnxError, match=r"has shape \[7, 4\], and the model takes \[any, 3\]"):
        load(opened, device).run({"x": floats(7, 4)})


def test_a_weight_without_dims_reaches_every_device() -> None:
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    x = floats(3)
    check(model([node], {"x": x}, {"y": TensorProto.UINT8}, s=np.float32(0.01), z=np.uint8(128)), {"x": x})


@pytest.mark.parametrize("turned", [0, 1])
def test_a_product_may_add_a_number_without_dims(turned: int) -> None:
    x = floats(4, 4)
    node = helper.make_node("Gemm", ["x", "w", "c"], ["y"], beta=2.0, transA=turned, transB=turned)
    check(model([node], {"x": x}, {"y": FLOAT}, w=floats(4, 4), c=np.float32(1.25)), {"x": x})
