"""Curves as SVG, written by hand: the plot of a notebook, and of `burn-train plot`.

    svg([Panel("Loss", [Line("Train", points, marks)])], title="guide")

Each panel is a metric. A line is thin through its points and thick through its marks, the values of whole epochs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from burn.train.renderer.history import Point

COLOURS = {"Train": "#d1493f", "Valid": "#3b6fb6"}
OTHERS = ("#4f9a5d", "#8d5fb0", "#b08f2f", "#3f9aa6")
WIDTH, HEIGHT = 460.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 34.0, 34.0


@dataclass(frozen=True, slots=True)
class Line:
    """One split of a metric: the batches' values, and the epochs'."""

    label: str
    points: Sequence[Point]
    marks: Sequence[Point] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric."""

    title: str
    lines: Sequence[Line] = field(default_factory=tuple)


def colour_of(label: str, index: int = 0) -> str:
    """The colour of a split."""
    return COLOURS.get(label) or OTHERS[index % len(OTHERS)]


def svg(panels: Sequence[Panel], title: str = "", columns: int = 2) -> str:
    """A document with a panel for each metric, `columns` in a row."""
    columns = max(1, min(columns, len(panels)))
    rows = -(-len(panels) // columns)
    head = 40.0 if title else 8.0
    width, height = columns * WIDTH, head + rows * HEIGHT
    size = f'width="{width:g}" height="{height:g}"'
    head_line = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size} '
    lines = [head_line + 'font-family="sans-serif" font-size="11">', f'<rect {size} fill="white"/>']
    if title:
        lines.append(f'<text x="16" y="26" font-size="15" font-weight="bold">{escape(title)}</text>')
    for index, panel in enumerate(panels):
        x, y = (index % columns) * WIDTH, head + (index // columns) * HEIGHT
        lines += [f'<g transform="translate({x:g},{y:g})">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _panel(panel: Panel) -> list[str]:
    body = [f'<text x="{LEFT:g}" y="16" font-weight="bold" font-size="13">{escape(panel.title)}</text>']
    every = [p for line in panel.lines for p in (*line.points, *line.marks) if math.isfinite(p[1])]
    if not every:
        middle = f'x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}"'
        return [*body, f'<text {middle} text-anchor="middle" fill="#666">no finite values</text>']
    xs, ys = [x for x, _ in every], [y for _, y in every]
    across = Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    down = Scale(min(ys), max(ys), HEIGHT - BOTTOM, TOP)
    for tick in down.ticks():
        y = down(tick)
        body.append(f'<line x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:g}" y2="{y:g}" stroke="#e4e4e4"/>')
        body.append(f'<text x="{LEFT - 6:g}" y="{y + 4:g}" text-anchor="end" fill="#666">{tick:.4g}</text>')
    for tick in across.ticks():
        x = across(tick)
        body.append(f'<line x1="{x:g}" x2="{x:g}" y1="{TOP:g}" y2="{HEIGHT - BOTTOM:g}" stroke="#f0f0f0"/>')
        body.append(f'<text x="{x:g}" y="{HEIGHT - BOTTOM + 15:g}" text-anchor="middle" fill="#666">{tick:.4g}</text>')
    body.append(f'<text x="{WIDTH - RIGHT:g}" y="{HEIGHT - 4:g}" text-anchor="end" fill="#666">epoch</text>')
    for index, line in enumerate(panel.lines):
        colour = colour_of(line.label, index)
        thin = ' stroke-opacity="0.45"' if line.marks else ""
        for piece in _pieces(line.points):
            body.append(f'<polyline points="{_path(piece, across, down)}" fill="none" stroke="{colour}"{thin}/>')
        for piece in _pieces(line.marks):
            path = _path(piece, across, down)
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            for x, y in piece:
                hint = escape(f"{line.label}, epoch {x:g}: {y:.6g}")
                body.append(
                    f'<circle cx="{across(x):g}" cy="{down(y):g}" r="3" fill="{colour}"><title>{hint}</title></circle>'
                )
        place = WIDTH - RIGHT - 62 * (len(panel.lines) - index)
        body.append(f'<rect x="{place:g}" y="8" width="10" height="10" fill="{colour}"/>')
        body.append(f'<text x="{place + 14:g}" y="17">{escape(line.label)}</text>')
    return body


def _pieces(points: Sequence[Point]) -> list[list[Point]]:
    """Runs of finite values: a NaN leaves a gap."""
    pieces: list[list[Point]] = [[]]
    for point in points:
        if math.isfinite(point[1]):
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _path(points: Sequence[Point], across: Scale, down: Scale) -> str:
    return " ".join(f"{across(x):g},{down(y):g}" for x, y in points)


class Scale:
    """Maps values to pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        room = abs(low) * 0.05 or 0.5
        self.low, self.high = (low, high) if high > low else (low - room, high + room)
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values inside the scale, about `count`."""
        rough = (self.high - self.low) / count
        size: float = 10.0 ** math.floor(math.log10(rough))
        step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]
