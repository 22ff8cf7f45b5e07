"""exp, exp2, expm1 and tanh.

x = n ln 2 + r with |r| ≤ ln 2 / 2 (ln 2 in two parts, so that r is exact), a polynomial for exp(r) - 1 - r, and a
scale of 2ⁿ that reaches infinity and the subnormal numbers without a jump.

Largest errors found, in units of the last place, for f32 and f64 alike: exp and exp2 1.1, expm1 1.7, tanh 2.2.
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math.writer import Writer
from burn.dtype import f32

SINGLE = (0.00139263761, 0.00836333353, 0.0416665524, 0.166665763, 0.5)
DOUBLE = (
    2.091488256348507e-09, 2.5105490906986696e-08, 2.7557273171941026e-07, 2.7557254740405416e-06,
    2.4801587325920163e-05, 0.00019841269875342141, 0.0013888888888883642, 0.008333333333325985,
    0.04166666666666667, 0.1666666666666667, 0.5,
)  # fmt: skip
"""(exp(r) - 1 - r) / r² on |r| ≤ 0.3475, highest power first: 8e-9 and 3e-19 of exp(r)."""

LN2 = {32: (0.693359375, -2.12194440e-4), 64: (0.6931471803691238, 1.9082149292705877e-10)}
"""ln 2 in two parts; the first has few enough bits that its product with n is exact."""

LOG2_E = math.log2(math.e)


def reduce(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """r, n and the bits of n, where x = n ln 2 + r."""
    n, bits = w.nearest(x, LOG2_E)
    high, low = LN2[x.dtype.bits]
    return w.multiply_add(n, -low, w.multiply_add(n, -high, x)), n, bits


def remainder_expm1(w: Writer, r: Value) -> Value:
    """exp(r) - 1 for a reduced r."""
    series = w.polynomial(r, SINGLE if r.dtype is f32 else DOUBLE)
    return w.multiply_add(r * r, series, r)


def clamp(w: Writer, x: Value) -> Value:
    """x held where exp still differs from 0 and infinity."""
    low, high = (-105.0, 89.0) if x.dtype is f32 else (-746.0, 710.0)
    return w.at_most(w.at_least(x, low), high)


def exp(w: Writer, x: Value, extra: Value | None = None) -> Value:
    """exp(x + extra), where `extra` is a correction much smaller than x."""
    r, n, _ = reduce(w, clamp(w, x))
    if extra is not None:
        r = r + extra
    return w.b.ldexp(remainder_expm1(w, r) + 1.0, n)


def exp2(w: Writer, x: Value) -> Value:
    """2 to the power x."""
    low, high = (-151.0, 129.0) if x.dtype is f32 else (-1076.0, 1025.0)
    x = w.at_most(w.at_least(x, low), high)
    n, _ = w.nearest(x, 1.0)
    return w.b.ldexp(remainder_expm1(w, (x - n) * math.log(2.0)) + 1.0, n)


def half_expm1(w: Writer, x: Value) -> Value:
    """(exp(x) - 1) / 2, for x already clamped."""
    r, _, bits = reduce(w, x)
    s = w.power_of_two(bits - 1, x.dtype)
    return w.multiply_add(s, remainder_expm1(w, r), s - 0.5)


def expm1(w: Writer, x: Value) -> Value:
    """exp(x) - 1."""
    low, high = (-18.0, 89.0) if x.dtype is f32 else (-38.0, 710.0)
    half = half_expm1(w, w.at_most(w.at_least(x, low), high))
    return w.keep_zero(x, half + half)


def tanh(w: Writer, x: Value) -> Value:
    """q / (q + 1), where 2 q = exp(2|x|) - 1; what q + 1 lost to rounding is made up for, where that counts."""
    b = w.b
    a = w.at_most(abs(x), 9.5 if x.dtype is f32 else 19.5)
    q = half_expm1(w, a + a)
    more = q + 1.0
    lost = b.select(q < 1.0, q - (more - 1.0), 0.0)
    ratio = q / more
    return b.copysign(w.multiply_add(ratio * (ratio - 1.0), lost, ratio), x)
