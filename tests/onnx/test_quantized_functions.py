"""Layers of quantised models: the integers ONNX Runtime gives, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn.backend import Cpu
from burn.errors import ArgumentError
from burn_import.functions import quantized
from tests.tensor.one_node import assert_same, on_device, run

MICROSOFT = "com.microsoft"
TYPES = [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)]


class Draws:
    """Random values of one test."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def bytes(self, *shape: int, dtype: Any = np.uint8) -> Any:
        limits = np.iinfo(dtype)
        return np.asarray(self.random.integers(limits.min, limits.max + 1, shape), dtype)

    def floats(self, *shape: int, low: float = -1.0, high: float = 1.0) -> Any:
        return self.random.uniform(low, high, shape).astype(np.float32)


def scale(value: float) -> Any:
    return np.array(value, np.float32)


def ours(function: Any, values: list[Any], **settings: Any) -> Any:
    return function(*map(on_device, values), **settings)


@pytest.mark.parametrize(("left", "right"), TYPES)
def test_products_are_exact(left: Any, right: Any) -> None:
    draw = Draws()
    x, y = draw.bytes(7, 33, dtype=left), draw.bytes(33, 5, dtype=right)
    x_zero, y_zero, zero = draw.bytes(dtype=left), draw.bytes(dtype=right), draw.bytes(dtype=left)
    one = [x, scale(0.02), x_zero, y, scale(0.03), y_zero, scale(0.9), zero]
    assert_same(ours(quantized.matmul, one), run("QLinearMatMul", one))
    columns = [*one[:4], draw.floats(5, low=0.01, high=0.05), np.zeros(5, right), *one[6:]]
    assert_same(ours(quantized.matmul, columns), run("QLinearMatMul", columns))
    bias = draw.random.integers(-100, 100, 5).astype(np.int32)
    turned = [*one[:3], y.T.copy(), *one[4:6], bias, *one[6:]]
    assert_same(
        ours(quantized.gemm, turned, transpose_y=True, alpha=0.5),
        run("QGemm", turned, domain=MICROSOFT, transB=1, alpha=0.5),
    )
    assert_same(
        ours(quantized.gemm, turned[:7], transpose_y=True), run("QGemm", turned[:7], domain=MICROSOFT, transB=1)
    )


@pytest.mark.parametrize(("left", "right"), TYPES)
def test_convolutions_are_exact(left: Any, right: Any) -> None:
    draw = Draws(1)
    values = [
        draw.bytes(2, 6, 9, 9, dtype=left), scale(0.02), draw.bytes(dtype=left), draw.bytes(4, 3, 3, 3, dtype=right),
        draw.floats(4, low=0.01, high=0.02), np.zeros(4, right), scale(1.1), draw.bytes(dtype=left),
        draw.random.integers(-500, 500, 4).astype(np.int32),
    ]  # fmt: skip
    mine = ours(quantized.conv, values, stride=(2, 1), padding=((1, 1), (1, 0)), groups=2)
    assert_same(mine, run("QLinearConv", values, strides=[2, 1], pads=[1, 1, 1, 0], group=2))


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_elementwise_layers_are_exact(kind: Any) -> None:
    draw = Draws(2)
    x, y = draw.bytes(3, 4, 5, dtype=kind), draw.bytes(4, 5, dtype=kind)
    pair = [x, scale(0.02), draw.bytes(dtype=kind), y, scale(0.03), draw.bytes(dtype=kind), scale(0.05)]
    pair.append(draw.bytes(dtype=kind))
    for name, function in (("QLinearAdd", quantized.add), ("QLinearMul", quantized.mul)):
        assert_same(ours(function, pair), run(name, pair, domain=MICROSOFT))
    one = [x, scale(0.02), draw.bytes(dtype=kind), scale(0.01), draw.bytes(dtype=kind)]
    assert_same(ours(quantized.sigmoid, one), run("QLinearSigmoid", one, domain=MICROSOFT))
    slope = run("QLinearLeakyRelu", one, domain=MICROSOFT, alpha=0.2)
    assert_same(ours(quantized.leaky_relu, one, negative_slope=0.2), slope)
    images = [draw.bytes(2, 6, 9, 9, dtype=kind), scale(0.02), draw.bytes(dtype=kind), scale(0.015)]
    images.append(draw.bytes(dtype=kind))
    pooled = run("QLinearGlobalAveragePool", images, domain=MICROSOFT, channels_last=0)
    assert_same(ours(quantized.global_average_pool, images), pooled)


