"""log, log2 and log1p.

x = 2ᵉ (1 + f) with 1 + f between √½ and √2; subnormal numbers are scaled first. f32 takes f - f²/2 + f³ P(f);
f64 takes s = f / (2 + f) and a polynomial in s², which needs half as many terms.

Largest errors found, in units of the last place, for f32 and f64 alike: log 0.8, log2 1.7, log1p 1.5.
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math.exponential import LN2
from burn.cube.math.writer import FRACTION, Writer
from burn.dtype import f32

SINGLE = (
    0.0697161183, -0.114797339, 0.116854198, -0.124256872, 0.142490581, -0.166678026, 0.200007156, -0.24999997,
    0.333333313,
)  # fmt: skip
"""(log(1 + f) - f + f²/2) / f³, highest power first."""
DOUBLE = (
    0.13089629160674623, 0.13268485680654427, 0.1538625044794019, 0.18181795442371984, 0.2222222239356661,
    0.2857142857079543, 0.4000000000000089, 0.6666666666666666,
)  # fmt: skip
"""(log((1 + s) / (1 - s)) / s - 2) / s² in powers of s², highest power first."""

HALF_ROOT = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}
"""The bits of √½: subtracting them puts the exponent that we want into the upper bits."""

SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}


def split(w: Writer, x: Value) -> tuple[Value, Value]:
    """e and f, where x = 2ᵉ (1 + f), for positive finite x."""
    b, bits = w.b, x.dtype.bits
    fraction = FRACTION[bits]
    tiny = x < SMALLEST_NORMAL[bits]
    scaled = b.bitcast(b.select(tiny, x * 2.0**fraction, x), w.signed(x))
    exponent = w.shift_right(scaled - HALF_ROOT[bits], fraction)
    mantissa = b.bitcast(scaled - w.shift_left(exponent, fraction), x.dtype)
    e = b.cast(exponent, x.dtype)
    return b.select(tiny, e - float(fraction), e), mantissa - 1.0


def tail(w: Writer, f: Value) -> Value:
    """log(1 + f) - f."""
    square = f * f
    if f.dtype is f32:
        return w.multiply_add(square, -0.5, square * f * w.polynomial(f, SINGLE))
    half = square * 0.5
    s = f / (f + 2.0)
    z = s * s
    return w.multiply_add(s, w.multiply_add(z, w.polynomial(z, DOUBLE), half), -half)


def log(w: Writer, x: Value) -> Value:
    """The natural logarithm."""
    e, f = split(w, x)
    high, low = LN2[x.dtype.bits]
    result = f + w.multiply_add(e, low, tail(w, f))
    return special(w, x, w.multiply_add(e, high, result))


def special(w: Writer, x: Value, result: Value) -> Value:
    """The logarithms of what `split` does not take: infinity, zeros, negative numbers and NaN."""
    b = w.b
    result = b.select(b.eq(x, math.inf), math.inf, result)
    outside = b.select(b.eq(x, 0.0), b.const(x.dtype, -math.inf), b.const(x.dtype, math.nan))
    return b.select(x > 0.0, result, outside)


def log2(w: Writer, x: Value) -> Value:
    """The logarithm to base 2, exact for powers of two."""
    e, f = split(w, x)
    return special(w, x, w.multiply_add(f + tail(w, f), math.log2(math.e), e))


def log1p(w: Writer, x: Value) -> Value:
    """log(u) + c / u, where u = 1 + x was rounded and c is what rounding lost."""
    b = w.b
    u = x + 1.0
    lost = (x - (u - 1.0)) / u
    whole = log(w, u)
    result = b.select((u > 0.0) & (u < math.inf), whole + lost, whole)
    return w.keep_zero(x, result)
