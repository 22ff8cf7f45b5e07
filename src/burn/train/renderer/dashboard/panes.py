"""The panes as styled text: functions from the state and a size to lines, which any Rich or Textual screen can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from rich.text import Text

from burn.train.renderer.braille import plot
from burn.train.renderer.dashboard.state import PLOT_KINDS, SPLITS, TITLES, DashboardState, Gauge
from burn.train.renderer.text import cells, number

COLOURS = {"train": "#ff8a80", "valid": "#82b1ff", "total": "#ffd54f"}
EIGHTHS = " ▏▎▍▌▋▊▉"


def controls() -> Text:
    """The keys."""
    rows = (("q", "stop training"), ("←/→", "switch metric"), ("↑/↓", "switch plot"))
    return Text("\n").join(Text.assemble((f"{key:<4}", "bold"), what) for key, what in rows)


def metrics(state: DashboardState, width: int) -> Text:
    """For each metric its name, then a line for each split: the epoch's and the batch's value."""
    lines: list[Text] = []
    for name, entries in state.entries.items():
        style = "bold reverse" if name == state.selected else "bold"
        lines.append(Text(_cut(name, width), style=style))
        for split in SPLITS:
            if split in entries:
                lines.append(_metric_line(name, split, entries[split], width))
    if not lines:
        return Text("no metrics yet", style="dim")
    return Text("\n").join(lines)


def _metric_line(name: str, split: str, formatted: str, width: int) -> Text:
    head = f" {TITLES[split]} "
    room = max(2, width - len(head))
    epoch, batch = cells(formatted, name) if formatted else ("-", "")
    line = Text(head, style=COLOURS[split])
    if not batch:
        return line.append(_cut(epoch, room), style="default")
    half = min(room // 2, 24)
    return line.append(f"{_cut(epoch, half - 1):<{half}}{_cut(batch, room - half)}", style="default")


def status(state: DashboardState) -> Text:
    """Mode, epoch, iteration, items."""
    rows = state.status()
    return Text("\n").join(Text.assemble((f"{name:<10}", "dim"), value) for name, value in rows)


def gauges(state: DashboardState, width: int) -> Text:
    """Two bars with their shares and the time that is left."""
    task, total = state.gauges()
    return Text("\n").join([_gauge(task, COLOURS[state.split], width), _gauge(total, COLOURS["total"], width)])


def _gauge(gauge: Gauge, colour: str, width: int) -> Text:
    head, tail = f"{gauge.title:<6}", f" {gauge.share:4.0%} {gauge.left:>10}"
    room = max(4, width - len(head) - len(tail))
    eighths = int(gauge.share * room * 8)
    bar = "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")
    return Text.assemble(head, (bar, colour), ("░" * (room - len(bar)), "dim"), tail)


def tabs(names: Sequence[str], selected: int, width: int) -> tuple[Text, list[tuple[int, int, int]]]:
    """A line of tabs in which the selected one is seen, and where each stands: (first column, after it, step).

    The step is how far the tab is from the selected one; chevrons at the sides lead to those that have no room.
    """
    if not names:
        return Text("no numeric metrics yet", style="dim"), []
    selected %= len(names)
    labels = [f" {_cut(name, max(3, width - 6))} " for name in names]
    first = last = selected
    used = len(labels[selected])
    while True:  # grows around the selected one while there is room for it and two chevrons
        room = width - used - 4
        if last + 1 < len(names) and len(labels[last + 1]) + 1 <= room:
            last += 1
            used += len(labels[last]) + 1
        elif first > 0 and len(labels[first - 1]) + 1 <= room:
            first -= 1
            used += len(labels[first]) + 1
        else:
            break
    line, places = Text(), []
    if first > 0:
        places.append((0, 2, first - 1 - selected))
        line.append("‹ ")
    for index in range(first, last + 1):
        start = len(line)
        line.append(labels[index], style="bold reverse" if index == selected else "")
        places.append((start, len(line), index - selected))
        if index < last:
            line.append("│", style="dim")
    if last + 1 < len(names):
        places.append((len(line), len(line) + 2, last + 1 - selected))
        line.append(" ›")
    return line, places


def kinds(state: DashboardState, width: int) -> Text:
    """The kinds of plot, the shown one marked, and what the colours mean."""
    line = Text()
    for index, kind in enumerate(PLOT_KINDS):
        line.append(
            f"{'●' if index == state.plot_kind else '○'} {kind}  ", style="" if index == state.plot_kind else "dim"
        )
    legend = Text()
    for split in SPLITS:
        legend.append(f"━ {TITLES[split]} ", style=COLOURS[split])
    if len(line) + len(legend) > width:
        line = Text(f"● {PLOT_KINDS[state.plot_kind]}  ")
    line.pad_right(max(0, width - len(line) - len(legend)))
    return line.append_text(legend)


def chart(state: DashboardState, width: int, height: int) -> Text:
    """The plot of the selected metric."""
    if PLOT_KINDS[state.plot_kind] == "By epoch":
        return _by_epoch(state, width, height)
    rows = []
    for row in plot(state.curves(), width, height):
        line = Text()
        for owner, run in groupby(row, key=itemgetter(1)):
            line.append("".join(c for c, _ in run), style="" if owner is None else COLOURS[SPLITS[owner]])
        rows.append(line)
    return Text("\n").join(rows)


def _by_epoch(state: DashboardState, width: int, height: int) -> Text:
    found = state.epochs()
    if not found:
        return Text("\n" * ((height - 1) // 2) + "no epoch has ended yet".center(width), style="dim")
    found = found[-height:]
    top = max((abs(value) for _, _, value in found if math.isfinite(value)), default=0.0) or 1.0
    rows = []
    for epoch, split, value in found:
        head, tail = f"{epoch:>4} {TITLES[split]} ", f" {number(value)}"
        room = max(1, width - len(head) - 10)
        length = int(abs(value) / top * room) if math.isfinite(value) else 0
        rows.append(Text.assemble(head, ("█" * length, COLOURS[split]), tail))
    return Text("\n").join(rows)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
