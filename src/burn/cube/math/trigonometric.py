"""sin, cos and tan.

The quarter turns are taken off in f64, for f32 too: up to 2²⁰ with π/2 in three parts, whose products with a count of
turns are exact; beyond that with as many bits of 2/π as the exponent asks for (Payne and Hanek), in integers. The
second way is a branch that only vectors with such a number take.

Largest errors found for any finite x, in units of the last place: f32 sin and cos 1.6, tan 0.6; f64 sin and cos 1.9,
tan 4.
"""

from __future__ import annotations

import math

from burn.cube.ir import Value
from burn.cube.math.writer import Writer
from burn.dtype import f32, f64, i64, u32, u64

SINE = {
    32: (-0.000195868633, 0.00833274331, -0.166666642),
    64: (
        -7.586451169360528e-13, 1.605852743818066e-10, -2.5052106206016957e-08, 2.755731921926292e-06,
        -0.00019841269841264968, 0.008333333333333331, -0.16666666666666666,
    ),
}  # fmt: skip
"""(sin(r) / r - 1) / r² in powers of r², highest first."""
COSINE = {
    32: (2.45469128e-05, -0.00138882978, 0.0416666642),
    64: (
        4.745735159018853e-14, -1.147045856316402e-11, 2.087675577638559e-09, -2.7557319221360436e-07,
        2.480158730158459e-05, -0.0013888888888888887, 0.041666666666666664,
    ),
}  # fmt: skip
"""(cos(r) - 1 + r²/2) / r⁴ in powers of r², highest first."""

QUARTER = (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"), float.fromhex("0x1.3198a2e037073p-69"))
"""π/2 in three parts, the first two of 33 bits."""
FEW_TURNS = 2.0**20

TWO_OVER_PI = (
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561, 0xB7246E3A,
    0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484, 0xE99C7026, 0xB45F7E41,
    0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F, 0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF,
    0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B, 0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08,
    0x56033046, 0xFC7B6BAB, 0xF0CFBC20, 0x9AF4361D,
)  # fmt: skip
"""The fraction 2/π in words of 32 bits."""
PADDING = 2


def reduce(w: Writer, x: Value) -> tuple[Value, Value]:
    """r and the number of quarter turns (modulo 4, in the low bits), where x = turns π/2 + r; x is f64."""
    b = w.b
    n, near_turns = w.nearest(x, 2.0 / math.pi)
    near = x
    for part in QUARTER:
        near = w.multiply_add(n, -part, near)
    large = abs(x) > FEW_TURNS

    def far() -> tuple[Value, Value]:
        r, turns = reduce_large(w, x)
        return b.select(large, r, near), b.select(large, turns, near_turns)

    r, turns = b.branch(b.plane_any(large), far, lambda: (near, near_turns))
    return r, turns


def reduce_large(w: Writer, x: Value) -> tuple[Value, Value]:
    """The same for large x: its integer mantissa times the part of 2/π that decides the fraction of a turn."""
    b = w.b
    bits = b.bitcast(x, u64)
    exponent = b.cast(w.shift_right(bits, 52) & 0x7FF, i64) - 1075
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    finite = b.select(exponent < 972, b.select(exponent < -32, -32, exponent), -32) + (32 * PADDING - 2)
    word, shift = w.shift_right(finite, 5), b.cast(finite & 31, u64)
    table = b.table(u32, (0,) * PADDING + TWO_OVER_PI)
    words = [b.cast(b.load(table, word + k), u64) for k in range(7)]

    def window(first: int) -> Value:
        """64 bits of 2/π, after the shift, from three words."""
        upper = w.shift_left(words[first], 32) | words[first + 1]
        lower = b._pure("shr_unchecked", (w.shift_left(words[first + 2], 32), 63 - shift))
        return b._pure("shl_unchecked", (upper, shift)) | w.shift_right(lower, 1)

    top, middle, bottom = window(0), window(2), window(4)
    second = mantissa * middle
    carried = second + multiply_high(w, mantissa, bottom)
    first = mantissa * top + multiply_high(w, mantissa, middle) + b.cast(carried < second, u64)
    turns = w.shift_right(first + (1 << 61), 62)
    rest = b.bitcast(first - w.shift_left(turns, 62), i64)
    r = (b.cast(rest, f64) * 2.0**-62 + b.cast(carried, f64) * 2.0**-126) * (math.pi / 2)
    negative = b.sign_bit(x)
    r = b.select(negative, -r, r)
    counted = b.bitcast(turns, i64)
    r = b.select(abs(x) < math.inf, r, math.nan)
    return r, b.select(negative, -counted, counted)


def multiply_high(w: Writer, x: Value, y: Value) -> Value:
    """The upper 64 bits of a product, from products of 32 bits, which vector units have."""
    low = (1 << 32) - 1
    x0, x1, y0, y1 = x & low, w.shift_right(x, 32), y & low, w.shift_right(y, 32)
    cross = x1 * y0 + w.shift_right(x0 * y0, 32)
    other = x0 * y1 + (cross & low)
    return x1 * y1 + w.shift_right(cross, 32) + w.shift_right(other, 32)


def waves(w: Writer, r: Value) -> tuple[Value, Value]:
    """sin(r) and cos(r) for |r| ≤ π/4."""
    z = r * r
    sine = w.multiply_add(r * z, w.polynomial(z, SINE[r.dtype.bits]), r)
    cosine = w.multiply_add(z * z, w.polynomial(z, COSINE[r.dtype.bits]), w.multiply_add(z, -0.5, 1.0))
    return sine, cosine


def turned(w: Writer, x: Value, quarter: int) -> Value:
    """sin(x + quarter π/2)."""
    b = w.b
    r, turns = reduce(w, b.cast(x, f64))
    turns = turns + quarter
    sine, cosine = waves(w, b.cast(r, f32) if x.dtype is f32 else r)
    value = b.select(b.ne(turns & 1, 0), cosine, sine)
    return b.select(b.ne(turns & 2, 0), -value, value)


def sin(w: Writer, x: Value) -> Value:
    """The sine."""
    return w.keep_zero(x, turned(w, x, 0))


def cos(w: Writer, x: Value) -> Value:
    """The cosine."""
    return turned(w, x, 1)


def tan(w: Writer, x: Value) -> Value:
    """The tangent, in f64."""
    b = w.b
    r, turns = reduce(w, x)
    sine, cosine = waves(w, r)
    odd = b.ne(turns & 1, 0)
    return w.keep_zero(x, b.select(odd, -cosine, sine) / b.select(odd, sine, cosine))
