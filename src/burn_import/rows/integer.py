"""Products of small integers, summed exactly: the arithmetic of quantised models.

A zero point is what stands for 0: it is taken away before the product. Sums are i32. The bodies
compute in floats, piece by piece, each piece short enough that no sum is rounded: a float product is
many times faster than an integer one where a device has no kernel of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import DType, f32, f64, i8, i32, u8
from burn.errors import DTypeError, ShapeError
from burn.ops.convolution import conv, geometry
from burn.ops.declare import composite
from burn.ops.linalg import _product_shape
from burn.ops.op import Op
from burn.ops.windows import windows
from burn.shape import Shape, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

EXACT = 2**24
"""Up to here f32 holds every integer."""


def _check_bytes(op: Op, **operands: Any) -> None:
    for name, each in operands.items():
        if each is not None and each.dtype not in (i8, u8):
            raise DTypeError(f"{op.name}: {name} must be an i8 or u8 tensor, got {each.dtype}; cast it first")


def _piece(x: DType, y: DType, x_zero: Any, y_zero: Any) -> int:
    """How many products of two bytes f32 sums exactly."""
    reach = [255 if zero is not None or dtype is u8 else 128 for dtype, zero in ((x, x_zero), (y, y_zero))]
    return EXACT // (reach[0] * reach[1])


def _shifted(x: Any, zero: Any, dtype: DType) -> Any:
    values = x.cast(dtype)
    return values if zero is None else values - zero.cast(dtype)


# Matrices


def _check_zero(op: Op, name: str, zero: Any, length: int, shape: tuple[int, ...]) -> None:
    if zero is not None and math.prod(zero.shape) not in (1, length):
        raise ShapeError(
            f"{op.name}: {name} of shape {tuple(zero.shape)} must hold one number, or {length} for {tuple(shape)}"
        )


def _matmul_rule(op: Op, x: Any, y: Any, x_zero: Any, y_zero: Any) -> Any:
    _check_bytes(op, x=x, y=y, x_zero=x_zero, y_zero=y_zero)
    shape = _product_shape(op.name, x.shape, y.shape)
    for name, zero, value, dim, summed in (("x_zero", x_zero, x, -2, -1), ("y_zero", y_zero, y, -1, -2)):
        if zero is None or len(zero.shape) < 2:
            _check_zero(op, name, zero, value.shape[dim], value.shape)
        elif zero.shape[summed] != 1 or broadcast(op.name, zero.shape, value.shape) != value.shape:
            raise ShapeError(
                f"{op.name}: {name} of shape {tuple(zero.shape)} must broadcast to {tuple(value.shape)} "
                f"with size 1 at dim {summed}, along which products are summed"
            )
    return shape, i32, ()


def _along(zero: Any, last: bool) -> Any:
    """A zero point for each row, or for each column, shaped to broadcast over matrices."""
    if zero is None or len(zero.shape) > 1:
        return zero
    count = math.prod(zero.shape)
    return zero.reshape((1, count) if last else (count, 1))


def _matmul(x: Any, y: Any, x_zero: Any = None, y_zero: Any = None) -> Any:
    left, right = x.astype(np.int32), y.astype(np.int32)
    left = left if x_zero is None else left - _along(x_zero, False).astype(np.int32)
    right = right if y_zero is None else right - _along(y_zero, True).astype(np.int32)
    return np.matmul(left, right)


@composite(rule=_matmul_rule, reference=_matmul, bound="compute")
def matmul_integer(
    x: Tensor[B], y: Tensor[Any], x_zero: Tensor[Any] | None = None, y_zero: Tensor[Any] | None = None
) -> Tensor[B]:
    """Multiply matrices of bytes and sum in i32; zero points are one for all, for each row of `x` or column of `y`."""
    left = _shifted(x, _along(x_zero, False), f32)
    right = _shifted(y, _along(y_zero, True), f32)
    length, piece = x.shape[-1], _piece(x.dtype, y.dtype, x_zero, y_zero)
    total: Any = None
    for start in range(0, max(length, 1), piece):
        count = min(piece, length - start)
        if count == length:
            part = left.matmul(right)
        else:
            part = left.narrow(-1, start, count).matmul(right.narrow(-2, start, count))
        part = part.cast(i32)
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


# Convolution


def _conv_rule(
    op: Op, x: Any, weight: Any, x_zero: Any, weight_zero: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    _check_bytes(op, x=x, weight=weight, x_zero=x_zero, weight_zero=weight_zero)
    shape, settings = geometry(op.name, x.shape, weight.shape, stride, padding, dilation, groups)
    _check_zero(op, "x_zero", x_zero, 1, x.shape)
    _check_zero(op, "weight_zero", weight_zero, weight.shape[0], weight.shape)
    return Shape(shape), i32, settings


def _as_kernels(zero: Any, rank: int) -> Any:
    return None if zero is None else zero.reshape((math.prod(zero.shape),) + (1,) * (rank - 1))


def _conv(
    x: Any, weight: Any, x_zero: Any = None, weight_zero: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    _, (steps, pads, holes, parts) = geometry("conv_integer", x.shape, weight.shape, stride, padding, dilation, groups)
    rank = weight.ndim
    left = x.astype(np.int64) - (0 if x_zero is None else x_zero.astype(np.int64).reshape(()))
    kernels = _as_kernels(weight_zero, rank)
    right = weight.astype(np.int64) - (0 if kernels is None else kernels.astype(np.int64))
    canvas = np.pad(left, ((0, 0), (0, 0), *pads))
    views = windows(canvas, weight.shape[2:], steps, holes)
    spatial = views.ndim - 2 - (rank - 2)
    views = views.reshape(views.shape[0], parts, -1, *views.shape[2:])
    right = right.reshape(parts, -1, *right.shape[1:])
    places, kernel = "tuv"[:spatial], "ijk"[: rank - 2]
    out = np.einsum(f"ngc{places}{kernel},goc{kernel}->ngo{places}", views, right)
    return out.reshape(out.shape[0], -1, *out.shape[3:]).astype(np.int32)


@composite(rule=_conv_rule, reference=_conv, bound="compute")
def conv_integer(
    x: Tensor[B],
    weight: Tensor[Any],
    x_zero: Tensor[Any] | None = None,
    weight_zero: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Convolve bytes and sum in i32; the padding stands for 0, and weights may have a zero point for each output."""
    taps = max(math.prod(weight.shape[2:]), 1)
    channels = weight.shape[1]
    piece = _piece(x.dtype, weight.dtype, x_zero, weight_zero) // taps
    zero = None if x_zero is None else x_zero.reshape((1,) * len(x.shape))
    kernels = _as_kernels(weight_zero, len(weight.shape))
    settings = (stride, padding, dilation, groups)
    if channels <= piece or groups > 1 or piece == 0:
        exact = f32 if channels <= piece else f64
        return conv(_shifted(x, zero, exact), _shifted(weight, kernels, exact), *settings).cast(i32)
    left, right = _shifted(x, zero, f32), _shifted(weight, kernels, f32)
    total: Any = None
    for start in range(0, channels, piece):
        count = min(piece, channels - start)
        part = conv(left.narrow(1, start, count), right.narrow(1, start, count), *settings).cast(i32)
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]
