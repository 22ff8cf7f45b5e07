"""Operators of `com.microsoft` and the standard's quantised ones through generated source, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import burn
from burn_import.onnx import OnnxError, load
from tests.exact_integers import lowered, unsigned
from tests.onnx.running import assert_same, runtime

MS = "com.microsoft"
SETS = (("", 21), (MS, 1), ("ai.onnx.ml", 3))


def single(kind: str, inputs: list[Any], outputs: int | list[str] = 1, domain: str = MS, **attributes: Any) -> Any:
    """A model of one node whose inputs are all given; None is one left out."""
    names = [f"x{i}" if each is not None else "" for i, each in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = onnx.helper.make_node(kind, names, results, domain=domain, **attributes)
    given = {f"x{i}": np.ascontiguousarray(each) for i, each in enumerate(inputs) if each is not None}
    given = {name: each.reshape(np.shape(inputs[int(name[1:])])) for name, each in given.items()}
    starts = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    ends = [onnx.helper.make_empty_tensor_value_info(name) for name in results if name]
    graph = onnx.helper.make_graph([node], "one", starts, ends)
    sets = [onnx.helper.make_opsetid(*each) for each in SETS]
    return onnx.helper.make_model(graph, opset_imports=sets, ir_version=10), given


def frozen(proto: onnx.ModelProto, given: dict[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The same model with all inputs but the first as weights."""
    copy, left = onnx.ModelProto(), dict(given)
    copy.CopyFrom(proto)
    for value in list(copy.graph.input)[1:]:
        copy.graph.input.remove(value)
        copy.graph.initializer.append(onnx.numpy_helper.from_array(left.pop(value.name), value.name))
    return copy, left


def agree(kind: str, inputs: list[Any], outputs: int | list[str] = 1, domain: str = MS, **attributes: Any) -> list[str]:
    """Ours equals theirs, with weights as inputs and as constants; gives both sources."""
    proto, given = single(kind, inputs, outputs, domain, **attributes)
    exact, signed = unsigned(kind, inputs)
    theirs = runtime(*single(kind, exact, outputs, domain, **attributes))
    theirs = [lowered(each) for each in theirs] if signed else theirs
    sources = []
    for model, feed in ((proto, given), frozen(proto, given)):
        ours = load(model, burn.NdArray())
        found = ours.run(feed)
        for value, expected in zip(model.graph.output, theirs, strict=True):
            assert_same(found[value.name], expected)
        sources.append(ours.source)
    return sources


