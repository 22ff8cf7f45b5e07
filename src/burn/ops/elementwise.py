"""Elementwise arithmetic, functions of one number, choice and conversion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import FLOATS, bool_
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError
from burn.ops import elements, logic
from burn.ops import references as reference
from burn.ops.declare import (
    anything,
    binary,
    composite,
    floating,
    numeric,
    only_floats,
    primitive,
    unary,
)
from burn.ops.dispatch import broadcast_rule, filling, promoted
from burn.ops.op import Op

if TYPE_CHECKING:
    from burn.ops.declare import B, Operand
    from burn.tensor import Tensor

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

# Functions of one number


@unary(dtype=floating, element=lambda b, x: b.exp(x), costly=True, reference=np.exp, vjp=dict(x=lambda g, out: g * out))
def exp(x: Tensor[B]) -> Tensor[B]:
    """Raise e to the power of each element."""
    ...


@unary(dtype=floating, element=lambda b, x: b.log(x), costly=True, reference=np.log, vjp=dict(x=lambda g, x: g / x))
def log(x: Tensor[B]) -> Tensor[B]:
    """Take the natural logarithm of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.log1p(x),
    costly=True,
    reference=np.log1p,
    vjp=dict(x=lambda g, x: g / (x + 1.0)),
)
def log1p(x: Tensor[B]) -> Tensor[B]:
    """Compute `log(1 + x)`, exact near zero."""
    ...


@unary(dtype=floating, element=lambda b, x: b.sqrt(x), reference=np.sqrt, vjp=dict(x=lambda g, out: g / (out * 2.0)))
def sqrt(x: Tensor[B]) -> Tensor[B]:
    """Take the square root of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.const(x.dtype, 1.0) / x,
    reference=reference.recip,
    vjp=dict(x=lambda g, out: -g * out * out),
)
def recip(x: Tensor[B]) -> Tensor[B]:
    """Compute `1 / x`."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.erf(x),
    costly=True,
    reference=reference.erf,
    vjp=dict(x=lambda g, x: g * ((x * x).neg().exp() * TWO_OVER_SQRT_PI)),
)
def erf(x: Tensor[B]) -> Tensor[B]:
    """Compute the error function of each element."""
    ...


@unary(
    dtype=floating, element=lambda b, x: b.sin(x), costly=True, reference=np.sin, vjp=dict(x=lambda g, x: g * x.cos())
)
def sin(x: Tensor[B]) -> Tensor[B]:
    """Take the sine of each element."""
    ...


@unary(
    dtype=floating, element=lambda b, x: b.cos(x), costly=True, reference=np.cos, vjp=dict(x=lambda g, x: -g * x.sin())
)
def cos(x: Tensor[B]) -> Tensor[B]:
    """Take the cosine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.tan(x),
    costly=True,
    reference=np.tan,
    vjp=dict(x=lambda g, out: g * (out * out + 1.0)),
)
def tan(x: Tensor[B]) -> Tensor[B]:
    """Take the tangent of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.sinh(x),
    costly=True,
    reference=np.sinh,
    vjp=dict(x=lambda g, x: g * x.cosh()),
)
def sinh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic sine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.cosh(x),
    costly=True,
    reference=np.cosh,
    vjp=dict(x=lambda g, x: g * x.sinh()),
)
def cosh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic cosine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.tanh(x),
    costly=True,
    reference=np.tanh,
    vjp=dict(x=lambda g, out: g * (1.0 - out * out)),
)
def tanh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic tangent of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.asin(x),
    costly=True,
    reference=np.arcsin,
    vjp=dict(x=lambda g, x: g / (1.0 - x * x).sqrt()),
)
def asin(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse sine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.acos(x),
    costly=True,
    reference=np.arccos,
    vjp=dict(x=lambda g, x: -g / (1.0 - x * x).sqrt()),
)
def acos(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse cosine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.atan(x),
    costly=True,
    reference=np.arctan,
    vjp=dict(x=lambda g, x: g / (x * x + 1.0)),
)
def atan(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse tangent of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.asinh(x),
    costly=True,
    reference=np.arcsinh,
    vjp=dict(x=lambda g, x: g / (x * x + 1.0).sqrt()),
)
def asinh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic sine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.acosh(x),
    costly=True,
    reference=np.arccosh,
    vjp=dict(x=lambda g, x: g / ((x - 1.0).sqrt() * (x + 1.0).sqrt())),
)
def acosh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic cosine of each element."""
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.atanh(x),
    costly=True,
    reference=np.arctanh,
    vjp=dict(x=lambda g, x: g / (1.0 - x * x)),
)
def atanh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic tangent of each element."""
    ...


@unary(
    dtype=numeric, element=lambda b, x: b.abs(x), reference=reference.absolute, vjp=dict(x=lambda g, x: g * x.sign())
)
def abs(x: Tensor[B]) -> Tensor[B]:
    """Take the absolute value of each element; the smallest integer stays as it is."""
    ...