def test_a_softmax_is_at_most_one_step_away() -> None:
    draw = Draws(3)
    values = [draw.bytes(4, 9), scale(0.05), np.array(3, np.uint8), scale(1 / 256), np.array(0, np.uint8)]
    (theirs,) = run("QLinearSoftmax", values, domain=MICROSOFT, axis=-1, opset=13)
    mine = np.asarray(ours(quantized.softmax, values))
    assert np.abs(mine.astype(int) - theirs.astype(int)).max() <= 1


def test_floats_times_quantised_weights() -> None:
    draw = Draws(4)
    x, weight = draw.floats(4, 33), draw.bytes(33, 6, dtype=np.int8)
    dynamic = [x, weight, draw.floats(6, low=0.01, high=0.02), draw.bytes(6, dtype=np.int8), draw.floats(6)]
    assert_same(ours(quantized.dynamic_matmul, dynamic), run("DynamicQuantizeMatMul", dynamic, domain=MICROSOFT))
    fixed = [
        draw.bytes(4, 33),
        weight,
        scale(0.02),
        scale(0.03),
        draw.bytes(),
        draw.bytes(dtype=np.int8),
        draw.floats(6),
    ]
    assert_same(ours(quantized.matmul_to_float, fixed), run("MatMulIntegerToFloat", fixed, domain=MICROSOFT))


@pytest.mark.parametrize(("bits", "zeros"), [(4, True), (4, False), (8, True)])
def test_weights_of_few_bits(bits: int, zeros: bool) -> None:
    draw = Draws(5)
    inputs, outputs, block = 70, 9, 32
    blocks = -(-inputs // block)
    values = [
        draw.floats(2, 3, inputs), draw.bytes(outputs, blocks, block * bits // 8),
        draw.floats(outputs * blocks, low=0.01, high=0.1),
        draw.bytes(outputs * -(-blocks * bits // 8)) if zeros else None,
    ]  # fmt: skip
    mine = ours(quantized.matmul_packed, values, inputs=inputs, outputs=outputs, bits=bits, block_size=block)
    theirs = run("MatMulNBits", values, domain=MICROSOFT, K=inputs, N=outputs, bits=bits, block_size=block)
    assert_same(mine, theirs, atol=1e-4)


def test_packed_numbers_come_lowest_bits_first() -> None:
    found = quantized.unpack_bits(on_device(np.array([[0x21, 0xF0]], np.uint8)), 4)
    assert np.asarray(found).tolist() == [[1, 2, 0, 15]]
    with pytest.raises(ArgumentError, match="1, 2, 4 or 8"):
        quantized.unpack_bits(on_device(np.zeros(2, np.uint8)), 3)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("columns", [False, True])
def test_an_lstm_with_quantised_weights(direction: str, columns: bool) -> None:
    draw = Draws(6)
    steps, batch, inputs, hidden = 5, 1, 8, 16
    count = 2 if direction == "bidirectional" else 1
    shape = (count, 4 * hidden) if columns else (count,)
    values = [
        draw.floats(steps, batch, inputs), draw.bytes(count, inputs, 4 * hidden, dtype=np.int8),
        draw.bytes(count, hidden, 4 * hidden, dtype=np.int8), draw.floats(count, 8 * hidden), None, None, None, None,
        draw.floats(*shape, low=0.001, high=0.01), np.zeros(shape, np.int8),
        draw.floats(*shape, low=0.001, high=0.01), np.zeros(shape, np.int8),
    ]  # fmt: skip
    theirs = run("DynamicQuantizeLSTM", values, 3, domain=MICROSOFT, hidden_size=hidden, direction=direction)
    assert_same(ours(quantized.dynamic_lstm, values, direction=direction), theirs)


def test_the_usual_device_gives_the_same_integers() -> None:
    draw = Draws(7)
    values = [draw.bytes(2, 70, 6, 6), scale(0.02), draw.bytes(), draw.bytes(8, 70, 3, 3, dtype=np.int8), scale(0.01),
              np.array(0, np.int8), scale(3.0), draw.bytes()]  # fmt: skip
    there = quantized.conv(*(on_device(each, Cpu()) for each in values), padding=1)
    assert_same(there, run("QLinearConv", values, pads=[1, 1, 1, 1]))


def test_steps_of_a_bit_width_given_as_a_tensor() -> None:
    x = np.array([-3.0, -0.6, 0.1, 0.5, 1.5, 9.0], np.float32)
    step, zero, bits = (np.array(each, np.float32) for each in (0.5, 0.0, 4.0))
    found = ours(quantized.fake_quantize, [x, step, zero, bits], signed=True, narrow=True)
    assert np.asarray(found).tolist() == [-3.0, -0.5, 0.0, 0.5, 1.5, 3.5]
    with pytest.raises(ArgumentError, match="rounding must be one of"):
        ours(quantized.fake_quantize, [x, step, zero, bits], rounding="SIDEWAYS")
