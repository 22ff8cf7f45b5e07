"""A run as text: a table for each benchmark, and the targets with their verdicts.

An engine's row says how long a call takes and, in the columns on the right, how many times faster
than it each of our engines is. The row `cpu again` is our engine against itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from burn_bench.benchmark import Target
from burn_bench.results import Outcome, Run
from burn_bench.spread import LEAST_BLOCKS, Spread, best_of, noise_of, ratios, spread, verdict

COLOURS = {"aim": "32", "met": "32", "level": "33", "unsure": "33", "missed": "31", "failed": "31", "absent": "2"}
PRIMARY = ("cpu", "cpu-captured")
BUSY = 0.1
"""Where others take more than this share of the machine, there is no verdict."""

MANY_FAULTS = 50
"""From so many page faults a call on, the report mentions them."""


class Judgement(NamedTuple):
    """A target and what came of it."""

    target: Target
    peer: str
    ratio: Spread | None
    noise: float | None
    verdict: str
    reason: str = ""


def judge(outcome: Outcome, target: Target) -> Judgement:
    """Hold a target against the blocks. Where several peers are named, the fastest counts."""
    ours = outcome.times(target.subject)
    peers = {name: outcome.times(name) for name in target.peers if outcome.times(name)}
    if not ours or not peers:
        return Judgement(target, "", None, None, "no data")
    peer = best_of(peers)
    found = ratios(ours, peers[peer])
    again = outcome.again.get(target.subject)
    noise = noise_of(ours, again) if again else None
    said = verdict(found, target.at_least, target.aim, noise or 0.0)
    reason = ""
    if len(found) < LEAST_BLOCKS:
        reason = f"fewer than {LEAST_BLOCKS} blocks"
    elif outcome.others > BUSY:
        said, reason = "unsure", f"others took {outcome.others:.0%} of the machine"
    elif said == "unsure":
        reason = "too noisy"
    return Judgement(target, peer, spread(found), noise, said, reason)


def judgements(run: Run) -> list[tuple[Outcome, Judgement]]:
    """Every target of a run."""
    return [(outcome, judge(outcome, target)) for outcome in run.outcomes for target in outcome.targets]


def duration(seconds: float) -> str:
    """A time with three digits and a fitting unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        value = seconds * factor
        if value >= 0.9995 or unit == "ns":
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    raise AssertionError("unreachable")


def between(value: Spread) -> str:
    """A ratio with its quartiles."""
    return f"{digits(value.median)} ({digits(value.low)}–{digits(value.high)})"


