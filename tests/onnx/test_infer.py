"""Inference: sizes with names, contents of shape computations, types of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn_import.onnx.ir import Model, schemas
from burn_import.onnx.passes import Driver, Infer, Inline, Lift
from burn_import.onnx.passes.infer import RULES
from burn_import.onnx.reader import read
from tests.onnx.running import assert_inference_tells_the_truth, text_model


def inferred(text: str, opset: int = 21) -> Model:
    model = read(text_model(text, opset))
    Driver([Inline(), Lift(), Infer()], verify=True).run(model)
    assert model.notes == []
    return model


def types(model: Model) -> dict[str, str]:
    return {value.name: str(value.type) for node in model.graph for value in node.outputs}


def contents(model: Model, name: str) -> list[str]:
    (value,) = [value for node in model.graph for value in node.outputs if value.name == name]
    assert value.content is not None
    return [str(each) for each in value.content.reshape(-1)]


def test_every_operator_of_the_standard_has_a_rule() -> None:
    known = {key for key in schemas.operators() if key[0] in ("", "ai.onnx.ml")}
    lifted_away = {("", "Constant"), ("", "Scatter"), ("", "Upsample")}
    assert known - set(RULES) == lifted_away


def test_named_sizes_go_through_layers() -> None:
    model = inferred(
        """g (float[batch, 3, H, W] x) => (float[A, B] y)
        <float[8, 3, 3, 3] w, float[10, 8] f> {
            a = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w)
            b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a)
            c = GlobalAveragePool(b)
            d = Flatten(c)
            y = Gemm<transB = 1>(d, f)
        }"""
    )
    assert types(model) == {
        "a": "f32[batch, 8, (H + 1)//2, (W + 1)//2]",
        "b": "f32[batch, 8, max((H + 1)//4, 1), max((W + 1)//4, 1)]",
        "c": "f32[batch, 8, 1, 1]",
        "d": "f32[batch, 8]",
        "y": "f32[batch, 10]",
    }


def test_shape_computations_are_followed() -> None:
    model = inferred(
        """g (float[batch, length, 768] x) => (float[A, B, C, D] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] heads = {12}, int64[1] width = {64}, int64[1] axes = {0}> {
            s = Shape(x)
            b = Gather(s, zero)
            l = Gather(s, one)
            bu = Unsqueeze(b, axes)
            lu = Unsqueeze(l, axes)
            target = Concat<axis = 0>(bu, lu, heads, width)
            r = Reshape(x, target)
            y = Transpose<perm = [0, 2, 1, 3]>(r)
        }"""
    )
    assert contents(model, "target") == ["batch", "length", "12", "64"]
    assert types(model)["y"] == "f32[batch, 12, length, 64]"


def test_an_open_size_of_a_reshape_is_what_is_left() -> None:
    model = inferred(
        """g (float[n, 6, m] x) => (float[A, B] y) <int64[2] a = {-1, 3}, int64[2] b = {0, -1}> {
            y = Reshape(x, a)
            z = Reshape(x, b)
        }"""
    )
    assert types(model)["y"] == "f32[2*m*n, 3]"
    assert types(model)["z"] == "f32[n, 6*m]"


def test_arithmetic_of_sizes_through_floats() -> None:
    model = inferred(
        """g (float[1, 3, H, W] x) => (float[A, B, C, D] y)
        <int64[1] from = {2}, int64[1] to = {4}, float half = {0.5}, int64[2] front = {1, 3}> {
            s = Shape(x)
            hw = Slice(s, from, to)
            f = Cast<to = 1>(hw)
            g = Mul(f, half)
            h = Floor(g)
            i = Cast<to = 7>(h)
            sizes = Concat<axis = 0>(front, i)
            y = Resize<mode = "linear">(x, , , sizes)
        }"""
    )
    assert types(model)["y"] == "f32[1, 3, H//2, W//2]"


def test_data_dependent_sizes_get_names_that_can_be_followed() -> None:
    model = inferred(
        """g (float[n] x) => (int64[A] y) <int64[1] a = {0}> {
            z = NonZero(x)
            t = Transpose(z)
            y = Squeeze(z, a)
            w = Add(y, y)
        }"""
    )
    assert types(model) == {"z": "i64[1, ?z.1]", "t": "i64[?z.1, 1]", "y": "i64[?z.1]", "w": "i64[?z.1]"}


def test_unnamed_sizes_of_inputs_get_names() -> None:
    model = inferred("g (float[?, 3] x, float[?, 3] z) => (float[A, B] y) { y = Concat<axis = 0>(x, z) }")
    assert types(model) == {"y": "f32[x.0 + z.0, 3]"}


def test_slices_are_clamped_where_nothing_else_is_known() -> None:
    model = inferred(
        """g (float[n, 512] x) => (float[A, B] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] five = {5}, int64[1] back = {-2},
         int64[1] end = {9223372036854775807}> {
            y = Slice(x, one, end, zero)
            a = Slice(x, zero, five, zero)
            b = Slice(x, back, end, zero)
            s = Shape<start = 0, end = 1>(x)
            c = Slice(x, zero, s, one)
        }"""
    )
    found = types(model)
    assert found["y"] == "f32[n - 1, 512]"
    assert found["a"] == "f32[min(5, n), 512]"
    assert found["b"] == "f32[min(2, n), 512]"
    assert found["c"] == "f32[n, min(512, n)]"


def test_branches_that_differ_lose_what_differs() -> None:
    model = inferred(
        """g (bool c, float[n, 4] x) => (float[A, B] y) {
            y = If(c) <
                then_branch = t () => (float[A, B] p) { p = Concat<axis = 0>(x, x) },
                else_branch = e () => (float[A, B] q) { q = Neg(x) }
            >
        }"""
    )
    assert types(model)["y"] == "f32[?y.0, 4]"


def test_what_a_loop_carries_is_what_all_rounds_have_in_common() -> None:
    model = inferred(
        """g (int64 count, float[1, 4] x) => (float[A, B] y, float[A, B, C] s) <bool yes = {1}> {
            y, s = Loop(count, yes, x) <
              body = b (int64 i, bool c, float[P, Q] v) => (bool d, float[P, Q] w, float[Q] o) <int64 zero = {0}> {
                d = Identity(c)
                w = Concat<axis = 0>(v, x)
                o = Gather<axis = 0>(v, zero)
            }>
        }"""
    )
    assert types(model)["y"] == "f32[?y.0, 4]"
    assert types(model)["s"] == "f32[?s.0, 4]"


def test_declared_sizes_of_results_are_not_believed() -> None:
    """Exporters write the sizes of one example; only the inputs of a model are a promise."""
    model = inferred("g (float[n, 4] x) => (float[1, 4] y) { y = Relu(x) }")
    assert types(model) == {"y": "f32[n, 4]"}


def test_declared_types_fill_in_for_operators_nobody_knows() -> None:
    model = read(text_model("g (float[n, 4] x) => (float16[7, 4] y) { y = mine.Odd(x) }", extra=', "mine" : 1'))
    Driver([Inline(), Lift()], verify=True).run(model)
    assert types(model) == {"y": "f16[?y.0, ?y.1]"}


def test_shapes_that_cannot_be_are_noted_not_fatal() -> None:
    model = read(text_model("g (float[4] x) => (float[A] y) { y = Flatten<axis = 7>(x) }"))
    Driver([Inline(), Lift()], verify=True).run(model)
    assert "its inputs do not fit the operator" in model.notes[0]


TRUTH: dict[str, tuple[str, int, dict[str, Any]]] = {
    "ceil pooling": (
        """g (float[1, 2, H, W] x) => (float[A, B, C, D] y, float[A, B, C, D] z) {
            y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, pads = [1, 1, 1, 1]>(x)
            z = AveragePool<kernel_shape = [2, 2], strides = [2, 2], auto_pad = "SAME_UPPER">(x)
        }""", 12, {"x": np.zeros((1, 2, 7, 8), np.float32)},
    ),
    "transposed convolution": (
        """g (float[1, 2, H] x) => (float[A, B, C] y) <float[2, 3, 4] w> {
            y = ConvTranspose<strides = [3], pads = [1, 2], output_padding = [1], dilations = [2]>(x, w)
        }""", 11, {"x": np.zeros((1, 2, 5), np.float32)},
    ),
    "recurrent": (
        """g (float[T, N, 4] x) => (float[A, B, C, D] y, float[A, B, C] h, float[A, B, C] c)
        <float[2, 12, 4] w, float[2, 12, 3] r> {
            y, h, c = LSTM<hidden_size = 3, direction = "bidirectional">(x, w, r)
        }""", 14, {"x": np.zeros((5, 2, 4), np.float32)},
    ),
    "einsum": (
        """g (float[B, H, L, D] q, float[B, H, M, D] k) => (float[A, C, E, F] y) {
            y = Einsum<equation = "bhld,bhmd->bhlm">(q, k)
        }""",
        12, {"q": np.zeros((2, 3, 4, 5), np.float32), "k": np.zeros((2, 3, 6, 5), np.float32)},
    ),
    "range and expand": (
        """g (float[N, M] x) => (int64[A, B] y) <int64 zero = {0}, int64 one = {1}> {
            s = Shape(x)
            m = Gather(s, one)
            r = Range(zero, m, one)
            y = Expand(r, s)
        }""", 13, {"x": np.zeros((3, 4), np.float32)},
    ),
    "gather and tile": (
        """g (float[N, 8] x, int64[K, 2] i) => (float[A, B, C] y) <int64[3] t = {1, 2, 3}> {
            a = Gather<axis = 0>(x, i)
            y = Tile(a, t)
        }""", 13, {"x": np.zeros((3, 8), np.float32), "i": np.zeros((5, 2), np.int64)},
    ),
    "top and split": (
        """g (float[N, 9] x) => (float[A, B] y, float[A, B] z, int64[A, B] j) <int64[1] k = {4}> {
            v, j = TopK(x, k)
            y, z = Split<axis = 1>(v)
        }""", 13, {"x": np.zeros((3, 9), np.float32)},
    ),
    "pads of shapes": (
        """g (float[1, N] x) => (float[A, B] y) <int64[1] front = {0}, int64 four = {4}, int64[1] a = {0}> {
            n = Shape<start = 1, end = 2>(x)
            r = Mod(n, four)
            d = Sub(four, r)
            p = Concat<axis = 0>(front, front, front, d)
            y = Pad(x, p)
        }""", 18, {"x": np.zeros((1, 6), np.float32)},
    ),
    "quantised": (
        """g (float[N, 4] x) => (uint8[A, B] q, float s, uint8 z, int32[A, B] y) <int8[4, 3] w> {
            q, s, z = DynamicQuantizeLinear(x)
            y = MatMulInteger(q, w, z)
        }""", 11, {"x": np.ones((2, 4), np.float32)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTH)
def test_inference_agrees_with_what_onnx_runtime_computes(name: str) -> None:
    text, opset, feed = TRUTH[name]
    proto = text_model(text, opset, ir_version=8)
    assert_inference_tells_the_truth(proto, feed)
