"""Layers that compute with integers, scales and zero points: `quantized.conv(x, scale, zero, ...)`.

Each quantised tensor comes as three: its integers, a scale and a zero point. Products are summed exactly in
i32 and brought to the scale of the result in one multiplication, so that results are those of other
runtimes, up to ties of the last rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.dtype import f32, i32
from burn.errors import ArgumentError, ShapeError
from burn.ops import activation, arithmetic, creation
from burn.ops.dispatch import cast_to
from burn.tensor.recurrent import run_lstm
from burn_import.rows import integer
from burn_import.rows.integer import conv_integer
from burn_import.rows.linear_quantization import dequantize_linear, dynamic_quantize, quantize_linear, requantize

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = [
    "add", "conv", "conv_integer", "dequantize_linear", "dynamic_lstm", "dynamic_matmul", "dynamic_quantize",
    "fake_quantize", "gemm", "global_average_pool", "leaky_relu", "matmul", "matmul_integer", "matmul_packed",
    "matmul_to_float", "mul", "quantize_linear", "requantize", "rescale", "sigmoid", "softmax", "unpack_bits",
]  # fmt: skip


def _single(value: Any) -> Any:
    """A scale in f32: without dims where it is one number."""
    value = cast_to(value, f32)
    return value.reshape(()) if math.prod(value.shape) == 1 else value


def _lone(zero: Any) -> Any:
    return zero if zero is None or math.prod(zero.shape) != 1 else zero.reshape(())


def _as_rows(scale: Any) -> Any:
    """One scale for each row, shaped to broadcast over matrices."""
    return scale.reshape((scale.shape[0], 1)) if len(scale.shape) == 1 else scale


# Products


def matmul_integer(
    x: Tensor[B], y: Tensor[Any], x_zero: Tensor[Any] | None = None, y_zero: Tensor[Any] | None = None
) -> Tensor[B]:
    """Multiply matrices or vectors of bytes and sum in i32.

    Zero points are one for all, for each row of `x` or column of `y`.
    """
    left: Any = x.unsqueeze_dim(0) if len(x.shape) == 1 else x
    right: Any = y.unsqueeze_dim(1) if len(y.shape) == 1 else y
    sums: Any = integer.matmul_integer(left, right, x_zero, y_zero)
    sums = sums.squeeze_dim(-1) if len(y.shape) == 1 else sums
    return sums.squeeze_dim(-1 if len(y.shape) == 1 else -2) if len(x.shape) == 1 else sums  # type: ignore[no-any-return]


def matmul(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    y: Tensor[Any],
    y_scale: Tensor[Any],
    y_zero: Tensor[Any],
    scale: Tensor[Any],
    zero: Tensor[Any],
) -> Tensor[B]:
    """Multiply quantised matrices; scales of `x` may be one for each row, of `y` one for each column."""
    sums = matmul_integer(x, y, _lone(x_zero), _lone(y_zero))
    factor = _as_rows(_single(x_scale)) * _single(y_scale) / _as_rows(_single(scale))
    return requantize(sums, factor, _as_rows(_lone(zero)), zero.dtype)


def conv(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any] | None,
    weight: Tensor[Any],
    weight_scale: Tensor[Any],
    weight_zero: Tensor[Any] | None,
    scale: Tensor[Any],
    zero: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Convolve quantised tensors; weights may have a scale and zero point for each output, `bias` is i32."""
    sums: Any = conv_integer(x, weight, x_zero, weight_zero, stride, padding, dilation, groups)
    channels = (1, -1) + (1,) * (len(x.shape) - 2)
    if bias is not None:
        sums = sums + bias.reshape(channels)
    factor = _single(x_scale) * _single(weight_scale) / _single(scale)
    return requantize(sums, factor.reshape(channels) if factor.shape else factor, _lone(zero), zero.dtype)


