"""What the entries of metrics look like in small places: a table's cells, a line of a log."""

from __future__ import annotations

import math
import re

from burn.train.renderer.protocol import MetricState

NUMERIC = re.compile(r"^epoch (?P<epoch>.+?) - batch (?P<batch>.+)$")
ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")


def cells(formatted: str, name: str = "") -> tuple[str, str]:
    """The epoch's and the batch's value of an entry, with units; an entry of another form is all in the first.

    A name that the entry repeats before its value is left out.
    """
    formatted = formatted.removeprefix(f"{name}: ")
    found = NUMERIC.match(formatted)
    return (found["epoch"].strip(), found["batch"].strip()) if found else (formatted, "")


def epoch_cell(state: MetricState) -> str:
    """The value over the epoch so far, as short as it comes."""
    return cells(state.entry.formatted, state.entry.name)[0]


def number(value: float) -> str:
    """A number on an axis: two decimals, three digits below 0.1, scientific where they would show nothing."""
    if not math.isfinite(value):
        return str(value)
    if value and (abs(value) < 0.01 or abs(value) >= 1e6):
        return f"{value:.1e}"
    return f"{value:#.3g}" if 0 < abs(value) < 0.1 else f"{value:.2f}"


def printable(line: str) -> str:
    """A line that a program printed for a terminal, as it would have stood there at last: no escape sequences, and
    only what follows the last carriage return."""
    shown = [part for part in ESCAPES.sub("", line).split("\r") if part]
    return "".join(each for each in (shown[-1] if shown else "") if each.isprintable() or each == "\t").expandtabs(4)
