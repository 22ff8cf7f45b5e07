"""Quantisation as exchange formats describe it: scales and zero points for all elements, a dim, or blocks.

`quantize` and `dequantize` take a scale that broadcasts. Here a scale of one dim belongs to the sizes of
`dim`, and with a `block_size` each of its entries serves that many neighbours along `dim`. Besides integers
the results are the small float formats, whose zero point is 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import DType, f32, i32, u8
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.bits import _saturating, cast_saturating
from burn.ops.convert import convert_array
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.dispatch import cast_to
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.shape import Shape, axis, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _optional(dtype: Any) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


def _check_steps(op: Op, x: Any, scale: Any, zero: Any, dim: Any, block_size: Any) -> tuple[int, int]:
    """Check scale and zero point against `x`; give back the dim they belong to and the block size."""
    block = whole(op.name, "block_size", block_size)
    if block < 0:
        raise ArgumentError(f"{op.name}: block_size must be 0 (none) or more, got {block}")
    if not scale.dtype.is_float:
        raise DTypeError(f"{op.name}: scale must be a float tensor, got {scale.dtype}; convert it with .float()")
    along = dim if math.prod(scale.shape) == 1 and not block else axis(op.name, dim, len(x.shape))
    for name, each in (("scale", scale), ("zero", zero)):
        if each is None or math.prod(each.shape) == 1:
            continue
        if block:
            expected = x.shape.with_dim(along, -(-x.shape[along] // block))
        else:
            expected = Shape((x.shape[along],))
        if each.shape != expected:
            raise ShapeError(
                f"{op.name}: {name} must have the shape {tuple(expected)} for x {tuple(x.shape)} along dim {dim}, "
                f"got {tuple(each.shape)}"
            )
    return (along if isinstance(along, int) else 0), block


def _spread(value: Any, shape: Any, dim: int, block: int) -> Any:
    """A scale or zero point shaped to broadcast over `x`."""
    if math.prod(value.shape) == 1:
        return value.reshape(())
    if not block:
        return value.reshape(tuple(value.shape[0] if each == dim else 1 for each in range(len(shape))))
    sizes = (*value.shape[: dim + 1], 1, *value.shape[dim + 1 :])
    wide = (*value.shape[: dim + 1], block, *value.shape[dim + 1 :])
    whole_blocks = (*value.shape[:dim], value.shape[dim] * block, *value.shape[dim + 1 :])
    if isinstance(value, np.ndarray):
        spread = np.broadcast_to(value.reshape(sizes), wide).reshape(whole_blocks)
        return spread[(slice(None),) * dim + (slice(shape[dim]),)]
    spread = value.reshape(sizes).expand(wide).reshape(whole_blocks)
    return spread if spread.shape == shape else spread.narrow(dim, 0, shape[dim])


# Floats to steps


def _quantize_rule(
    op: Op, x: Any, scale: Any, zero: Any, dim: Any, block_size: Any, dtype: Any, saturate: Any, precision: Any
) -> Any:
    along, block = _check_steps(op, x, scale, zero, dim, block_size)
    target = _optional(dtype) or (u8 if zero is None else zero.dtype)
    if zero is not None and zero.dtype is not target:
        raise DTypeError(f"{op.name}: zero is {zero.dtype} and dtype is {target}; they must be the same")
    if target.is_bool or (target.is_float and target.is_arithmetic):
        raise DTypeError(f"{op.name}: dtype must be an integer or a small float format, got {target}")
    if x.dtype.is_bool or not x.dtype.is_arithmetic:
        raise DTypeError(f"{op.name}: needs a float tensor, got {x.dtype}; convert it with .float()")
    return x.shape, target, (along, block, target, bool(saturate), _optional(precision))


def _ratio(x: Any, scale: Any, precision: DType | None) -> Any:
    """`x / scale`, computed in f32 at least."""
    if precision is not None:
        x, scale = cast_to(x, precision), cast_to(scale, precision)
        return cast_to(x / scale, f32)
    wide = f32 if scale.dtype.bits < 32 or not scale.dtype.is_arithmetic else scale.dtype
    return cast_to(x, wide) / cast_to(scale, wide)


def _quantize(
    x: Any, scale: Any, zero: Any = None, dim: int = 1, block_size: int = 0, dtype: Any = None,
    saturate: bool = True, precision: Any = None,
) -> Any:  # fmt: skip
    target = _optional(dtype) or (u8 if zero is None else as_dtype(zero.dtype))
    dim = dim % max(x.ndim, 1)
    wide = (
        as_dtype(precision).numpy if precision is not None else np.float64 if scale.dtype == np.float64 else np.float32
    )
    steps = x.astype(wide) / _spread(scale, x.shape, dim, block_size).astype(wide)
    if target.is_float:
        return _saturating(steps, target) if saturate else convert_array(steps, target)
    steps = np.rint(steps.astype(np.float64))
    steps = steps if zero is None else steps + _spread(zero, x.shape, dim, block_size).astype(np.float64)
    return convert_array(np.clip(steps, *target.iinfo()), target)


@composite(rule=_quantize_rule, reference=_quantize)
def quantize_linear(
    x: Tensor[B],
    scale: Tensor[Any],
    zero: Tensor[Any] | None = None,
    dim: int = 1,
    block_size: int = 0,
    dtype: Any = None,
    saturate: bool = True,
    precision: Any = None,
) -> Tensor[B]:
    """Round `x / scale + zero` into `dtype` (that of `zero`, or u8), which may be a small float format.

    Without `saturate` what lies beyond a float format becomes its infinity or NaN. `precision` is the dtype in
    which the quotient is computed.
    """
    target: DType = dtype
    steps = _ratio(x, _spread(scale, x.shape, dim, block_size), precision)
    if target.is_float:
        return cast_saturating(steps, target) if saturate else cast_to(steps, target)
    steps = steps.round()
    if zero is not None:
        steps = steps + _spread(zero, x.shape, dim, block_size).cast(steps.dtype)
    limits = target.iinfo()
    return steps.clamp(float(limits.min), float(limits.max)).cast(target)  # type: ignore[no-any-return]


# Steps to floats


def _dequantize_rule(op: Op, x: Any, scale: Any, zero: Any, dim: Any, block_size: Any, dtype: Any) -> Any:
    along, block = _check_steps(op, x, scale, zero, dim, block_size)
    if x.dtype.is_bool:
        raise DTypeError(f"{op.name}: needs an int or a small float tensor, got {x.dtype}")
    target = _optional(dtype) or scale.dtype
    if not target.is_float:
        raise DTypeError(f"{op.name}: dtype must be a float dtype such as f32, got {target}")
    return x.shape, target, (along, block, target)


def _dequantize(x: Any, scale: Any, zero: Any = None, dim: int = 1, block_size: int = 0, dtype: Any = None) -> Any:
    dim = dim % max(x.ndim, 1)
    target = _optional(dtype) or as_dtype(scale.dtype)
    wide = np.float64 if scale.dtype == np.float64 else np.float32
    if as_dtype(x.dtype).is_float or zero is None:
        steps = convert_array(x, as_dtype(wide))
    else:
        steps = (x.astype(np.int64) - _spread(zero, x.shape, dim, block_size).astype(np.int64)).astype(wide)
    return convert_array(
        np.asarray(steps * convert_array(_spread(scale, x.shape, dim, block_size), as_dtype(wide))), target
    )


@composite(rule=_dequantize_rule, reference=_dequantize)
def dequantize_linear(
    x: Tensor[B],
    scale: Tensor[Any],
    zero: Tensor[Any] | None = None,
    dim: int = 1,
    block_size: int = 0,
    dtype: Any = None,
) -> Tensor[B]:
    """Compute `(x - zero) * scale` in f32 at least, and convert to `dtype` (that of the scale)."""
    wide = f32 if scale.dtype.bits < 32 else scale.dtype
    if zero is None or x.dtype.is_float:
        steps: Any = cast_to(x, wide)
    else:
        steps = (cast_to(x, i32) - cast_to(_spread(zero, x.shape, dim, block_size), i32)).cast(wide)
    return cast_to(steps * cast_to(_spread(scale, x.shape, dim, block_size), wide), dtype)


# Scales found on the way


def _dynamic_rule(op: Op, x: Any) -> Any:
    if not math.prod(x.shape):
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has no elements to take a range of")
    return [x.shape, Shape(()), Shape(())], [u8, x.dtype, u8], ()


def _dynamic(x: Any) -> Any:
    high, low = np.maximum(x.max(), 0), np.minimum(x.min(), 0)
    scale = np.asarray(np.where(high == low, 1, high - low) / x.dtype.type(255), x.dtype)
    zero = np.clip(np.rint(0 - low / scale), 0, 255)
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8), scale, np.asarray(zero, np.uint8)


@composite(rule=_dynamic_rule, prepare=prepared(only_floats), reference=_dynamic, outputs=3)
def dynamic_quantize(x: Tensor[B]) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Quantise to u8 by the range of `x`, widened to hold 0; scale and zero point are given back too."""
    every = range(len(x.shape))
    high = x.max_dims(every).reshape(()).clamp_min(0.0)
    low = x.min_dims(every).reshape(()).clamp_max(0.0)
    span = high - low
    scale = span.mask_fill(span == 0.0, 1.0) / 255.0
    zero = (low / scale).neg().round().clamp(0.0, 255.0)
    steps = ((x / scale).round() + zero).clamp(0.0, 255.0)
    return steps.cast(u8), scale, zero.cast(u8)


