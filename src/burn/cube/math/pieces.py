"""Odd functions of f32 that go to 1, by a polynomial for each piece of the way there.

|x| lies in the piece whose centre is nearest, and its coefficients come from tables of 32 numbers: wide vector units
hold such a table in registers and choose from it at the price of an addition. In the pieces next to 0 the tables
give f(x) - x, so that small numbers keep their relative error.
"""

from __future__ import annotations

from typing import NamedTuple

from burn.cube.ir import Value
from burn.cube.math.writer import ROUND, Writer
from burn.dtype import f32, i32, i64

COUNT = 32


class Pieces(NamedTuple):
    """A function from 0 to where it is 1: centres are multiples of `width`, a power of two."""

    width: float
    near: int
    """How many of the first pieces give f(x) - x."""
    end: float
    """From here on the function is 1 in f32; no piece lies beyond."""
    columns: tuple[tuple[float, ...], ...]
    """By power of the distance from the centre, lowest first: the coefficients of all pieces."""


def piecewise(w: Writer, x: Value, pieces: Pieces) -> Value:
    """The function at x; the number of a piece is in the low bits of a rounded number."""
    b = w.b
    a = w.at_most(abs(x), pieces.end)
    magic = ROUND[32] * pieces.width
    shifted = a + magic
    distance = a - (shifted - magic)
    piece = b.cast(b.bitcast(shifted, i32) & (COUNT - 1), i64)
    value = w.polynomial(distance, [b.load(b.table(f32, column), piece) for column in pieces.columns[::-1]])
    near = a < (pieces.near - 0.5) * pieces.width
    return b.copysign(b.select(near, value + a, value), x)
