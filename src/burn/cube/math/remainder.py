"""The remainder of floats, exactly.

With q the rounded quotient, x - q y is exact in one fused operation, and about 2⁵² times smaller than x. f32 repeats
that in f64; f64 first takes remainders of multiples of y, so that no quotient overflows. (On targets without a fused
operation, f64 is right for |x| < 2⁹⁹⁶.)
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math.writer import Writer
from burn.dtype import f64

SINGLE_STEPS = 6
"""Quotients of f32 reach 2²⁷⁷; a step takes 52 bits."""
STAGE = 2.0**538
STEPS = (21, 12, 12)
"""Quotients of f64 by the largest multiple of y reach 2¹⁰²⁴, and 2⁵³⁸ by the others."""


def step(w: Writer, x: Value, y: Value) -> Value:
    """x minus the multiple of y that the rounded quotient gives: much smaller than x, of either sign."""
    b = w.b
    return b.fma(-b.trunc(x / y), y, x)


def rem(w: Writer, x: Value, y: Value) -> Value:
    """The remainder with the sign of x."""
    b = w.b
    left, right = abs(b.cast(x, f64)), abs(b.cast(y, f64))
    modulus = b.select((right > 0.0) & (right < math.inf), right, 1.0)
    rest = b.select(left < math.inf, left, 0.0)
    if x.dtype is f64:
        middle = b.select(modulus < 1.0, modulus * STAGE, modulus)
        large = b.select(middle < 1.0, middle * STAGE, middle)
        for count, each in zip(STEPS, (large, middle, modulus)):
            rest = b.loop(count, rest, lambda _, value, each=each: step(w, value, each))
    else:
        for _ in range(SINGLE_STEPS):
            rest = step(w, rest, modulus)
    rest = b.select(rest < 0.0, rest + modulus, rest)
    rest = b.select(b.eq(right, math.inf), left, rest)
    defined = (left < math.inf) & b.ne(right, 0.0) & ~b.isnan(right)
    rest = b.select(defined, rest, math.nan)
    return b.copysign(b.cast(rest, x.dtype), x)