# Sums to steps


def _requantize_rule(op: Op, x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    target = _optional(dtype) or (u8 if zero is None else zero.dtype)
    if x.dtype is not i32:
        raise DTypeError(f"{op.name}: needs an i32 tensor, got {x.dtype}; cast it first")
    if not scale.dtype.is_float:
        raise DTypeError(f"{op.name}: scale must be a float tensor, got {scale.dtype}; convert it with .float()")
    if not target.is_int:
        raise DTypeError(f"{op.name}: dtype must be an integer dtype such as u8, got {target}")
    for name, each in (("scale", scale), ("zero", zero)):
        if each is not None and broadcast(op.name, x.shape, each.shape) != x.shape:
            raise ShapeError(f"{op.name}: {name} of shape {tuple(each.shape)} does not fit {tuple(x.shape)}")
    return x.shape, target, (target,)


def _requantize(x: Any, scale: Any, zero: Any = None, dtype: Any = None) -> Any:
    target = _optional(dtype) or (u8 if zero is None else as_dtype(zero.dtype))
    steps = np.rint(x.astype(np.float32) * scale.astype(np.float32))
    steps = steps if zero is None else steps + zero.astype(np.float32)
    return convert_array(np.clip(steps, *target.iinfo()), target)


@composite(rule=_requantize_rule, reference=_requantize)
def requantize(x: Tensor[B], scale: Tensor[Any], zero: Tensor[Any] | None = None, dtype: Any = None) -> Tensor[B]:
    """Bring sums of integer products to steps of another size: round `x * scale` in f32 and add `zero`."""
    target: DType = dtype
    steps = (x.cast(f32) * cast_to(scale, f32)).round()
    if zero is not None:
        steps = steps + zero.cast(f32)
    limits = target.iinfo()
    return steps.clamp(float(limits.min), float(limits.max)).cast(target)