def matmul_to_float(
    x: Tensor[B],
    y: Tensor[Any],
    x_scale: Tensor[Any],
    y_scale: Tensor[Any],
    x_zero: Tensor[Any] | None = None,
    y_zero: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
) -> Tensor[B]:
    """Multiply quantised matrices and give floats; the scale of `y` may be one for each column."""
    sums: Any = matmul_integer(x, y, _lone(x_zero), _lone(y_zero))
    result = sums.cast(f32) * (_as_rows(_single(x_scale)) * _single(y_scale))
    return result if bias is None else result + bias  # type: ignore[no-any-return]


def dynamic_matmul(
    x: Tensor[B],
    y: Tensor[Any],
    y_scale: Tensor[Any],
    y_zero: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
) -> Tensor[B]:
    """Multiply floats by a quantised matrix: they are quantised by their own range first."""
    steps, scale, zero = dynamic_quantize(x)
    return matmul_to_float(steps, y, scale, y_scale, zero, y_zero, bias)


def gemm(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    y: Tensor[Any],
    y_scale: Tensor[Any],
    y_zero: Tensor[Any],
    bias: Tensor[Any] | None = None,
    scale: Tensor[Any] | None = None,
    zero: Tensor[Any] | None = None,
    alpha: float = 1.0,
    transpose_x: bool = False,
    transpose_y: bool = False,
) -> Tensor[B]:
    """Compute `alpha * x @ y + bias` of quantised matrices; without a `scale` for the result it is made of floats."""
    left = x.transpose() if transpose_x else x
    right = y.transpose() if transpose_y else y
    sums: Any = matmul_integer(left, right, _lone(x_zero), _lone(y_zero))
    if bias is not None:
        sums = sums + bias
    factor = _single(x_scale) * _single(y_scale) * alpha
    if scale is None or zero is None:
        return sums.cast(f32) * factor  # type: ignore[no-any-return]
    return requantize(sums, factor / _single(scale), _lone(zero), zero.dtype)


# Weights of few bits


def unpack_bits(x: Tensor[B], bits: int) -> Tensor[B]:
    """Split each byte of the last dim into numbers of `bits` bits, the lowest bits first."""
    if bits not in (1, 2, 4, 8):
        raise ArgumentError(f"unpack_bits: bits must be 1, 2, 4 or 8, got {bits}")
    if bits == 8:
        return x
    count = 8 // bits
    values: Any = x.unsqueeze_dim(len(x.shape)).cast(i32)
    shifts: Any = creation.arange(0, 8, bits, i32, device=x.device)
    parts = values.bitwise_right_shift(shifts).bitwise_and((1 << bits) - 1)
    return parts.cast(x.dtype).reshape((*x.shape[:-1], x.shape[-1] * count))  # type: ignore[no-any-return]


