"""Curves in characters: each character cell has 2 x 4 dots of Braille, which is enough for a line.

    for row in plot([Curve("Train", points)], width=60, height=12):
        print("".join(character for character, _ in row))

The result is rows of (character, owner), where the owner is the number of the curve, or None for axes and labels: a
terminal gives it its colour, a test looks at the characters alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from burn.train.renderer.history import Point
from burn.train.renderer.text import number

Cell = tuple[str, int | None]

DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # by column and row of a cell, U+2800 plus their sum


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot."""

    label: str
    points: Sequence[Point]


def plot(curves: Sequence[Curve], width: int, height: int, axis: str = "epoch") -> list[list[Cell]]:
    """Rows of cells, `height` of `width` each. Values that are not finite leave a gap in their curve."""
    shown = [[p for p in curve.points if math.isfinite(p[1])] for curve in curves]
    every = [point for points in shown for point in points]
    if not every:
        return _message("no values yet" if not any(c.points for c in curves) else "no finite values", width, height)
    low, high = _limits([y for _, y in every])
    left, right = min(x for x, _ in every), max(x for x, _ in every)
    labels = (number(max(y for _, y in every)), number(min(y for _, y in every)))
    margin = max(map(len, labels)) + 1
    columns, rows = width - margin - 1, height - 2
    if columns < 4 or rows < 2:
        return _message("too small", width, height)

    canvas = Canvas(columns, rows)
    for owner, curve in enumerate(curves):
        places: list[tuple[float, float] | None] = [
            ((x - left) / ((right - left) or 1), (high - y) / (high - low)) if math.isfinite(y) else None
            for x, y in curve.points
        ]
        canvas.line(places, owner)

    middle = number((low + high) / 2)
    result: list[list[Cell]] = []
    for row, cells in enumerate(canvas.rows()):
        at = {0: labels[0], rows - 1: labels[1]}.get(row, middle if rows >= 9 and row == rows // 2 else "")
        label = at if len(at) < margin else ""
        result.append([*_plain(label.rjust(margin - 1) + (" ┤" if label else " │")), *cells])
    result.append(_plain(" " * margin + "└" + "─" * columns))
    begin, end = f"{left:.2f}", f"{axis} {right:.2f}"
    result.append(_plain(" " * (margin + 1) + begin + end.rjust(max(0, columns - len(begin)))[: columns - len(begin)]))
    return [_fit(row, width) for row in result]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low == high:
        room = abs(low) * 0.05 or 0.5
        return low - room, high + room
    return low, high


def _plain(text: str) -> list[Cell]:
    return [(character, None) for character in text]


def _fit(row: list[Cell], width: int) -> list[Cell]:
    return row[:width] + [(" ", None)] * (width - len(row))


def _message(text: str, width: int, height: int) -> list[list[Cell]]:
    rows = [_fit([], width) for _ in range(max(1, height))]
    rows[max(0, height - 1) // 2] = _fit(_plain(text[:width].center(width)), width)
    return rows


class Canvas:
    """Dots in cells. A cell that two curves share has the colour of the one drawn last."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.row_count = columns, rows
        self._dots = [[0] * columns for _ in range(rows)]
        self._owners: list[list[int | None]] = [[None] * columns for _ in range(rows)]

    def line(self, places: Sequence[tuple[float, float] | None], owner: int) -> None:
        """Join places, given from 0 to 1 with y downwards. None leaves a gap."""
        before: tuple[int, int] | None = None
        for place in places:
            if place is None:
                before = None
                continue
            here = (round(place[0] * (self.columns * 2 - 1)), round(place[1] * (self.row_count * 4 - 1)))
            self._segment(before or here, here, owner)
            before = here

    def _segment(self, start: tuple[int, int], end: tuple[int, int], owner: int) -> None:
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        for step in range(steps + 1):
            x = round(start[0] + (end[0] - start[0]) * step / steps)
            y = round(start[1] + (end[1] - start[1]) * step / steps)
            self._dots[y // 4][x // 2] |= DOTS[x % 2][y % 4]
            self._owners[y // 4][x // 2] = owner

    def rows(self) -> list[list[Cell]]:
        """The cells."""
        return [
            [(chr(0x2800 + dots) if dots else " ", owner) for dots, owner in zip(*both)]
            for both in zip(self._dots, self._owners)
        ]
