"""pow: exp(y log|x|), with the sign and the special cases of C's `pow`.

f32 is computed in f64: 0.51 units of the last place. f64 keeps the logarithm and the product in two parts; its
relative error stays below 1e-13, and is a few 1e-16 where |y log x| is moderate.
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math import logarithm
from burn.cube.math.exponential import LN2, exp
from burn.cube.math.writer import Writer


def pow(w: Writer, x: Value, y: Value) -> Value:
    """x to the power y, in f64."""
    b = w.b
    a = abs(x)
    e, f = logarithm.split(w, a)
    high_two, low_two = LN2[64]
    whole = e * high_two
    part = f + logarithm.tail(w, f)
    high = whole + part
    low = (part - (high - whole)) + e * low_two
    ends = b.eq(a, 0.0) | b.eq(a, math.inf)
    high = b.select(ends, b.select(b.eq(a, 0.0), b.const(x.dtype, -math.inf), b.const(x.dtype, math.inf)), high)
    product = y * high
    extra = w.multiply_add(y, low, product_error(w, y, high, product))
    extra = b.select(abs(extra) < 1.0, extra, 0.0)
    return specials(w, x, y, exp(w, product, extra))


def product_error(w: Writer, x: Value, y: Value, product: Value) -> Value:
    """What rounding took from x * y."""
    if w.fused:
        return w.b.fma(x, y, -product)
    x_high, x_low = halves(x)
    y_high, y_low = halves(y)
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def halves(x: Value) -> tuple[Value, Value]:
    """A number as a sum of two with half the bits each, whose products are exact."""
    spread = x * 134217729.0
    high = spread - (spread - x)
    return high, x - high


def specials(w: Writer, x: Value, y: Value, magnitude: Value) -> Value:
    """Give |x|ʸ its sign, and NaN, 1 where the definition says so."""
    b = w.b
    half = y * 0.5
    whole = b.eq(b.trunc(y), y)
    odd = whole & b.ne(b.trunc(half), half)
    negative = b.sign_bit(x)
    result = b.select(negative & odd, -magnitude, magnitude)
    undefined = (x < 0.0) & ~whole & (x > -math.inf)
    result = b.select(undefined, math.nan, result)
    result = b.select(b.isnan(x) | b.isnan(y), math.nan, result)
    unit = b.eq(x, 1.0) | b.eq(y, 0.0) | (b.eq(x, -1.0) & b.eq(abs(y), math.inf))
    return b.select(unit, 1.0, result)
