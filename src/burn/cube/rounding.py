"""Rounding to integers, scaling by powers of two, and the fused multiply-add, where no instruction does them."""

from __future__ import annotations

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Operation, Value
from burn.cube.rewrite import Rule
from burn.dtype import f32, f64, i32, i64

WHOLE = {32: 2.0**23, 64: 2.0**52}
"""From here on every float is an integer."""


def _nearest(b: KernelBuilder, a: Value) -> Value:
    """|x| rounded to the nearest integer: adding and subtracting 2²³ or 2⁵² drops the fraction."""
    whole = WHOLE[a.dtype.bits]
    return b.select(a < whole, (a + whole) - whole, a)


def _rint(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    (x,) = operands
    return b.copysign(_nearest(b, abs(x)), x)


def _trunc(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    (x,) = operands
    a = abs(x)
    nearest = _nearest(b, a)
    return b.copysign(b.select(nearest > a, nearest - 1.0, nearest), x)


def _floor(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    (x,) = operands
    nearest = b.copysign(_nearest(b, abs(x)), x)
    return b.select(nearest > x, nearest - 1.0, nearest)


def _ceil(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    (x,) = operands
    nearest = b.copysign(_nearest(b, abs(x)), x)
    return b.copysign(b.select(nearest < x, nearest + 1.0, nearest), x)


ROUNDING: dict[str, Rule] = {"rint": _rint, "trunc": _trunc, "floor": _floor, "ceil": _ceil}


ROUND = {32: (1.5 * 2.0**23, 0x4B400000), 64: (1.5 * 2.0**52, 0x4338000000000000)}
"""Added to a small whole number, it leaves that number in the low bits; and its own bits."""


def ldexp(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    """x times 2ⁿ in two factors, neither of which overflows; the first product is exact."""
    x, n = operands
    bits = x.dtype.bits
    integer, fraction, bias = (i32, 23, 127) if bits == 32 else (i64, 52, 1023)
    magic, pattern = ROUND[bits]
    whole = b.bitcast(n + magic, integer) - pattern
    half = b._pure("shr_unchecked", (whole, b.const(integer, 1)))
    for part in (half, whole - half):
        shifted = b._pure("shl_unchecked", (part + bias, b.const(integer, fraction)))
        x = x * b.bitcast(shifted, x.dtype)
    return x


def to_odd(b: KernelBuilder, value: Value, error: Value) -> Value:
    """Round `value + error` to odd, given the nearest f64 and what it lost.

    The last bit then tells that something was lost, and a second, narrower rounding comes out as if it were the only
    one (Boldo and Melquiond).
    """
    bits = b.bitcast(value, i64)
    away = b.eq(error > 0.0, value > 0.0)
    odd = bits + b.select(away, b.const(i64, 1), -1)
    inexact = (error > 0.0) | (error < 0.0)
    return b.bitcast(b.select(inexact & b.eq(bits & 1, 0), odd, bits), f64)


def sum_error(b: KernelBuilder, x: Value, y: Value, total: Value) -> Value:
    """What rounding took from x + y."""
    part = total - x
    return (x - (total - part)) + (y - part)


def _halves(x: Value) -> tuple[Value, Value]:
    """A number as a sum of two with half the bits each, whose products are exact."""
    spread = x * 134217729.0
    high = spread - (spread - x)
    return high, x - high


def fma(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    """x * y + z, rounded once. f64 loses that promise where x, y or x * y leave 2^±960."""
    x, y, z = operands
    if x.dtype is f32:
        product, wide = b.cast(x, f64) * b.cast(y, f64), b.cast(z, f64)
        total = product + wide
        return b.cast(to_odd(b, total, sum_error(b, product, wide, total)), f32)
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    low = lost + z
    low_error = sum_error(b, lost, z, low)
    total = product + low
    total_error = sum_error(b, product, low, total)
    rest = total_error + low_error
    exact = total + to_odd(b, rest, sum_error(b, total_error, low_error, rest))
    plain = (abs(lost) < 1e300) & b.ne(exact, 0.0)  # a sum of zeros has the sign that the plain sum gives
    return b.select(plain, exact, product + z)
