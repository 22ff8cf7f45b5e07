"""Two runs side by side, and the history of all.

Times of two runs were not taken in turns, so the machine's mood is in them. Where both runs measured
the same peer, the change of the ratio to that peer says more, and is what the verdict looks at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from burn_bench.report import Paint, duration, subjects_of
from burn_bench.results import Outcome, Run
from burn_bench.spread import Spread, noise_of, ratios, spread

YARDSTICKS = ("torch", "onnxruntime", "numpy", "jax", "libtorch")
"""Peers by which two runs are made comparable, the first that both have."""


class Change(NamedTuple):
    """One engine on one benchmark in two runs. `ratio` above 1 says that the second is faster."""

    title: str
    engine: str
    before: float
    after: float
    yardstick: str
    ratio: float
    noise: float

    @property
    def verdict(self) -> str:
        """`faster`, `slower` or `level`."""
        if abs(self.ratio - 1) <= self.noise:
            return "level"
        return "faster" if self.ratio > 1 else "slower"


def changes(first: Run, second: Run) -> list[Change]:
    """What both runs measured of our engines."""
    found = []
    for before in first.outcomes:
        after = second.outcome(before.title)
        if after is not None:
            found += list(_changes(first, before, after))
    return found


def _changes(first: Run, before: Outcome, after: Outcome) -> Iterator[Change]:
    for engine in first.ours:
        one, other = before.times(engine), after.times(engine)
        if not one or not other:
            continue
        old, new = spread(one), spread(other)
        yardstick = next((name for name in YARDSTICKS if before.times(name) and after.times(name)), "")
        if yardstick and yardstick != engine:
            was, now = (spread(ratios(x.times(engine), x.times(yardstick))) for x in (before, after))
            ratio, noise = now.median / was.median, _relative(was) + _relative(now)
        else:
            yardstick, ratio, noise = "", old.median / new.median, _relative(old) + _relative(new)
        for outcome in (before, after):
            if engine in outcome.again:
                noise = max(noise, noise_of(outcome.times(engine), outcome.again[engine]))
        yield Change(before.title, engine, old.median, new.median, yardstick, ratio, noise)


def _relative(value: Spread) -> float:
    """Half the distance of the quartiles, as a share of the median."""
    return (value.high - value.low) / 2 / value.median


def comparison(first: Run, second: Run, colour: bool | None = None) -> str:
    """The changes as a table."""
    paint = Paint(colour)
    lines = [f"A: {first.commit}, {first.date}, {first.machine['processor']}"]
    lines += [f"B: {second.commit}, {second.date}, {second.machine['processor']}", ""]
    if first.machine["processor"] != second.machine["processor"]:
        lines += ["the machines differ: only ratios to a peer mean something", ""]
    lines.append(f"{'benchmark':<44} {'engine':<14} {'A':>9} {'B':>9}  {'B is × A':>8}  {'noise':>6}  by")
    shades = {"faster": "met", "slower": "missed", "level": "absent"}
    for each in changes(first, second):
        by = f"ratio to {each.yardstick}" if each.yardstick else "time"
        lines.append(
            f"{each.title:<44} {each.engine:<14} {duration(each.before):>9} {duration(each.after):>9}  "
            f"{each.ratio:>8.2f}  {each.noise:>6.0%}  {by}: {paint(shades[each.verdict], each.verdict)}"
        )
    return "\n".join(lines) + "\n"


class Point(NamedTuple):
    """One run in a history."""

    date: str
    commit: str
    ratio: Spread


def history(
    runs: list[Run], against: str, engine: str | None = None, names: list[str] | None = None
) -> dict[str, list[Point]]:
    """For each benchmark, how many times faster than `against` one of our engines was in each run."""
    series: dict[str, list[Point]] = {}
    for run in runs:
        for outcome in run.outcomes:
            if names and not any(outcome.title.startswith(name) for name in names):
                continue
            for subject in [engine] if engine else subjects_of(run, outcome):
                ours, theirs = outcome.times(subject), outcome.times(against)
                if ours and len(ours) == len(theirs):
                    point = Point(run.date, run.commit, spread(ratios(ours, theirs)))
                    series.setdefault(f"{outcome.title} {subject}", []).append(point)
    return series
