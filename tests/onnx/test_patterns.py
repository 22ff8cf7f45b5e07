"""Pattern recovery: each pattern alone, what it must leave alone, and that results and gradients stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import burn
from burn_import.onnx import load
from burn_import.onnx.importing import import_model
from burn_import.onnx.passes import Dead, Driver, prepare
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.patterns import PATTERNS, recover
from burn_import.onnx.passes.patterns.activations import Gelu, HardSigmoid, HardSwish, Mish, Swish
from burn_import.onnx.passes.patterns.attention import Attention
from burn_import.onnx.passes.patterns.linear import ConvolutionBias, Linear
from burn_import.onnx.passes.patterns.norms import GroupNorm, LayerNorm, RmsNorm
from burn_import.onnx.passes.patterns.quantized import QuantizedPair
from burn_import.onnx.passes.patterns.recurrent import ZeroStates
from burn_import.onnx.passes.patterns.rotary import Rotary
from burn_import.onnx.passes.patterns.softmax import LogSoftmax, Softmax
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, runtime, text_model

HEAD = "g (float[b, 4, 8] x) => (float[A, B, C] y) "
NUMBERS = (
    "float half = {0.5}, float one = {1}, float two = {2}, float three = {3}, float six = {6}, float zero = {0}, "
    "float root = {1.41421356}, float slope = {0.79788456}, float cube = {0.044715}, float eps = {0.00001}, "
    "float minus = {-0.5}, float steep = {1.702}, int64[1] last = {-1}"
)
LAYER_NORM = (
    "m = ReduceMean(x, last) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e) "
    "n = Div(d, r) p = Mul(n, gamma) y = Add(p, beta)"
)

FORMS: dict[str, tuple[type[Pass], str, list[str]]] = {
    "gelu": (Gelu, "d = Div(x, root) e = Erf(d) a = Add(e, one) p = Mul(x, a) y = Mul(p, half)", ["Gelu"]),
    "gelu, half first": (
        Gelu,
        "h = Mul(x, half) d = Div(x, root) e = Erf(d) a = Add(one, e) y = Mul(h, a)",
        ["Gelu"],
    ),
    "gelu by tanh": (
        Gelu,
        (
            "q = Pow(x, three) c = Mul(cube, q) s = Add(x, c) i = Mul(s, slope) t = Tanh(i) a = Add(t, one) "
            "h = Mul(half, x) y = Mul(h, a)"
        ),
        ["Gelu"],
    ),
    "gelu by tanh, factored": (
        Gelu,
        (
            "q = Mul(x, x) c = Mul(cube, q) s = Add(c, one) f = Mul(x, slope) i = Mul(f, s) t = Tanh(i) "
            "a = Add(one, t) h = Mul(x, a) y = Mul(h, half)"
        ),
        ["Gelu"],
    ),
    "silu": (Swish, "s = Sigmoid(x) y = Mul(x, s)", ["Swish"]),
    "quick gelu": (Swish, "i = Mul(steep, x) s = Sigmoid(i) y = Mul(s, x)", ["Swish"]),
    "hard sigmoid": (HardSigmoid, "a = Add(x, three) c = Clip(a, zero, six) y = Div(c, six)", ["HardSigmoid"]),
    "hard swish": (HardSwish, "a = Add(x, three) c = Clip(a, zero, six) p = Mul(x, c) y = Div(p, six)", ["HardSwish"]),
    "hard swish by gate": (
        HardSwish,
        "s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, s)",
        ["HardSwish"],
    ),
    "mish": (Mish, "s = Softplus(x) t = Tanh(s) y = Mul(x, t)", ["Mish"]),
    "softmax": (
        Softmax,
        "m = ReduceMax(x, last) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) y = Div(e, s)",
        ["Softmax"],
    ),
    "log softmax": (
        LogSoftmax,
        "m = ReduceMax(x, last) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last) l = Log(s) y = Sub(d, l)",
        ["LogSoftmax"],
    ),
    "layer norm": (LayerNorm, LAYER_NORM, ["LayerNormalization"]),
    "layer norm by products": (
        LayerNorm,
        (
            "m = ReduceMean(x, last) d = Sub(x, m) s = Mul(d, d) v = ReduceMean(s, last) e = Add(v, eps) "
            "r = Sqrt(e) i = Reciprocal(r) n = Mul(d, i) p = Mul(gamma, n) y = Add(p, beta)"
        ),
        ["LayerNormalization"],
    ),
    "layer norm without a shift": (
        LayerNorm,
        (
            "m = ReduceMean(x, last) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) "
            "i = Pow(e, minus) n = Mul(d, i) y = Mul(n, gamma)"
        ),
        ["LayerNormalization"],
    ),
    "rms norm": (
        RmsNorm,
        (
            "s = Pow(x, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e) i = Reciprocal(r) n = Mul(x, i) "
            "y = Mul(gamma, n)"
        ),
        ["RMSNormalization"],
    ),
    "rms norm by a quotient": (
        RmsNorm,
        "s = Mul(x, x) v = ReduceMean(s, last) e = Add(eps, v) r = Sqrt(e) n = Div(x, r) y = Mul(n, gamma)",
        ["RMSNormalization"],
    ),
}
LEFT = {
    "another constant": (Gelu, "d = Div(x, two) e = Erf(d) a = Add(e, one) p = Mul(x, a) y = Mul(p, half)"),
    "a gate of something else": (Swish, "n = Neg(x) s = Sigmoid(n) y = Mul(x, s)"),
    "no maximum": (Softmax, "e = Exp(x) s = ReduceSum(e, last) y = Div(e, s)"),
    "a gate that others use": (Swish, "s = Sigmoid(x) p = Mul(x, s) y = Add(p, s)"),
    "a mean of something else": (
        LayerNorm,
        (
            "o = Neg(x) m = ReduceMean(o, last) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, last) e = Add(v, eps) "
            "r = Sqrt(e) n = Div(d, r) p = Mul(n, gamma) y = Add(p, beta)"
        ),
    ),
    "no scale": (RmsNorm, "s = Mul(x, x) v = ReduceMean(s, last) e = Add(eps, v) r = Sqrt(e) y = Div(x, r)"),
}


def model_of(body: str, head: str = HEAD, numbers: str = NUMBERS) -> onnx.ModelProto:
    return text_model(f"{head}<{numbers}, float[8] gamma, float[8] beta> {{ {body} }}")


def operators_after(proto: onnx.ModelProto, *patterns: type[Pass]) -> list[str]:
    model = read(proto)
    prepare(model, verify=True)
    Driver([*(each() for each in patterns), Dead()], verify=True).run(model)
    return [node.op_type for node in model.graph]


def assert_runs(proto: onnx.ModelProto, feed: dict[str, Any], **closeness: float) -> None:
    """What is imported gives what ONNX Runtime gives."""
    results = load(proto, burn.NdArray()).run(feed)
    for actual, expected in zip(results.values(), runtime(proto, feed)):
        assert_same(actual, expected, **closeness)


def noise(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).standard_normal(shape) * 2).astype(np.float32)


@pytest.mark.parametrize("name", FORMS)
def test_a_form_becomes_one_operator_and_gives_the_same(name: str) -> None:
    pattern, body, expected = FORMS[name]
    proto = model_of(body)
    assert operators_after(proto, pattern) == expected
    assert_runs(proto, {"x": noise(3, 4, 8)}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LEFT)
def test_what_only_looks_alike_is_left_alone(name: str) -> None:
    pattern, body = LEFT[name]
    proto = model_of(body)
    assert operators_after(proto, pattern) == operators_after(proto)


def test_every_pattern_says_what_it_needs_and_has_a_name_of_its_own() -> None:
    assert len({each.name for each in PATTERNS}) == len(PATTERNS)
    for each in PATTERNS:
        assert each.requires == {"sorted", "lifted", "typed"}
        assert each.__doc__


def test_steps_that_are_results_stay() -> None:
    proto = text_model("g (float[b, 8] x) => (float[A, B] y, float[C, D] s) { s = Sigmoid(x) y = Mul(x, s) }")
    assert operators_after(proto, Swish) == ["Sigmoid", "Mul"]


def test_a_group_norm_is_found_between_its_reshapes() -> None:
    proto = text_model(
        "g (float[n, 16, 5, 5] x) => (float[A, B, C, D] y) <int64[3] fold = {0, 4, -1}, float[4] ones = {1, 1, 1, 1}, "
        "float[4] zeros = {0, 0, 0, 0}, float[16, 1, 1] gamma, float[16, 1, 1] beta> { r = Reshape(x, fold) "
        "i = InstanceNormalization(r, ones, zeros) s = Shape(x) b = Reshape(i, s) p = Mul(b, gamma) y = Add(p, beta) }"
    )
    assert operators_after(proto, GroupNorm) == ["GroupNormalization"]
    assert_runs(proto, {"x": noise(2, 16, 5, 5)}, rtol=1e-3, atol=1e-4)
    assert "nn.GroupNormConfig(4, 16)" in load(proto, burn.NdArray()).source


def test_factors_of_a_product_are_part_of_its_weights() -> None:
    proto = text_model(
        "g (float[n, 8] x) => (float[A, B] y) <float[3, 8] w, float[3] b> "
        "{ y = Gemm<alpha = 0.5, beta = 2.0, transB = 1>(x, w, b) }"
    )
    model = load(proto, burn.NdArray())
    assert "self.linear = nn.LinearConfig(8, 3).init(device)" in model.source
    assert_runs(proto, {"x": noise(5, 8)})
    assert operators_after(proto, Linear) == ["Gemm"]


def test_a_bias_with_dims_that_say_nothing_is_a_bias() -> None:
    proto = text_model(
        "g (float[n, 4, 8] x) => (float[A, B, C] y) <float[8, 3] w, float[1, 1, 3] b> "
        "{ p = MatMul(x, w) y = Add(p, b) }"
    )
    assert "nn.LinearConfig(8, 3).init(device)" in load(proto, burn.NdArray()).source
    assert_runs(proto, {"x": noise(2, 4, 8)})


def test_what_is_added_to_channels_is_the_bias_of_a_convolution() -> None:
    proto = text_model(
        "g (float[n, 2, 6, 6] x) => (float[A, B, C, D] y) <float[3, 2, 3, 3] w, float[1, 3, 1, 1] b> "
        "{ c = Conv(x, w) y = Add(b, c) }"
    )
    assert operators_after(proto, ConvolutionBias) == ["Conv"]
    assert_runs(proto, {"x": noise(2, 2, 6, 6)}, rtol=1e-3, atol=1e-4)


def test_convolution_and_batch_norm_stay_two_modules() -> None:
    proto = text_model(
        "g (float[n, 2, 6, 6] x) => (float[A, B, C, D] y) <float[3, 2, 3, 3] w, float[3] g, float[3] b, float[3] m, "
        "float[3] v = {1, 2, 3}> { c = Conv(x, w) y = BatchNormalization(c, g, b, m, v) }"
    )
    source = load(proto, burn.NdArray()).source
    assert "nn.conv.Conv2dConfig((2, 3), (3, 3), bias=False)" in source
    assert 'nn.BatchNormConfig(3).init(device).mode("infer")' in source


ATTENTION = (
    "g (float[b, 3, q, 8] x, float[b, k, 3, 8] z, float[b, 3, k, 8] v, int64[b, k] seen) => (float[A, B, C, D] y) "
    "<float scale = {0.35355339}, float one = {1}, float far = {-10000}, int64[2] dims = {1, 2}, float[3, 2, 2] w> "
)
MASK = "f = Cast<to = 1>(seen) o = Sub(one, f) w0 = Mul(o, far) mask = Unsqueeze(w0, dims) "


@pytest.mark.parametrize(
    "body",
    [
        "t = Transpose<perm = [0, 2, 3, 1]>(z) s = MatMul(x, t) c = Mul(s, scale) p = Softmax<axis = -1>(c)",
        "t = Transpose<perm = [0, 2, 3, 1]>(z) n = Mul(x, scale) s = MatMul(n, t) p = Softmax<axis = 3>(s)",
        MASK + "t = Transpose<perm = [0, 2, 3, 1]>(z) s = MatMul(x, t) c = Mul(s, scale) a = Add(c, mask) "
        "p = Softmax<axis = -1>(a)",
    ],
    ids=["scores scaled", "queries scaled", "masked"],
)
def test_attention_is_found_around_its_softmax(body: str) -> None:
    proto = text_model(f"{ATTENTION} {{ {body} y = MatMul(p, v) }}")
    assert operators_after(proto, Attention)[-1] == "Attention"
    assert "transformer.attention(x, " in load(proto, burn.NdArray()).source
    seen = np.ones((2, 5), np.int64)
    seen[0, 3:] = 0
    seen[1] = 0  # a mask that hides everything hides nothing, as long as it is finite
    feed = {"x": noise(2, 3, 4, 8), "z": noise(2, 5, 3, 8, seed=1), "v": noise(2, 3, 5, 8, seed=2), "seen": seen}
    assert_runs(proto, feed)


def test_attention_with_a_mask_that_may_be_infinite_is_left_alone() -> None:
    proto = text_model(
        "g (float[b, 3, q, 8] x, float[b, 3, k, 8] z, float[b, 3, k, 8] v, float[q, k] mask) => (float[A, B, C, D] y) "
        "{ t = Transpose<perm = [0, 1, 3, 2]>(z) s = MatMul(x, t) a = Add(s, mask) p = Softmax<axis = -1>(a) "
        "y = MatMul(p, v) }"
    )
    assert operators_after(proto, Attention) == ["Transpose", "MatMul", "Add", "Softmax", "MatMul"]


ROTARY = (
    "g (float[b, 2, t, 8] x, float[t, 4] f) => (float[A, B, C, D] y) <int64[2] dims = {0, 1}, int64[1] zero = {0}, "
    "int64[1] four = {4}, int64[1] end = {99}, int64[1] last = {-1}> "
)
TABLES = "e = Concat<axis = -1>(f, f) c0 = Cos(e) s0 = Sin(e) c = Unsqueeze(c0, dims) s = Unsqueeze(s0, dims) "


@pytest.mark.parametrize(
    "halves",
    [
        "x1, x2 = Split<axis = -1, num_outputs = 2>(x) ",
        "x1 = Slice(x, zero, four, last) x2 = Slice(x, four, end, last) ",
    ],
    ids=["split", "sliced"],
)
def test_rotary_positions_are_found_in_their_arithmetic(halves: str) -> None:
    body = f"{TABLES} {halves} n = Neg(x2) r = Concat<axis = -1>(n, x1) p = Mul(x, c) q = Mul(r, s) y = Add(p, q)"
    proto = text_model(f"{ROTARY} {{ {body} }}")
    assert operators_after(proto, Rotary)[-1] == "RotaryEmbedding"
    assert_runs(proto, {"x": noise(3, 2, 5, 8), "f": noise(5, 4)})


def test_rotary_positions_need_tables_that_repeat() -> None:
    body = (
        "n0 = Neg(f) e = Concat<axis = -1>(f, n0) c0 = Cos(e) s0 = Sin(e) c = Unsqueeze(c0, dims) "
        "s = Unsqueeze(s0, dims) x1, x2 = Split<axis = -1, num_outputs = 2>(x) n = Neg(x2) "
        "r = Concat<axis = -1>(n, x1) p = Mul(x, c) q = Mul(r, s) y = Add(p, q)"
    )
    assert operators_after(text_model(f"{ROTARY} {{ {body} }}"), Rotary)[-1] == "Add"


def test_quantising_again_in_the_same_steps_gives_what_was_there() -> None:
    proto = text_model(
        "g (float[4] x) => (uint8[4] y) <float s = {0.1}, uint8 z = {7}, float s2 = {0.1}, uint8 z2 = {7}> "
        "{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = QuantizeLinear(d, s2, z2) }"
    )
    assert operators_after(proto, QuantizedPair) == ["QuantizeLinear", "Identity"]
    assert_runs(proto, {"x": noise(4)})


def test_other_steps_are_quantised_again() -> None:
    proto = text_model(
        "g (uint8[4] q) => (uint8[4] y) <float s = {0.1}, uint8 z = {7}, float s2 = {0.2}> "
        "{ d = DequantizeLinear(q, s, z) y = QuantizeLinear(d, s2, z) }"
    )
    assert operators_after(proto, QuantizedPair) == ["DequantizeLinear", "QuantizeLinear"]


RECURRENT = (
    "g (float[t, b, 3] x) => (float[A, B, C] y) <int64[1] one = {1}, int64[1] zero = {0}, int64[1] d = {DIRECTIONS}, "
    "int64[1] h = {5}, float[DIRECTIONS, GATES, 3] w, float[DIRECTIONS, GATES, 5] r, float[DIRECTIONS, BIASES] b> "
)
STATE = "s = Shape(x) n = Gather(s, one) e = Concat<axis = 0>(d, n, h) z = ConstantOfShape(e) "


@pytest.mark.parametrize(
    ("kind", "gates", "directions", "node", "module"),
    [
        ("LSTM", 20, 1, "l, hh, cc = LSTM<hidden_size = 5>(x, w, r, b, , z, z)", "nn.Lstm"),
        ("LSTM", 20, 2, 'l = LSTM<hidden_size = 5, direction = "bidirectional">(x, w, r, b, , z, z)', "nn.BiLstm"),
        ("GRU", 15, 1, "l = GRU<hidden_size = 5, linear_before_reset = 1>(x, w, r, b, , z)", "nn.Gru"),
        ("GRU", 15, 1, "l = GRU<hidden_size = 5>(x, w, r, b, , z)", "nn.Gru"),
        ("GRU", 15, 2, 'l = GRU<hidden_size = 5, direction = "bidirectional">(x, w, r, b, , z)', "nn.BiGru"),
    ],
)
def test_recurrent_nodes_become_modules(kind: str, gates: int, directions: int, node: str, module: str) -> None:
    head = RECURRENT.replace("DIRECTIONS", str(directions)).replace("GATES", str(gates))
    head = head.replace("BIASES", str(2 * gates))
    tail = "y = Squeeze(l, one)" if directions == 1 else "y0 = Transpose<perm = [0, 2, 1, 3]>(l) y = Reshape(y0, join)"
    head = head.replace("int64[1] h", "int64[3] join = {0, 0, -1}, int64[1] h")
    proto = text_model(f"{head} {{ {STATE} {node} {tail} }}")
    assert kind in operators_after(proto, ZeroStates)
    assert "ConstantOfShape" not in operators_after(proto, ZeroStates)
    for each in proto.graph.initializer:
        if each.name in "wrb":
            array = onnx.numpy_helper.to_array(each) * np.float32(0.05)
            each.CopyFrom(onnx.numpy_helper.from_array(array, each.name))
    source = load(proto, burn.NdArray()).source
    assert f"{module}Config(3, 5, True" in source
    assert "filled" not in source
    assert "squeeze" not in source
    assert_runs(proto, {"x": noise(6, 2, 3)})


def test_states_of_a_recurrent_layer_go_in_and_out() -> None:
    proto = text_model(
        "g (float[t, b, 3] x, float[1, b, 5] h, float[1, b, 5] c) => (float[A, B, C, D] y, float[E, F, G] hn, "
        "float[H, I, J] cn) <float[1, 20, 3] w, float[1, 20, 5] r, float[1, 40] b> "
        "{ y, hn, cn = LSTM<hidden_size = 5>(x, w, r, b, , h, c) }"
    )
    for each in proto.graph.initializer:
        array = onnx.numpy_helper.to_array(each) * np.float32(0.05)
        each.CopyFrom(onnx.numpy_helper.from_array(array, each.name))
    assert "nn.LstmState(" in load(proto, burn.NdArray()).source
    assert_runs(proto, {"x": noise(4, 2, 3), "h": noise(1, 2, 5), "c": noise(1, 2, 5, seed=1)})


def test_recovery_changes_no_gradient() -> None:
    """The same file with its patterns and without: every parameter gets the same gradient."""
    proto = model_of(
        LAYER_NORM.replace("y = Add", "l = Add")
        + " d1 = Div(l, root) e1 = Erf(d1) a1 = Add(e1, one) p1 = Mul(l, a1) g1 = Mul(p1, half) s1 = Sigmoid(g1) "
        "y = Mul(g1, s1)"
    )
    device = burn.NdArray().autodiff()
    found = []
    for recovered in (True, False):
        model = read(proto)
        prepare(model)
        if recovered:
            recover(model, verify=True)
        found.append(gradients(model, device))
    assert len(found[0]) == len(found[1]) == 2
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def gradients(model: Any, device: Any) -> list[np.ndarray[Any, Any]]:
    from burn_import.onnx.modules import instantiate
    from burn_import.onnx.writer import write

    module = instantiate(write(model), device)
    loss = (module(burn.tensor(noise(3, 4, 8), device=device)) ** 2.0).sum()
    grads = loss.backward()
    return [each.grad(grads).numpy() for _, each in module.named_parameters()]


def test_recovery_is_deterministic_and_settles() -> None:
    proto = model_of(LAYER_NORM)
    first, again = import_model(proto), import_model(proto)
    assert first.write().source == again.write().source
    assert not recover(first.model).changed
