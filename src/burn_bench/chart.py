"""Charts: bars of ratios, and lines over time. Written as SVG by hand, or as PNG where matplotlib is installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from burn.errors import ArgumentError
from burn_bench.compare import Point
from burn_bench.report import heading, subjects_of
from burn_bench.results import Run
from burn_bench.spread import Spread, ratios, spread

PALETTE = ("#3b6fb6", "#d1653f", "#4f9a5d", "#8d5fb0", "#b08f2f", "#3f9aa6", "#b84f75", "#6b6b6b")
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Bar(NamedTuple):
    """One ratio with its quartiles, and the target it has to reach, if any."""

    group: str
    label: str
    ratio: Spread
    target: float | None


def bars_of(run: Run) -> list[Bar]:
    """The ratios of a run: our first engine, and its captured form, against each peer."""
    bars = []
    for outcome in run.outcomes:
        for subject in subjects_of(run, outcome):
            ours = outcome.times(subject)
            targets = {peer: t.at_least for t in outcome.targets if t.subject == subject for peer in t.peers}
            for name, found in outcome.engines.items():
                if name != subject and name != "copy" and name not in run.ours and len(found.times) == len(ours):
                    group = f"{outcome.name} {outcome.shapes}, {subject}"
                    bars.append(Bar(group, name, spread(ratios(ours, found.times)), targets.get(name)))
    return bars


def save_bars(run: Run, path: Path) -> None:
    """Draw a run."""
    title = "how many times faster than each peer (logarithmic; the tick marks what is asked)"
    bars = bars_of(run)
    if not bars:
        raise ArgumentError(f"--plot: nothing to draw in {path}: no peer was measured")
    if _is_png(path):
        _png_bars(bars, title, heading(run), path)
    else:
        path.write_text(svg_bars(bars, title, heading(run)), encoding="utf-8")


def save_history(series: dict[str, list[Point]], against: str, path: Path) -> None:
    """Draw a history."""
    if not series:
        raise ArgumentError(f"--plot: nothing to draw in {path}: no run was measured against {against}")
    title = f"how many times faster than {against}, run by run (logarithmic)"
    if _is_png(path):
        _png_lines(series, title, path)
    else:
        path.write_text(svg_lines(series, title), encoding="utf-8")


def _is_png(path: Path) -> bool:
    if path.suffix == ".svg":
        return False
    if path.suffix != ".png":
        raise ArgumentError(f"--plot: {path} must end in .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise ArgumentError(f"--plot: a PNG needs matplotlib, which is not installed; write {path.with_suffix('.svg')}")
    return True


# SVG


class Scale:
    """Maps ratios to pixels, logarithmically."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(*values, 0.9), max(*values, 1.1)
        self.low, self.high = math.log(low) - 0.05, math.log(high) + 0.05
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        place = (math.log(max(value, 1e-9)) - self.low) / (self.high - self.low)
        return round(self.start + place * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Round ratios inside the scale."""
        return [each for each in TICKS if self.low <= math.log(each) <= self.high]


def _document(width: float, height: float, body: list[str], title: str, note: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="12">'
    )
    lines = [head, f'<rect width="{width:g}" height="{height:g}" fill="white"/>']
    lines.append(f'<text x="16" y="24" font-size="15" font-weight="bold">{escape(title)}</text>')
    size = min(11.0, (width - 32) / (0.6 * max(len(note), 1)))  # a letter is at most about 0.6 of its height wide
    lines.append(f'<text x="16" y="42" fill="#666" font-size="{size:.3g}">{escape(note)}</text>')
    return "\n".join([*lines, *body, "</svg>"]) + "\n"


def svg_bars(bars: Sequence[Bar], title: str, note: str) -> str:
    """Bars that start at 1: to the right faster, to the left slower."""
    left, right, row, top = 300.0, 940.0, 17.0, 64.0
    values = [v for bar in bars for v in (*bar.ratio, bar.target or 1.0)]
    scale = Scale(values, left, right)
    labels = list(dict.fromkeys(bar.label for bar in bars))
    body, y, group = [], top, ""
    for bar in bars:
        if bar.group != group:
            group = bar.group
            body.append(f'<text x="16" y="{y + 14:g}" font-weight="bold">{escape(group)}</text>')
            y += row + 3
        one, end = scale(1.0), scale(bar.ratio.median)
        low, high = scale(bar.ratio.low), scale(bar.ratio.high)
        colour = PALETTE[labels.index(bar.label) % len(PALETTE)]
        body.append(f'<text x="{left - 8:g}" y="{y + 11:g}" text-anchor="end">{escape(bar.label)}</text>')
        body.append(
            f'<rect x="{min(one, end):g}" y="{y + 2:g}" width="{abs(end - one):.1f}" height="{row - 5:g}" '
            f'fill="{colour}"/>'
        )
        middle = y + row / 2 - 0.5
        body.append(f'<line x1="{low:g}" x2="{high:g}" y1="{middle:g}" y2="{middle:g}" stroke="black"/>')
        if bar.target is not None:
            x = scale(bar.target)
            body.append(
                f'<line x1="{x:g}" x2="{x:g}" y1="{y:g}" y2="{y + row - 1:g}" stroke="black" stroke-width="2.5"/>'
            )
        body.append(f'<text x="{right + 12:g}" y="{y + 11:g}">{bar.ratio.median:.2f}</text>')
        y += row
    axis = [
        f'<line x1="{scale(tick):g}" x2="{scale(tick):g}" y1="{top - 4:g}" y2="{y:g}" '
        f'stroke="{"#333" if tick == 1 else "#ddd"}"/>'
        f'<text x="{scale(tick):g}" y="{y + 14:g}" text-anchor="middle" fill="#666">{tick:g}</text>'
        for tick in scale.ticks()
    ]
    return _document(1000, y + 28, axis + body, title, note)


def svg_lines(series: dict[str, list[Point]], title: str) -> str:
    """One line a series, one place a run."""
    left, right, top, bottom = 60.0, 640.0, 64.0, 464.0
    dates = sorted({point.date for points in series.values() for point in points})
    scale = Scale([v for points in series.values() for point in points for v in point.ratio], bottom, top)
    step = (right - left) / max(1, len(dates) - 1)
    body = [
        f'<line x1="{left:g}" x2="{right:g}" y1="{scale(tick):g}" y2="{scale(tick):g}" '
        f'stroke="{"#333" if tick == 1 else "#ddd"}"/>'
        f'<text x="{left - 8:g}" y="{scale(tick) + 4:g}" text-anchor="end" fill="#666">{tick:g}</text>'
        for tick in scale.ticks()
    ]
    for number, date in enumerate(dates):
        if number in (0, len(dates) - 1):
            anchor = "start" if number == 0 else "end"
            x = left + step * number
            body.append(f'<text x="{x:g}" y="{bottom + 20:g}" text-anchor="{anchor}" fill="#666">{escape(date)}</text>')
    height = max(bottom, top + 16.0 * len(series)) + 36
    for number, (name, points) in enumerate(series.items()):
        colour = PALETTE[number % len(PALETTE)]
        places = [(left + step * dates.index(p.date), p) for p in points]
        path = " ".join(f"{x:g},{scale(p.ratio.median):g}" for x, p in places)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for x, point in places:
            low, high = scale(point.ratio.low), scale(point.ratio.high)
            body.append(f'<line x1="{x:g}" x2="{x:g}" y1="{low:g}" y2="{high:g}" stroke="{colour}"/>')
            body.append(f'<circle cx="{x:g}" cy="{scale(point.ratio.median):g}" r="3" fill="{colour}"/>')
        y = top + 16 * number
        body.append(f'<rect x="{right + 24:g}" y="{y:g}" width="10" height="10" fill="{colour}"/>')
        body.append(f'<text x="{right + 40:g}" y="{y + 9:g}">{escape(name)}</text>')
    return _document(1000, height, body, title, f"{len(dates)} runs")


# PNG


def _figure(width: float, height: float) -> tuple[Any, Any]:
    figures: Any = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _png_bars(bars: Sequence[Bar], title: str, note: str, path: Path) -> None:
    figure, axes = _figure(10, 1.2 + 0.2 * len(bars))
    labels = list(dict.fromkeys(bar.label for bar in bars))
    for y, bar in enumerate(bars):
        colour = PALETTE[labels.index(bar.label) % len(PALETTE)]
        axes.barh(y, bar.ratio.median - 1, left=1, color=colour, height=0.7)
        axes.plot([bar.ratio.low, bar.ratio.high], [y, y], color="black", linewidth=1)
        if bar.target is not None:
            axes.plot([bar.target, bar.target], [y - 0.45, y + 0.45], color="black", linewidth=2.5)
    axes.set_xscale("log")
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_yticks(range(len(bars)), [f"{bar.group} / {bar.label}" for bar in bars], fontsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(note, fontsize=6)
    figure.savefig(path, dpi=120)


def _png_lines(series: dict[str, list[Point]], title: str, path: Path) -> None:
    figure, axes = _figure(10, 5)
    dates = sorted({point.date for points in series.values() for point in points})
    for number, (name, points) in enumerate(series.items()):
        xs = [dates.index(point.date) for point in points]
        axes.plot(xs, [p.ratio.median for p in points], marker="o", label=name, color=PALETTE[number % len(PALETTE)])
    axes.set_yscale("log")
    axes.set_xticks(range(len(dates)), dates, rotation=30, ha="right", fontsize=7)
    axes.axhline(1, color="#333333", linewidth=1)
    axes.legend(fontsize=7)
    axes.set_title(title, fontsize=10)
    figure.savefig(path, dpi=120)
