"""The bits of numbers: the same bits read as another dtype, and conversions into formats of few bits.

`cast` gives what a float format has for numbers beyond its range: infinity, or NaN. Stored weights and
activations are better served by the largest number, which is what `cast_saturating` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import dtype as as_dtype
from burn.dtype import f8e8m0, f32, i32, u8
from burn.errors import ArgumentError, DTypeError
from burn.ops.convert import convert_array
from burn.ops.declare import composite, primitive
from burn.ops.dispatch import cast_to
from burn.ops.op import Op

if TYPE_CHECKING:
    from burn.dtype import DTypeLike
    from burn.ops.declare import B
    from burn.tensor import Tensor

ROUNDINGS = ("nearest", "up", "down")


def _bitcast_rule(op: Op, x: Any, dtype: Any) -> Any:
    target = as_dtype(dtype)
    if target.bits != x.dtype.bits:
        raise DTypeError(
            f"{op.name}: {x.dtype} has {x.dtype.bits} bits and {target} has {target.bits}; "
            f"choose a dtype of {x.dtype.bits} bits"
        )
    return x.shape, target, (target,)


@primitive(rule=_bitcast_rule, reference=lambda x, dtype: np.asarray(x).view(dtype.numpy))
def bitcast(x: Tensor[B], dtype: DTypeLike) -> Tensor[B]:
    """Read the bits of each element as a number of another dtype of the same width.

    >>> burn.tensor([1.0, -2.0]).bitcast("u32").tolist()
    [1065353216, 3221225472]
    """
    ...


def _saturating_rule(op: Op, x: Any, dtype: Any, rounding: Any) -> Any:
    if rounding not in ROUNDINGS:
        raise ArgumentError(f"{op.name}: rounding must be one of {', '.join(ROUNDINGS)}, got {rounding!r}")
    return x.shape, as_dtype(dtype), (as_dtype(dtype), rounding)


def _saturating(x: Any, dtype: Any, rounding: str = "nearest") -> Any:
    target = as_dtype(dtype)
    x = np.asarray(x)
    if not as_dtype(x.dtype).is_float or not target.is_float or target.is_arithmetic:
        return convert_array(x, target)
    wide = convert_array(x, f32)
    if target is not f8e8m0:
        limits = target.finfo()
        return convert_array(np.clip(wide, limits.min, limits.max), target)
    mantissa, exponent = np.frexp(np.abs(wide))
    # frexp gives 0.5 <= mantissa < 1: the power of two below is exponent - 1
    above = {"up": mantissa > 0.5, "down": False, "nearest": mantissa >= 0.75}[rounding]
    power = np.where(wide == 0, -127, np.clip(exponent - 1 + above, -127, 127))
    return np.where(np.isfinite(wide), power + 127, 255).astype(np.uint8).view(target.numpy)


def _power_of_two(x: Any, rounding: str) -> Any:
    """The exponents of f32 numbers as an f8e8m0, which holds nothing else."""
    bits = x.bitcast(i32)
    exponent = bits.bitwise_right_shift(23).bitwise_and(0xFF)
    fraction = bits.bitwise_and(0x7FFFFF)
    finite = exponent != 0xFF
    if rounding == "up":
        exponent = exponent + (fraction > 0).cast(i32)
    elif rounding == "nearest":
        # halves go up, as the even neighbour of a power of two cannot be told
        half = fraction.bitwise_and(0x400000) > 0
        more = (fraction.bitwise_and(0x3FFFFF) > 0) | (exponent > 0)
        exponent = exponent + (half & more).cast(i32)
    exponent = exponent.clamp_max(0xFE).mask_fill(finite.bool_not(), 0xFF)
    return exponent.cast(u8).bitcast(f8e8m0)


@composite(rule=_saturating_rule, reference=_saturating)
def cast_saturating(x: Tensor[B], dtype: DTypeLike, rounding: str = "nearest") -> Tensor[B]:
    """Convert to another dtype; what lies beyond a small float format becomes its largest number.

    Arguments:
        rounding: "nearest", "up" or "down", for the powers of two of `f8e8m0`.

    >>> burn.tensor([1.0, 1000.0]).cast_saturating("f8e4m3fn").float().tolist()
    [1.0, 448.0]
    """
    target: Any = dtype
    if not x.dtype.is_float or not target.is_float or target.is_arithmetic:
        return cast_to(x, target)
    if target is f8e8m0:
        return _power_of_two(cast_to(x, f32), rounding)  # type: ignore[no-any-return]
    limits = target.finfo()
    wide: Any = cast_to(x, f32)
    return wide.clamp(limits.min, limits.max).cast(target)  # type: ignore[no-any-return]
