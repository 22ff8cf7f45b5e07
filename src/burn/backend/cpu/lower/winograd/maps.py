"""The maps of Winograd's convolutions: of patches and windows into the products, and from there to pixels.

A row of windows of three over `tile` pixels is a product of two polynomials, and one is known by its values at as many
points as it has coefficients: `tile + 2`, infinity among them. The map of a line evaluates it at the points; two of
them, along rows and columns, are the map of a square.

F(2x2) takes the points 0, 1, -1: its maps add and halve, so its error is that of the plain computation. F(4x4) takes
0, 3/4, -3/4, 3/2, -3/2. The usual whole numbers 0, 1, -1, 2, -2 lose two more bits: numbers of very different size
meet in their maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Value

Line = Sequence[Value]
Change = Callable[[KernelBuilder, Line], list[Value]]

NEAR, FAR = 0.75, 1.5
"""The points of F(4x4) beside 0 and infinity, with both signs."""


@dataclass(frozen=True)
class Scheme:
    """How many pixels a tile has along a side, and the maps of the lines of patches, windows and products."""

    tile: int
    of_patch: Change
    of_window: Change
    of_products: Change

    @property
    def patch(self) -> int:
        """Pixels along a side that a tile reads."""
        return self.tile + 2

    @property
    def points(self) -> int:
        """Products of matrices."""
        return self.patch**2

    def __repr__(self) -> str:
        return f"F({self.tile}x{self.tile}, 3x3)"


def square(b: KernelBuilder, lines: Sequence[Line], change: Change) -> list[list[Value]]:
    """A map of lines, applied to the columns and then to the rows."""
    columns = [change(b, line) for line in zip(*lines, strict=True)]
    return [change(b, line) for line in zip(*columns, strict=True)]


def _patch_of_two(b: KernelBuilder, line: Line) -> list[Value]:
    p, q, r, s = line
    return [p - r, q + r, r - q, q - s]


def _window_of_two(b: KernelBuilder, line: Line) -> list[Value]:
    first, second, third = line
    outer = first + third
    return [first, (outer + second) * 0.5, (outer - second) * 0.5, third]


def _products_of_two(b: KernelBuilder, line: Line) -> list[Value]:
    p, q, r, s = line
    return [p + q + r, q - r - s]


def _patch_of_four(b: KernelBuilder, line: Line) -> list[Value]:
    """The coefficients of the polynomials that are zero at all points but one."""
    p, q, r, s, t, u = line
    near, far = NEAR**2, FAR**2
    both, product = near + far, near * far
    even, odd = b.fma(r, -far, t), b.fma(q, -far, s) * NEAR
    other_even, other_odd = b.fma(r, -near, t), b.fma(q, -near, s) * FAR
    return [
        b.fma(p, product, b.fma(r, -both, t)),
        even + odd,
        even - odd,
        other_even + other_odd,
        other_even - other_odd,
        b.fma(q, product, b.fma(s, -both, u)),
    ]


def _window_of_four(b: KernelBuilder, line: Line) -> list[Value]:
    """The values at the points, divided by what the maps of patches leave undivided."""
    first, second, third = line
    found = [first * (1.0 / (NEAR * FAR) ** 2)]
    for point, other in ((NEAR, FAR), (FAR, NEAR)):
        scale = 1.0 / (2.0 * point**2 * (point**2 - other**2))
        even, odd = b.fma(third, point**2, first) * scale, second * (point * scale)
        found += [even + odd, even - odd]
    return [*found, third]


def _products_of_four(b: KernelBuilder, line: Line) -> list[Value]:
    """The coefficients of the product: sums of values times powers of the points."""
    p, q, r, s, t, u = line
    even, odd, other_even, other_odd = q + r, q - r, s + t, s - t
    return [
        p + even + other_even,
        b.fma(other_odd, FAR, odd * NEAR),
        b.fma(other_even, FAR**2, even * NEAR**2),
        b.fma(other_odd, FAR**3, b.fma(odd, NEAR**3, u)),
    ]


F2 = Scheme(2, _patch_of_two, _window_of_two, _products_of_two)
F4 = Scheme(4, _patch_of_four, _window_of_four, _products_of_four)