@unary(dtype=numeric, element=lambda b, x: b.neg(x), reference=np.negative, vjp=dict(x=lambda g: -g))
def neg(x: Tensor[B]) -> Tensor[B]:
    """Negate each element."""
    ...


@unary(dtype=numeric, element=elements.sign, reference=reference.sign, vjp=dict(x=lambda g: g.zeros_like()))
def sign(x: Tensor[B]) -> Tensor[B]:
    """Give -1, 0 or 1 by the sign of each element."""
    ...


@unary(
    dtype=numeric, element=elements.whole_or("floor"), reference=reference.floor, vjp=dict(x=lambda g: g.zeros_like())
)
def floor(x: Tensor[B]) -> Tensor[B]:
    """Round down."""
    ...


@unary(dtype=numeric, element=elements.whole_or("ceil"), reference=reference.ceil, vjp=dict(x=lambda g: g.zeros_like()))
def ceil(x: Tensor[B]) -> Tensor[B]:
    """Round up."""
    ...


@unary(
    dtype=numeric, element=elements.whole_or("rint"), reference=reference.round, vjp=dict(x=lambda g: g.zeros_like())
)
def round(x: Tensor[B]) -> Tensor[B]:
    """Round to the nearest integer, halves to the even one."""
    ...


@unary(
    dtype=numeric, element=elements.whole_or("trunc"), reference=reference.trunc, vjp=dict(x=lambda g: g.zeros_like())
)
def trunc(x: Tensor[B]) -> Tensor[B]:
    """Round towards zero."""
    ...


@composite(reference=np.square)
def square(x: Tensor[B]) -> Tensor[B]:
    """Multiply each element by itself."""
    return x * x


@composite(reference=np.deg2rad)
def deg2rad(x: Tensor[B]) -> Tensor[B]:
    """Convert degrees to radians."""
    return x * (math.pi / 180.0)


@composite(reference=np.rad2deg)
def rad2deg(x: Tensor[B]) -> Tensor[B]:
    """Convert radians to degrees."""
    return x * (180.0 / math.pi)


