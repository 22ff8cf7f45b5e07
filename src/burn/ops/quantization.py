"""Quantisation: floats as small integers times a scale, and back.

Integers, scales and zero points are operands of their own, never one packed value, so that a row that computes
with integers takes the same tensors as these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.convert import convert_array
from burn.ops.declare import composite
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.ops.reduce import widened
from burn.shape import as_ints, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _check_scale(op: Op, x: Any, scale: Any, zero: Any) -> None:
    for name, each in (("scale", scale), ("zero", zero)):
        if each is None:
            continue
        if broadcast(op.name, x.shape, each.shape) != x.shape:
            raise ShapeError(f"{op.name}: {name} of shape {tuple(each.shape)} does not fit {tuple(x.shape)}")
    if not scale.dtype.is_float:
        raise DTypeError(f"{op.name}: scale must be a float tensor, got {scale.dtype}; convert it with .float()")
    if zero is not None and not zero.dtype.is_int:
        raise DTypeError(f"{op.name}: zero must be an int tensor, got {zero.dtype}; convert it with .int()")


def _quantize_rule(op: Op, x: Any, scale: Any, zero: Any, low: Any, high: Any, dtype: Any) -> Any:
    target = as_dtype(dtype)
    if not x.dtype.is_float:
        raise DTypeError(f"{op.name}: needs a float tensor, got {x.dtype}; convert it with .float()")
    if not target.is_int or not target.is_arithmetic:
        raise DTypeError(f"{op.name}: dtype must be an integer dtype such as i8, got {target}")
    _check_scale(op, x, scale, zero)
    first, last = (*as_ints(op.name, "low", low), *as_ints(op.name, "high", high))
    limits = target.iinfo()
    if not limits.min <= first <= last <= limits.max:
        raise ArgumentError(
            f"{op.name}: the range from {first} to {last} must lie inside that of {target}, "
            f"{limits.min} to {limits.max}"
        )
    return x.shape, target, (first, last, target)


def _rounded(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    """The steps of an array, in floats, and the zero point."""
    wide = x.astype(scale.dtype) if x.dtype != np.float64 else x
    shift = 0 if zero is None else zero.astype(wide.dtype)
    return np.clip(np.rint(wide / scale) + shift, low, high), shift


def _quantize(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any) -> Any:
    return convert_array(_rounded(x, scale, zero, low, high)[0], as_dtype(dtype))


def _steps(x: Any, scale: Any, zero: Any) -> Any:
    steps = (widened(x) / scale).round()
    return steps if zero is None else steps + zero.cast(steps.dtype)


@composite(rule=_quantize_rule, reference=_quantize)
def quantize(
    x: Tensor[B],
    scale: Tensor[Any],
    zero: Tensor[Any] | None = None,
    low: int = -127,
    high: int = 127,
    dtype: Any = "i8",
) -> Tensor[B]:
    """Round `x / scale + zero` to an integer between `low` and `high`. NaN becomes 0."""
    return _steps(x, scale, zero).clamp(float(low), float(high)).cast(dtype)  # type: ignore[no-any-return]


def _dequantize_rule(op: Op, x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    target = scale.dtype if dtype is None else as_dtype(dtype)
    if not x.dtype.is_int:
        raise DTypeError(f"{op.name}: needs an int tensor, got {x.dtype}")
    _check_scale(op, x, scale, zero)
    if not target.is_float or not target.is_arithmetic:
        raise DTypeError(f"{op.name}: dtype must be a float dtype such as f32, got {target}")
    return x.shape, target, (target,)


def _dequantize(x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    steps = x.astype(scale.dtype) - (0 if zero is None else zero.astype(scale.dtype))
    return convert_array(steps * scale, as_dtype(scale.dtype if dtype is None else dtype))


@composite(rule=_dequantize_rule, reference=_dequantize)
def dequantize(x: Tensor[B], scale: Tensor[Any], zero: Tensor[Any] | None = None, dtype: Any = None) -> Tensor[B]:
    """Compute `(x - zero) * scale` in the dtype of the scale, then convert to `dtype`."""
    steps = x.cast(scale.dtype)
    if zero is not None:
        steps = steps - zero.cast(scale.dtype)
    return cast_to(steps * scale, dtype)


def _fake_rule(op: Op, x: Any, scale: Any, zero: Any, low: Any, high: Any) -> Any:
    _, _, (first, last, _) = _quantize_rule(op, x, scale, zero, low, high, "i32")
    return x.shape, x.dtype, (first, last)


def _fake(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    steps, shift = _rounded(x, scale, zero, low, high)
    return ((steps - shift) * scale).astype(x.dtype)


def _straight_through(g: Any, x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    steps = _steps(x, scale, zero)
    return g.mask_fill((steps < float(low)) | (steps > float(high)), 0.0)


@composite(rule=_fake_rule, reference=_fake, vjp=dict(x=_straight_through))
def fake_quantize(
    x: Tensor[B], scale: Tensor[Any], zero: Tensor[Any] | None = None, low: int = -127, high: int = 127
) -> Tensor[B]:
    """Compute what `dequantize` makes of `quantize`. The gradient passes as if nothing was rounded, 0 where cut off."""
    steps = _steps(x, scale, zero).clamp(float(low), float(high))
    if zero is not None:
        steps = steps - zero.cast(steps.dtype)
    return cast_to(steps * scale, x.dtype)
