"""What was measured, as a table; and a line of progress for those who wait at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field

from burn.classes import dataclass
from burn.engine.tuning.question import Question
from burn.scoped import Scoped

WIDTH = 30


@dataclass(frozen=True)
class Row:
    """One question: median seconds of the steps that differ, by candidate; none where the plans were the same.

    `faults` say why a candidate did not take part.
    """

    question: Question
    default: str
    chosen: str
    medians: Mapping[str, float]
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        """How many times faster the chosen candidate does the steps than the default."""
        if self.chosen == self.default or not self.medians:
            return 1.0
        return self.medians[self.default] / max(self.medians[self.chosen], 1e-12)


@dataclass
class Report:
    """All questions of a plan that were measured: what `burn.tune` gives.

    Arguments:
        rows: a question each.
        before, after: seconds of whole runs; 0 if nothing changed.
        kept_defaults: whether the winners were not faster together, so that nothing was changed.
        note: what is printed where there are no rows.

    >>> from burn.engine.tuning import Report
    >>> print(Report([]))
    nothing to measure: every answer is known, or the plan leaves no choice
    """

    rows: list[Row]
    before: float = 0.0
    after: float = 0.0
    kept_defaults: bool = False
    note: str = ""

    @property
    def changed(self) -> list[Row]:
        """Questions with another answer than the default."""
        return [] if self.kept_defaults else [each for each in self.rows if each.chosen != each.default]

    def __str__(self) -> str:
        if not self.rows:
            return self.note or "nothing to measure: every answer is known, or the plan leaves no choice"
        lines = [f"{'chosen':<18} {'gain':>5}  question and candidates"]
        for row in self.rows:
            numbers = " ".join(map(str, row.question.numbers))
            lines.append(f"{row.chosen:<18} {row.gain:>5.2f}  {row.question.family} {numbers}")
            medians = [f"{name} {seconds * 1e6:.1f} µs" for name, seconds in row.medians.items()]
            said = ", ".join(medians) or "the same steps either way"
            said += "".join(f"; {name}: {why}" for name, why in row.faults.items())
            lines.append(f"{'':<18} {'':>5}    {said}")
        lines.append(self._summary())
        return "\n".join(lines)

    def _summary(self) -> str:
        counted = f"{len(self.rows)} measured, {len(self.changed)} changed"
        if self.kept_defaults:
            return (
                f"{counted}: together the winners were slower, {self.before * 1e3:.3g} ms to {self.after * 1e3:.3g} ms"
            )
        if not self.before:
            return counted
        return f"{counted}; the whole plan: {self.before * 1e3:.3g} ms before, {self.after * 1e3:.3g} ms after"


def bar(done: int, total: int, what: str) -> None:
    """Progress on a terminal, in a line that is written over."""
    if not sys.stderr.isatty():
        return
    if done >= total:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return
    full = WIDTH * done // max(total, 1)
    print(
        f"\r\x1b[Ktuning [{'#' * full}{'.' * (WIDTH - full)}] {done}/{total}  {what[:60]}",
        end="",
        file=sys.stderr,
        flush=True,
    )


Listener = Callable[[Report], None]


_listener: Scoped[Listener | None] = Scoped(None)


def listening(listener: Listener) -> AbstractContextManager[object]:
    """Hear of every report of plans that are made in this thread inside a `with` block."""
    return _listener.holds(listener)


def tell(report: Report) -> None:
    """Tell a listener of this thread."""
    if _listener.value is not None and report.rows:
        _listener.value(report)