def matmul_packed(
    x: Tensor[B],
    weight: Tensor[Any],
    scales: Tensor[Any],
    zeros: Tensor[Any] | None = None,
    groups: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    *,
    inputs: int,
    outputs: int,
    bits: int = 4,
    block_size: int = 32,
) -> Tensor[B]:
    """Multiply by a weight stored as (outputs, blocks, bytes of a block), each block with a scale and a zero point.

    The zero point is the middle of the range unless `zeros` gives others, packed like the weight or as floats.
    `groups` names the block of each input where that is not its place.
    """
    blocks = -(-inputs // block_size)
    steps: Any = unpack_bits(weight.reshape((outputs, blocks, -1)), bits).cast(f32)
    if steps.shape[-1] != block_size:
        raise ShapeError(
            f"matmul_packed: weight {tuple(weight.shape)} must hold {block_size * bits // 8} bytes for each of "
            f"{outputs} x {blocks} blocks"
        )
    scale = cast_to(scales, f32).reshape((outputs, blocks, 1))
    if zeros is None:
        middle: Any = float(1 << (bits - 1))
    elif zeros.dtype.is_float:
        middle = zeros.cast(f32).reshape((outputs, blocks, 1))
    else:
        middle = unpack_bits(zeros.reshape((outputs, -1)), bits).narrow(1, 0, blocks).cast(f32)
        middle = middle.reshape((outputs, blocks, 1))
    if groups is None:
        matrix = ((steps - middle) * scale).reshape((outputs, blocks * block_size)).narrow(1, 0, inputs)
    else:
        flat = steps.reshape((outputs, blocks * block_size)).narrow(1, 0, inputs)
        chosen = groups.narrow(0, 0, inputs)
        middle = middle if isinstance(middle, float) else middle.reshape((outputs, blocks)).select(1, chosen)
        matrix = (flat - middle) * scale.reshape((outputs, blocks)).select(1, chosen)
    result = x.matmul(cast_to(matrix, x.dtype).transpose())
    return result if bias is None else result + bias


# Elementwise


def rescale(
    x: Tensor[B], x_scale: Tensor[Any], x_zero: Tensor[Any], scale: Tensor[Any], zero: Tensor[Any]
) -> Tensor[B]:
    """The same numbers in steps of another scale and zero point."""
    return _steps(_floats(x, x_scale, x_zero), scale, zero)  # type: ignore[no-any-return]


def _floats(x: Any, scale: Any, zero: Any) -> Any:
    return dequantize_linear(x, _single(scale), _lone(zero), 0)


def _steps(x: Any, scale: Any, zero: Any) -> Any:
    return quantize_linear(x, _single(scale), _lone(zero), 0)


def add(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    y: Tensor[Any],
    y_scale: Tensor[Any],
    y_zero: Tensor[Any],
    scale: Tensor[Any],
    zero: Tensor[Any],
) -> Tensor[B]:
    """Add quantised tensors, broadcasting."""
    left, right = _single(x_scale) / _single(scale), _single(y_scale) / _single(scale)
    shift = _single(zero) - (left * _single(x_zero) + right * _single(y_zero))
    steps = (x.cast(f32) * left + shift + y.cast(f32) * right).round()
    limits = zero.dtype.iinfo()
    return steps.clamp(float(limits.min), float(limits.max)).cast(zero.dtype)  # type: ignore[no-any-return]


def mul(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    y: Tensor[Any],
    y_scale: Tensor[Any],
    y_zero: Tensor[Any],
    scale: Tensor[Any],
    zero: Tensor[Any],
) -> Tensor[B]:
    """Multiply quantised tensors elementwise, broadcasting."""
    product: Any = (x.cast(i32) - _lone(x_zero).cast(i32)) * (y.cast(i32) - _lone(y_zero).cast(i32))
    factor = _single(x_scale) * _single(y_scale) / _single(scale)
    return requantize(product, factor, _lone(zero), zero.dtype)


def sigmoid(
    x: Tensor[B], x_scale: Tensor[Any], x_zero: Tensor[Any], scale: Tensor[Any], zero: Tensor[Any]
) -> Tensor[B]:
    """The sigmoid of quantised numbers."""
    return _steps(activation.sigmoid(_floats(x, x_scale, x_zero)), scale, zero)  # type: ignore[no-any-return]


def leaky_relu(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    scale: Tensor[Any],
    zero: Tensor[Any],
    negative_slope: float = 0.01,
) -> Tensor[B]:
    """Multiply the negative ones among quantised numbers by `negative_slope`."""
    return _steps(activation.leaky_relu(_floats(x, x_scale, x_zero), negative_slope), scale, zero)  # type: ignore[no-any-return]


def softmax(
    x: Tensor[B], x_scale: Tensor[Any], x_zero: Tensor[Any], scale: Tensor[Any], zero: Tensor[Any], dim: int = -1
) -> Tensor[B]:
    """The softmax of quantised numbers along `dim`."""
    return _steps(_floats(x, x_scale, x_zero).softmax(dim), scale, zero)  # type: ignore[no-any-return]


def global_average_pool(
    x: Tensor[B],
    x_scale: Tensor[Any],
    x_zero: Tensor[Any],
    scale: Tensor[Any],
    zero: Tensor[Any],
    channels_last: bool = False,
) -> Tensor[B]:
    """The mean of each channel of quantised numbers; the dims it is taken over keep size 1."""
    rank = len(x.shape)
    dims = range(1, rank - 1) if channels_last else range(2, rank)
    count = math.prod(x.shape[dim] for dim in dims)
    sums: Any = (x.cast(i32) - _lone(x_zero).cast(i32)).sum_dims(dims)
    return requantize(sums, _single(x_scale) / (_single(scale) * float(count)), _lone(zero), zero.dtype)


_ROUNDINGS = {
    "ROUND": lambda x: x.round(),
    "HALF_EVEN": lambda x: x.round(),
    "FLOOR": lambda x: x.floor(),
    "CEIL": lambda x: x.ceil(),
    "ROUND_TO_ZERO": lambda x: x.trunc(),
    "DOWN": lambda x: x.trunc(),
    "UP": lambda x: x.sign() * x.abs().ceil(),
    "HALF_UP": lambda x: x.sign() * (x.abs() + 0.5).floor(),
    "HALF_DOWN": lambda x: x.sign() * (x.abs() - 0.5).ceil(),
}


def fake_quantize(
    x: Tensor[B],
    scale: Tensor[Any],
    zero: Tensor[Any],
    bits: Tensor[Any],
    signed: bool = True,
    narrow: bool = False,
    rounding: str = "ROUND",
) -> Tensor[B]:
    """The floats that steps of a scale can hold in `bits` bits, a tensor; `narrow` leaves out the lowest of them."""
    if rounding.upper() not in _ROUNDINGS:
        raise ArgumentError(f"fake_quantize: rounding must be one of {', '.join(_ROUNDINGS)}, got {rounding!r}")
    width: Any = bits - 1.0 if signed else bits
    span: Any = arithmetic.pow(2.0, width)
    low = (span.neg() if signed else span * 0.0) + (1.0 if narrow and signed else 0.0)
    high = span - (2.0 if narrow and not signed else 1.0)
    steps = x / scale + zero
    steps = steps.clamp_min(low).clamp_max(high)
    return (_ROUNDINGS[rounding.upper()](steps) - zero) * scale  # type: ignore[no-any-return]


# Recurrent


def dynamic_lstm(
    x: Tensor[B],
    weight: Tensor[Any],
    recurrence: Tensor[Any],
    bias: Tensor[Any] | None,
    lengths: Tensor[Any] | None,
    hidden: Tensor[Any] | None,
    cell: Tensor[Any] | None,
    peepholes: Tensor[Any] | None,
    weight_scale: Tensor[Any],
    weight_zero: Tensor[Any],
    recurrence_scale: Tensor[Any],
    recurrence_zero: Tensor[Any],
    *,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    alpha: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
    clip: float | None = None,
    input_forget: bool = False,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """`recurrent.lstm` with quantised weights, which lie (directions, inputs, 4 * hidden), one scale for each
    direction or for each of its columns. Inputs, and states at every step, are quantised by their own range.
    """

    def product(matrix: Any, scale: Any, zero: Any, number: int) -> Any:
        def row(value: Any) -> Any:
            return value.narrow(0, number, 1).squeeze_dim(0)

        own, steps, shift = row(matrix), row(scale), row(zero)
        return lambda values: dynamic_matmul(values, own, steps, shift)

    projections = [
        (product(weight, weight_scale, weight_zero, number),
         product(recurrence, recurrence_scale, recurrence_zero, number))
        for number in range(weight.shape[0])
    ]  # fmt: skip
    return run_lstm(
        x, projections, recurrence.shape[1], bias, lengths, hidden, cell, peepholes, direction=direction,
        activations=activations, alpha=alpha, beta=beta, clip=clip, input_forget=input_forget, batch_first=False,
    )  # fmt: skip
