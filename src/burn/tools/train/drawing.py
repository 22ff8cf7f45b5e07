"""The curves of a training in a file: PNG where matplotlib is installed, SVG and HTML by our own hand."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from burn.errors import ArgumentError, MissingOperation
from burn.train.renderer.curves import Line, Panel, colour_of, svg
from burn.train.renderer.history import FullHistory
from burn.train.summary import EpochLog, LearnerSummary, Logs, read_logs, title_of

FORMATS = (".png", ".svg", ".html")
POINTS = 600


def panels_of(logs: Logs) -> list[Panel]:
    """A panel for each metric with a line for each split, in the order of the logs."""
    names = list(dict.fromkeys(name for named in logs.values() for name in named))
    return [
        Panel(name, [_line(title_of(split), named[name]) for split, named in logs.items() if name in named])
        for name in names
    ]


def _line(label: str, epochs: Sequence[EpochLog]) -> Line:
    """The batches of an epoch are spread over it, so epochs of different lengths keep their places."""
    history = FullHistory(POINTS)
    for log in epochs:
        for index, value in enumerate(log.values, 1):
            history.push((log.epoch - 1 + index / len(log.values), value))
    return Line(label, history.points, [(float(log.epoch), log.mean) for log in epochs])


def draw(directory: Path, output: Path, metrics: Sequence[str] | None = None, title: str = "") -> None:
    """Draw the metrics of an artifact folder into a file whose ending says how."""
    if output.suffix not in FORMATS:
        raise ArgumentError(f"burn-train plot: {output} must end in {', '.join(FORMATS)}")
    logs = read_logs(directory, metrics)
    panels = panels_of(logs)
    unknown = sorted(set(metrics or ()) - {panel.title for panel in panels})
    if unknown or not panels:
        known = ", ".join(panel.title for panel in panels_of(read_logs(directory))) or "none"
        what = f"no log of {', '.join(unknown)}" if unknown else "no log of a numeric metric"
        raise ArgumentError(f"burn-train plot: {what} in {directory}; there are: {known}")
    title = title or directory.resolve().name
    if output.suffix == ".png":
        _png(panels, title, output)
    elif output.suffix == ".svg":
        output.write_text(svg(panels, title), encoding="utf-8")
    else:
        output.write_text(html(panels, title, LearnerSummary(directory, metrics)), encoding="utf-8")


def html(panels: Sequence[Panel], title: str, summary: LearnerSummary) -> str:
    """A page that stands alone: the curves and the summary."""
    head = "<tr><th>Split</th><th>Metric</th><th>Min.</th><th>Epoch</th><th>Max.</th><th>Epoch</th></tr>"
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in summary.rows())
    notices = "".join(f"<p>{escape(each)}</p>" for each in summary.notices)
    style = "body{font-family:sans-serif;margin:2em}td,th{padding:2px 12px;text-align:left}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>\n<h1>{escape(title)}</h1>\n{svg(panels)}"
        f"<h2>Summary of {summary.epochs} epochs</h2>\n<table>{head}\n{rows}</table>{notices}\n</body></html>\n"
    )


def _png(panels: Sequence[Panel], title: str, output: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        other = output.with_suffix(".svg")
        raise MissingOperation(f"burn-train plot: a PNG needs matplotlib, which is not installed; write {other}")
    figures: Any = importlib.import_module("matplotlib.figure")
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = figures.Figure(figsize=(5.5 * columns, 3.4 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for index, panel in enumerate(panels):
        place = axes[index // columns][index % columns]
        for number, line in enumerate(panel.lines):
            colour = colour_of(line.label, number)
            place.plot(*zip(*line.points), color=colour, alpha=0.4, linewidth=1) if line.points else None
            place.plot(*zip(*line.marks), color=colour, marker="o", markersize=3, label=line.label)
        place.set_title(panel.title, fontsize=10)
        place.set_xlabel("epoch", fontsize=8)
        place.grid(alpha=0.3)
        place.legend(fontsize=8)
    for index in range(len(panels), rows * columns):
        axes[index // columns][index % columns].axis("off")
    figure.suptitle(title)
    figure.savefig(output, dpi=120)
