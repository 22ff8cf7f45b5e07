"""The rarer functions, in f64 only: inverse trigonometric, hyperbolic and inverse hyperbolic ones.

f32 goes through f64 and is rounded once more: the error is 0.51 units of the last place. In f64 the errors found stay
within 2.5.
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math.exponential import exp, expm1
from burn.cube.math.logarithm import log, log1p
from burn.cube.math.writer import Writer

ARCTANGENT = (
    0.01628357235648259, -0.0345685906686069, 0.045515165635903104, -0.052304374642516874, 0.05878926715756726,
    -0.066664246872465, 0.07692296363979952, -0.09090908753118594, 0.11111111105147764, -0.14285714285659748,
    0.19999999999999804, -0.3333333333333333,
)  # fmt: skip
"""(atan(t) / t - 1) / t² in powers of t², highest first, for |t| ≤ tan(π/8)."""

LOW_HALF_PI = 6.123233995736766e-17
"""π/2 minus the f64 nearest to it."""


def atan(w: Writer, x: Value) -> Value:
    """The inverse tangent: an eighth of a turn or a quarter is taken off first."""
    b = w.b
    a = abs(x)
    steep, middle = a > math.tan(3 * math.pi / 8), a > math.tan(math.pi / 8)
    above = b.select(steep, -1.0, b.select(middle, a - 1.0, a))
    below = b.select(steep, a, b.select(middle, a + 1.0, 1.0))
    t = above / below
    z = t * t
    base = b.select(steep, math.pi / 2, b.select(middle, b.const(x.dtype, math.pi / 4), 0.0))
    low = b.select(steep, LOW_HALF_PI, b.select(middle, b.const(x.dtype, LOW_HALF_PI / 2), 0.0))
    value = base + (w.multiply_add(t * z, w.polynomial(z, ARCTANGENT), low) + t)
    return b.copysign(value, x)


def atan2(w: Writer, y: Value, x: Value) -> Value:
    """The angle of (x, y), with C's special cases."""
    b = w.b
    height, width = abs(y), abs(x)
    both = b.eq(height, math.inf) & b.eq(width, math.inf)
    ratio = b.select(both, 1.0, height / width)
    ratio = b.select(b.eq(height, 0.0) & b.eq(width, 0.0), 0.0, ratio)
    angle = atan(w, ratio)
    turned = (math.pi - angle) + 2.0 * LOW_HALF_PI
    angle = b.select(b.sign_bit(x), turned, angle)
    return b.copysign(angle, y)


def asin(w: Writer, x: Value) -> Value:
    """The inverse sine."""
    return w.keep_zero(x, atan(w, x / w.b.sqrt((1.0 - x) * (x + 1.0))))


def acos(w: Writer, x: Value) -> Value:
    """The inverse cosine."""
    b = w.b
    half = atan(w, b.sqrt((1.0 - x) / (x + 1.0)))
    return half + half


def sinh(w: Writer, x: Value) -> Value:
    """The hyperbolic sine."""
    b = w.b
    a = abs(x)
    grown = expm1(w, a)
    root = exp(w, a * 0.5)
    value = b.select(a < 709.0, (grown + grown / (grown + 1.0)) * 0.5, root * 0.5 * root)
    return b.copysign(value, x)


def cosh(w: Writer, x: Value) -> Value:
    """The hyperbolic cosine."""
    b = w.b
    a = abs(x)
    grown = exp(w, a)
    root = exp(w, a * 0.5)
    return b.select(a < 709.0, grown * 0.5 + 0.5 / grown, root * 0.5 * root)


def asinh(w: Writer, x: Value) -> Value:
    """The inverse hyperbolic sine."""
    b = w.b
    a = abs(x)
    square = a * a
    near = log1p(w, a + square / (b.sqrt(square + 1.0) + 1.0))
    far = log(w, a) + math.log(2.0)
    return b.copysign(b.select(a < 1e100, near, far), x)


def acosh(w: Writer, x: Value) -> Value:
    """The inverse hyperbolic cosine."""
    b = w.b
    t = x - 1.0
    near = log1p(w, t + b.sqrt(t * t + t * 2.0))
    far = log(w, x) + math.log(2.0)
    return b.select(b.ge(x, 1.0), b.select(x < 1e100, near, far), math.nan)


def atanh(w: Writer, x: Value) -> Value:
    """The inverse hyperbolic tangent."""
    b = w.b
    a = abs(x)
    value = log1p(w, (a + a) / (1.0 - a)) * 0.5
    return b.copysign(value, x)