class Draws:
    """Random values of one test."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def steps(self, *shape: int, dtype: Any = np.uint8) -> Any:
        limits = np.iinfo(dtype)
        return np.asarray(self.random.integers(limits.min, limits.max + 1, shape), dtype)

    def floats(self, *shape: int, low: float = -1.0, high: float = 1.0) -> Any:
        return self.random.uniform(low, high, shape).astype(np.float32)


def scale(value: float) -> Any:
    return np.array(value, np.float32)


ZERO = np.array(100, np.uint8)


def test_quantised_arithmetic_is_exact_and_a_zero_point_may_be_missing() -> None:
    draw = Draws()
    x, y = draw.steps(3, 4, 5), draw.steps(4, 5)
    for kind in ("QLinearAdd", "QLinearMul"):
        agree(kind, [x, scale(0.02), ZERO, y, scale(0.03), ZERO, scale(0.05), ZERO])
        agree(kind, [x, scale(0.02), ZERO, y, scale(0.03), ZERO, scale(0.05)])
    agree("QLinearSigmoid", [x, scale(0.02), ZERO, scale(1 / 256), None])
    agree("QLinearLeakyRelu", [x, scale(0.02), ZERO, scale(0.01), ZERO], alpha=0.2)
    agree("QLinearWhere", [y > 100, x, scale(0.02), ZERO, y, scale(0.03), ZERO, scale(0.05), ZERO])


def test_quantised_parts_are_joined_in_the_steps_of_the_result() -> None:
    draw = Draws(1)
    parts = [draw.steps(2, 3, 4), scale(0.02), ZERO, draw.steps(2, 5, 4), scale(0.03), np.array(7, np.uint8)]
    agree("QLinearConcat", [scale(0.05), ZERO, *parts], axis=1)


@pytest.mark.parametrize("last", [0, 1])
def test_quantised_pools_average_over_windows_and_images(last: int) -> None:
    images = [Draws(2).steps(2, 6, 9, 8), scale(0.02), ZERO, scale(0.015), ZERO]
    agree("QLinearGlobalAveragePool", images, channels_last=last)
    agree("QLinearAveragePool", images, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], channels_last=last)


@pytest.mark.parametrize("domain", ["", MS])
def test_quantised_convolutions_are_exact(domain: str) -> None:
    draw = Draws(3)
    x, filters = draw.steps(2, 4, 9, 9), draw.steps(6, 2, 3, 3, dtype=np.int8)
    scales, bias = draw.floats(6, low=0.01, high=0.02), draw.random.integers(-500, 500, 6).astype(np.int32)
    inputs = [x, scale(0.02), ZERO, filters, scales, np.zeros(6, np.int8), scale(1.1), ZERO, bias]
    settings: dict[str, Any] = {"strides": [2, 1], "pads": [1, 1, 1, 0], "group": 2}
    agree("QLinearConv", inputs, domain=domain, **settings)
    agree("QLinearConv", inputs, domain=domain, auto_pad="SAME_UPPER", group=2)
    if domain:
        turned = [np.moveaxis(x, 1, -1).copy(), *inputs[1:]]
        agree("QLinearConv", turned, domain=domain, channels_last=1, **settings)


def test_a_softmax_of_old_operator_sets_is_taken_over_all_dims_from_the_axis_on() -> None:
    values = [Draws(4).steps(3, 4, 5), scale(0.05), ZERO, scale(1 / 256), np.array(0, np.uint8)]
    proto, given = single("QLinearSoftmax", values, axis=1, opset=11)
    found = load(proto, burn.NdArray()).run(given)["y0"]
    (theirs,) = runtime(proto, given)
    assert found.shape == theirs.shape
    assert np.abs(found.astype(int) - theirs.astype(int)).max() <= 1


def test_steps_in_and_out_of_either_domain() -> None:
    draw = Draws(5)
    x, steps = draw.floats(3, 4, 5), draw.floats(4, low=0.01, high=0.02)
    for domain in ("", MS):
        agree("QuantizeLinear", [x, steps, draw.steps(4)], domain=domain, axis=1)
        agree("DequantizeLinear", [draw.steps(3, 4, 5), steps, draw.steps(4)], domain=domain, axis=-2)
    source, _ = agree("DynamicQuantizeLinear", [x], 3, domain="")
    assert "y0, y1, y2 = quantized.dynamic_quantize(x0)" in source


def test_products_of_floats_with_quantised_weights() -> None:
    draw = Draws(6)
    x, weight = draw.floats(2, 4, 33), draw.steps(33, 6, dtype=np.int8)
    agree("DynamicQuantizeMatMul", [x, weight, draw.floats(6, low=0.01, high=0.02), None, draw.floats(6)])
    packed = [
        draw.floats(2, 3, 70),
        draw.steps(9, 3, 16),
        draw.floats(27, low=0.01, high=0.1),
        None,
        None,
        draw.floats(9),
    ]
    sources = agree("MatMulNBits", packed, K=70, N=9, bits=4, block_size=32)
    assert "inputs=70, outputs=9" in sources[1]


@pytest.mark.parametrize("zeros", [True, False])
def test_rows_of_a_packed_table(zeros: bool) -> None:
    draw = Draws(7)
    places = np.array([[3, 0, 9], [1, 1, 2]], np.int64)
    table = [draw.steps(10, 32), places, draw.floats(10, 4, low=0.01, high=0.1), draw.steps(10, 2) if zeros else None]
    agree("GatherBlockQuantized", table, bits=4, block_size=16, gather_axis=0, quantize_axis=1)


def test_fused_products_and_convolutions() -> None:
    draw = Draws(8)
    a, b = draw.floats(2, 5, 3), draw.floats(2, 4, 5)
    agree("FusedMatMul", [a, b], transA=1, transB=1, alpha=0.5)
    agree("FusedMatMul", [draw.floats(3, 2, 5), draw.floats(2, 5, 4)], transBatchA=1)
    bias = draw.floats(4)
    for name in ("Relu", "Sigmoid", "Tanh"):
        agree("FusedGemm", [a[0], b[0], bias], transA=1, transB=1, alpha=0.5, beta=2.0, activation=name)
    agree("FusedGemm", [a[0], b[0]], transA=1, transB=1, activation="LeakyRelu", activation_alpha=0.3)
    x, filters = draw.floats(1, 4, 7, 7), draw.floats(6, 4, 3, 3)
    agree("FusedConv", [x, filters, draw.floats(6)], pads=[1, 1, 1, 1], activation="Relu")
    agree(
        "FusedConv",
        [x, filters, draw.floats(6), draw.floats(1, 6, 5, 5)],
        activation="Clip",
        activation_params=[-0.5, 0.5],
    )
    agree("FusedConv", [x, filters], activation="HardSigmoid", activation_params=[0.3, 0.4])


def test_matrices_are_inverted_and_cut_to_triangles() -> None:
    for upper in (0, 1):
        agree("Trilu", [Draws(14).floats(2, 4, 5), np.array(1)], upper=upper)
    agree("Inverse", [Draws(13).floats(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)])


def test_activations_with_a_bias() -> None:
    draw = Draws(9)
    x, bias = draw.floats(3, 8), draw.floats(8)
    agree("Gelu", [x])
    agree("BiasGelu", [x, bias])
    agree("FastGelu", [x, bias])
    agree("FastGelu", [x])
    agree("QuickGelu", [x], alpha=1.5)


def test_norms_of_sums_give_the_results_that_are_asked_for() -> None:
    draw = Draws(10)
    x, skip, gamma, beta, bias = draw.floats(2, 3, 8), draw.floats(2, 3, 8), *(draw.floats(8) for _ in range(3))
    one, _ = agree("SkipLayerNormalization", [x, skip, gamma, beta, bias])
    assert "normalization.skip_layer_norm(x0, x1, x2, x3, x4)[0]" in one
    agree("SkipLayerNormalization", [x, skip, gamma, None, bias], ["y0", "", "", "y3"], epsilon=1e-5)
    agree("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], ["y0", "", "", "y3"], epsilon=1e-5)
    _, layer = agree("SimplifiedLayerNormalization", [x, gamma], domain="", axis=-1, epsilon=1e-6)
    assert "nn.RmsNormConfig(8, epsilon=1e-06)" in layer


def test_attention_leaves_out_what_is_usual() -> None:
    draw = Draws(11)
    query, key, value = (draw.floats(2, 5, 8) for _ in range(3))
    first, _ = agree("MultiHeadAttention", [query, key, value], num_heads=2)
    assert "runtime_attention.multi_head_attention(x0, x1, x2, heads=2)[0]" in first
    packed = [draw.floats(2, 5, 8), draw.floats(8, 24), draw.floats(24)]
    agree("Attention", packed, num_heads=2, unidirectional=1)
    caches = [draw.floats(2, 2, 0, 8), draw.floats(2, 2, 0, 8), np.array([4, 4], np.int32), np.array(5, np.int32)]
    inputs = [draw.floats(2, 5, 32), draw.floats(2, 5, 16), draw.floats(2, 5, 16), *caches]
    agree("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2)


def test_what_is_not_there_is_refused_with_its_reason() -> None:
    draw = Draws(12)
    packed = [draw.floats(2, 5, 8), draw.floats(8, 24), draw.floats(24)]
    proto, _ = single("Attention", packed, num_heads=2, do_rotary=1)
    with pytest.raises(OnnxError, match="rotary embeddings or shared buffers inside of it"):
        load(proto, burn.NdArray())
    proto, _ = single("FusedGemm", [draw.floats(2, 3), draw.floats(3, 2)], activation="Swirl")
    with pytest.raises(OnnxError, match="activation 'Swirl'"):
        load(proto, burn.NdArray())
