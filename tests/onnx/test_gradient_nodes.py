"""Gradients inside a graph, and dropout that an input switches on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import burn
from burn_import.onnx import OnnxError, load
from tests.onnx.running import text_model

TRAINING = "ai.onnx.preview.training"


def with_gradient(xs: list[str], y: str, inputs: list[str], zs: list[str] | None = None) -> onnx.ModelProto:
    """d = tanh(a * b) + b, and e = a * a, with a gradient node behind them."""
    names: Any = {"xs": xs, "y": y, **({"zs": zs} if zs else {})}
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["c"]),
        helper.make_node("Tanh", ["c"], ["t"]),
        helper.make_node("Add", ["t", "b"], ["d"]),
        helper.make_node("Mul", ["a", "a"], ["e"]),
        helper.make_node("Gradient", inputs, [f"g{each}" for each in range(len(xs))], domain=TRAINING, **names),
    ]  # fmt: skip
    shape = [2, 3]
    graph = helper.make_graph(
        nodes, "gradient", [value(name, 1, shape) for name in "ab"],
        [value("d", 1, shape), *(value(f"g{each}", 1, shape) for each in range(len(xs)))],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_a_gradient_node_gives_the_derivatives_of_what_lies_between(device: burn.Device) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((2, 3)).astype(np.float32) for _ in range(2))
    results = load(with_gradient(["a", "b"], "d", ["a", "b"]), device).run({"a": a, "b": b})
    slope = 1 - np.tanh(a * b) ** 2
    np.testing.assert_allclose(results["g0"], slope * b, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(results["g1"], slope * a + 1, rtol=1e-4, atol=1e-6)


def test_a_value_that_is_not_differentiated_may_be_an_argument_and_an_inner_value_a_variable() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((2, 3)).astype(np.float32) for _ in range(2))
    results = load(with_gradient(["c"], "d", ["c", "b"], zs=["b"]), burn.NdArray()).run({"a": a, "b": b})
    np.testing.assert_allclose(results["g0"], 1 - np.tanh(a * b) ** 2, rtol=1e-4, atol=1e-6)


def test_a_gradient_of_something_that_does_not_depend_on_the_variable_is_zero() -> None:
    ones = np.ones((2, 3), np.float32)
    results = load(with_gradient(["b"], "e", ["b"]), burn.NdArray()).run({"a": ones, "b": ones})
    np.testing.assert_array_equal(results["g0"], np.zeros((2, 3), np.float32))


def test_a_gradient_of_a_value_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(OnnxError, match="there is no value 'nowhere'"):
        load(with_gradient(["a"], "nowhere", ["a"]), burn.NdArray())


def test_dropout_that_an_input_switches_on_drops_and_scales() -> None:
    text = "agraph (float[64, 64] x, float r, bool t) => (float[64, 64] y, bool[64, 64] kept)\n"
    text += "{ y, kept = Dropout(x, r, t) }"
    model = load(text_model(text), burn.NdArray())
    x = np.ones((64, 64), np.float32)
    off = model.run({"x": x, "r": np.float32(0.25), "t": np.array(False)})
    np.testing.assert_array_equal(off["y"], x)
    assert off["kept"].all()
    on = model.run({"x": x, "r": np.float32(0.25), "t": np.array(True)})
    np.testing.assert_allclose(on["y"], on["kept"] / 0.75, rtol=1e-6)
    assert 0.7 < on["kept"].mean() < 0.8