@unary(dtype=only_floats, element=lambda b, x: b.isnan(x), reference=np.isnan, result=bool_)
def is_nan(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are NaN."""
    ...


@unary(dtype=only_floats, element=lambda b, x: b.isinf(x), reference=np.isinf, result=bool_)
def is_inf(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are infinite."""
    ...


@composite(reference=np.isfinite)
def is_finite(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are neither NaN nor infinite."""
    return (x.is_nan() | x.is_inf()).bool_not()


# Arithmetic


@binary(
    dtype=anything, element=elements.by_kind("add", "bit_or"), reference=np.add, vjp=dict(x=lambda g: g, y=lambda g: g)
)
def add(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Add elementwise, broadcasting."""
    ...


@binary(
    dtype=numeric, element=lambda b, x, y: b.sub(x, y), reference=np.subtract, vjp=dict(x=lambda g: g, y=lambda g: -g)
)
def sub(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Subtract elementwise, broadcasting."""
    ...


@binary(
    dtype=anything,
    element=elements.by_kind("mul", "bit_and"),
    reference=np.multiply,
    vjp=dict(x=lambda g, y: g * y, y=lambda g, x: g * x),
)
def mul(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Multiply elementwise, broadcasting."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.div(x, y),
    reference=reference.div,
    vjp=dict(x=lambda g, y: g / y, y=lambda g, y, out: -g * out / y),
)
def div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide elementwise. Integers are truncated towards zero, and anything over 0 is 0."""
    ...


@binary(
    dtype=floating,
    element=lambda b, x, y: b.div(x, y),
    reference=np.true_divide,
    vjp=dict(x=lambda g, y: g / y, y=lambda g, y, out: -g * out / y),
)
def true_div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide elementwise with a float result: the operator `/`."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.floor_div(x, y),
    reference=reference.floor_div,
    vjp=dict(x=lambda g: g.zeros_like(), y=lambda g: g.zeros_like()),
)
def floor_div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide and round down: the operator `//`. An integer over 0 gives 0."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.floor_rem(x, y),
    costly=True,
    reference=reference.rem,
    vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * floor_div(x, y)),
)
def rem(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the remainder, which takes the sign of the divisor. An integer modulo 0 gives 0."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.rem(x, y),
    costly=True,
    reference=reference.fmod,
    vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * trunc(true_div(x, y))),
)
def fmod(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the remainder, which takes the sign of the dividend."""
    ...


def _power_base(g: Any, x: Any, y: Any) -> Any:
    if not hasattr(y, "device"):
        return g.zeros_like() if y == 0 else g * (pow(x, y - 1) * y)
    return (g * (y * pow(x, y - 1.0))).mask_fill(y == 0.0, 0.0)


def _power_exponent(g: Any, x: Any, y: Any, out: Any) -> Any:
    if not hasattr(x, "device"):
        return g * out * math.log(x) if x > 0 else (g * out).zeros_like() * (0.0 if x == 0 else math.nan)
    safe = (x == 0.0) & (y >= 0.0)
    return (g * out * x.log()).mask_fill(safe, 0.0)


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.pow(x, y),
    costly=True,
    element_dtypes=FLOATS,
    reference=reference.power,
    vjp=dict(x=_power_base, y=_power_exponent),
)
def pow(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Raise `x` to the power `y`. Negative integer powers of integers truncate to -1, 0 or 1."""
    ...


@binary(
    dtype=floating,
    element=lambda b, x, y: b.atan2(x, y),
    costly=True,
    reference=np.arctan2,
    vjp=dict(x=lambda g, x, y: g * y / (x * x + y * y), y=lambda g, x, y: -g * x / (x * x + y * y)),
)
def atan2(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the angle of the point `(y, x)`: `atan(x / y)` in the right quadrant."""
    ...


@binary(
    dtype=floating,
    element=elements.hypot,
    costly=True,
    reference=np.hypot,
    vjp=dict(x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out)),
)
def hypot(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute `sqrt(x² + y²)` without overflow."""
    ...


def _chosen(g: Any, winner: Any, loser_or_equal: Any) -> Any:
    """The gradient of the larger (or smaller) operand; ties share it."""
    return g * (winner.cast(g.dtype) + loser_or_equal.cast(g.dtype) * 0.5)


@binary(
    dtype=anything,
    element=elements.by_kind("max", "bit_or"),
    reference=np.maximum,
    vjp=dict(
        x=lambda g, x, y: _chosen(g, logic.greater(x, y), logic.equal(x, y)),
        y=lambda g, x, y: _chosen(g, logic.greater(y, x), logic.equal(x, y)),
    ),
)
def max_pair(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Take the larger of two elements; NaN if either is NaN."""
    ...


@binary(
    dtype=anything,
    element=elements.by_kind("min", "bit_and"),
    reference=np.minimum,
    vjp=dict(
        x=lambda g, x, y: _chosen(g, logic.greater(y, x), logic.equal(x, y)),
        y=lambda g, x, y: _chosen(g, logic.greater(x, y), logic.equal(x, y)),
    ),
)
def min_pair(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Take the smaller of two elements; NaN if either is NaN."""
    ...


@binary(
    dtype=numeric,
    element=elements.bounded("max", "gt"),
    reference=np.maximum,
    vjp=dict(
        x=lambda g, x, y: g.mask_fill(logic.lower(x, y), 0.0),
        y=lambda g, x, y: g.mask_fill(logic.bool_not(logic.lower(x, y)), 0.0),
    ),
)
def clamp_min(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Raise every element below `y` to `y`."""
    ...


@binary(
    dtype=numeric,
    element=elements.bounded("min", "lt"),
    reference=np.minimum,
    vjp=dict(
        x=lambda g, x, y: g.mask_fill(logic.greater(x, y), 0.0),
        y=lambda g, x, y: g.mask_fill(logic.bool_not(logic.greater(x, y)), 0.0),
    ),
)
def clamp_max(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Lower every element above `y` to `y`."""
    ...


# Choice and conversion


def _cast_rule(op: Op, x: Any, dtype: Any) -> Any:
    target = as_dtype(dtype)
    return x.shape, target, (target,)


@primitive(
    rule=_cast_rule, element=elements.cast, reference=reference.cast, vjp=dict(x=lambda g, x_dtype: g.cast(x_dtype))
)
def cast(x: Tensor[B], dtype: Any) -> Tensor[B]:
    """Convert to another dtype. Floats saturate into ints, and NaN becomes 0."""
    ...


def _where_rule(op: Op, x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {mask.dtype}; write mask.bool()")
    return broadcast_rule(op, x, mask, value)


@primitive(
    rule=_where_rule,
    reference=lambda x, mask, value: np.where(mask, value, x),
    prepare=promoted("x", "value"),
    vjp=dict(x=lambda g, mask: g.mask_fill(mask, 0.0), value=lambda g, mask: g.mask_fill(mask.bool_not(), 0.0)),
    element=elements.where,
)
def mask_where(x: Tensor[B], mask: Tensor[Any], value: Tensor[Any]) -> Tensor[B]:
    """Take `value` where the mask is true and `x` elsewhere, broadcasting."""
    ...


def _fill_rule(op: Op, x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {mask.dtype}; write mask.bool()")
    return broadcast_rule(op, x, mask)


@primitive(
    rule=_fill_rule,
    reference=reference.mask_fill,
    vjp=dict(x=lambda g, mask: g.mask_fill(mask, 0.0)),
    element=elements.where,
    prepare=filling("value"),
)
def mask_fill(x: Tensor[B], mask: Tensor[Any], value: Operand) -> Tensor[B]:
    """Take the number `value` where the mask is true and `x` elsewhere, broadcasting."""
    ...


@composite()
def clamp(x: Tensor[B], min: float | Tensor[Any], max: float | Tensor[Any]) -> Tensor[B]:
    """Bring every element into the range from `min` to `max`."""
    return x.clamp_min(min).clamp_max(max)