def digits(value: float) -> str:
    """A ratio with two decimals, fewer where it is large."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def bandwidth(outcome: Outcome, engine: str) -> float | None:
    """The share of the memory bandwidth that an engine reached, by the copy of as many bytes in the same blocks."""
    ours, copy = outcome.times(engine), outcome.times("copy")
    return spread(ratios(ours, copy)).median if outcome.traffic and ours and copy else None


def subjects_of(run: Run, outcome: Outcome) -> list[str]:
    """Our engines that get a column."""
    measured = [name for name in run.ours if outcome.times(name)]
    return [name for name in PRIMARY if name in measured] or measured[:1]


def table(run: Run, outcome: Outcome, paint: Paint) -> Iterator[str]:
    """The lines of one benchmark."""
    yield paint.bold(f"{outcome.name} {outcome.shapes}") + (f"  {outcome.summary}" if outcome.summary else "")
    if outcome.failure:
        yield f"  {paint('failed', outcome.failure)}"
        return
    subjects = subjects_of(run, outcome)
    heads = "".join(f"  {name + ' is ×':<19}" for name in subjects)
    shares = outcome.traffic is not None and bool(outcome.times("copy"))
    yield f"  {'engine':<20} {'time':>8}  {'quartiles':<19}{heads}{'  bandwidth' if shares else ''}".rstrip()
    for label, times, failure, kind, notes in rows(outcome):
        if failure:
            yield f"  {label:<20} {paint(kind, f'{kind}: {failure}' if kind != 'absent' else failure)}"
            continue
        found = spread(times)
        quartiles = f"{duration(found.low)} – {duration(found.high)}"
        cells = ""
        for subject in subjects:
            own = outcome.times(subject)
            same = label == subject or len(own) != len(times)
            cells += f"  {'' if same else between(spread(ratios(own, times))):<19}"
        share = bandwidth(outcome, label)
        tail = f"  {share:>9.0%}" if share is not None else ""
        yield f"  {label:<20} {duration(found.median):>8}  {quartiles:<19}{cells}{tail}".rstrip()
        for note in notes:
            yield f"  {'':<20} note: {note}"
    for target in outcome.targets:
        yield "  " + sentence(judge(outcome, target), paint)


def rows(outcome: Outcome) -> Iterator[tuple[str, list[float], str, str, list[str]]]:
    """Engines in the order in which they ran, copies after their originals."""
    for name, found in outcome.engines.items():
        paging = [f"{found.faults:.0f} page faults a call"] if found.faults >= MANY_FAULTS else []
        yield name, found.times, found.failure, found.kind, found.notes + paging
        if name in outcome.again:
            yield f"{name} again", outcome.again[name], "", "", []


def sentence(judged: Judgement, paint: Paint) -> str:
    """A target, its ratio and its verdict in one line."""
    target = judged.target
    head = f"target: {target.title()}:"
    if judged.ratio is None:
        return f"{head} {paint('absent', 'no data')}"
    against = f" against {judged.peer}" if len(target.peers) > 1 else ""
    noise = "" if judged.noise is None else f"; us against us ±{judged.noise:.0%}"
    why = f" ({judged.reason})" if judged.reason else ""
    return f"{head} {between(judged.ratio)}{against}: {paint(judged.verdict, words(judged.verdict))}{why}{noise}"


def words(name: str) -> str:
    """A verdict as it is printed."""
    return {"aim": "met, and the aim too", "missed": "MISSED"}.get(name, name)


def report(run: Run, colour: bool | None = None) -> str:
    """The whole run."""
    tables = [one(run, outcome, colour) for outcome in run.outcomes]
    return "\n".join([f"{heading(run)}\n", *tables, ending(run, colour)])


def one(run: Run, outcome: Outcome, colour: bool | None = None) -> str:
    """The table of one benchmark."""
    return "\n".join(table(run, outcome, Paint(colour))) + "\n"


def ending(run: Run, colour: bool | None = None) -> str:
    """What can be said of a run as a whole."""
    paint, lines = Paint(colour), []
    counted = judgements(run)
    if counted:
        counts: dict[str, int] = {}
        for _, judged in counted:
            counts[judged.verdict] = counts.get(judged.verdict, 0) + 1
        lines.append("targets: " + ", ".join(f"{count} {words(name)}" for name, count in counts.items()))
    absent = [f"{name}: {text}" for name, text in run.versions.items() if text.startswith("not installed")]
    lines += [f"left out: {'; '.join(absent)}"] if absent else []
    if run.disturbance:
        others, stolen = run.disturbance["others"], run.disturbance["stolen"]
        lines.append(f"other processes took {others:.0%} of the machine, other machines on its host {stolen:.1%}")
        if others + stolen > BUSY:
            lines.append(paint("missed", "the machine was busy with other things: repeat the run before believing it"))
    return "\n".join(lines) + "\n"


def heading(run: Run) -> str:
    """Where and when."""
    machine, settings = run.machine, run.settings
    tune = settings.get("tune", "remembered")
    tuning = "" if tune == "remembered" else f", tuning {tune}"
    return (
        f"burn-dl {run.version} at {run.commit}, {run.date}, {machine['processor']}, {machine['cores']} cores, "
        f"{machine['threads']} threads, Python {machine['python']}; medians of {settings['blocks']} interleaved blocks "
        f"of about {settings['seconds']:g} s{tuning}"
    )


def faults(run: Run) -> list[str]:
    """What went wrong with our own engines: exceptions and wrong results."""
    return [
        f"{outcome.title} on {name}: {found.kind}: {found.failure}"
        for outcome in run.outcomes
        for name, found in outcome.engines.items()
        if name in run.ours and found.kind in ("wrong", "failed")
    ]


class Paint:
    """Colours a word by what it says, where colours are wanted."""

    def __init__(self, colour: bool | None = None) -> None:
        automatic = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.colour = automatic if colour is None else colour

    def __call__(self, kind: str, text: str) -> str:
        code = COLOURS.get("failed" if kind == "wrong" else kind)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def bold(self, text: str) -> str:
        """A headline."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text
