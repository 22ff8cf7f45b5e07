"""Measuring the questions of one plan, one after the other, each among the best answers to those before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from burn.backend.cpu.pool import pool
from burn.backend.cpu.tuning.known import answers
from burn.backend.cpu.tuning.timing import Contestant, agree, time_differences, time_whole
from burn.engine.tuning.inputs import MadeUp
from burn.engine.tuning.question import Question
from burn.engine.tuning.report import Report, Row, bar
from burn.engine.tuning.verdict import decide

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan

SLOWER = 1.02
"""A plan with all its winners that takes more than this of the plan before is not believed: defaults are kept."""

Progress = Callable[[int, int, str], None]
"""Told how many questions are done, of how many, and which comes next."""

Make = Callable[[Mapping[Question, str]], "Plan"]
"""Makes the plan anew, with these answers."""


def measure(plan: Plan, make: Make, again: bool = False, progress: Progress | None = None) -> Report:
    """Find out the answers that a plan needs and nobody knows, and remember them; `again` asks for all of them."""
    asked, told = plan.asked, progress or bar
    known = {each: answers().of(each) for each in asked.defaults}
    open_questions = [each for each in asked.defaults if again or known[each] is None]
    best = {each: known[each] or default for each, default in asked.defaults.items()}
    if again:
        best = dict(asked.defaults)
    before = dict(best)
    if not open_questions:
        return Report([])
    if not _has_the_team():
        return Report([], note="nothing was measured: this process has fewer threads now than plans are made for")
    inputs = MadeUp(plan.source, plan.free)
    rows = []
    for number, question in enumerate(open_questions):
        told(number, len(open_questions), question.title())
        row = _measured(question, asked.defaults[question], best, make, inputs)
        best[question] = row.chosen
        rows.append(row)
    told(len(open_questions), len(open_questions), "")
    report = Report(rows)
    if best != before:
        report.before, report.after = _whole(make, inputs, before, best)
        if report.after > SLOWER * report.before:
            report.kept_defaults = True
            best = before
    answers().add({row.question: best[row.question] for row in rows if row.medians})  # others may differ elsewhere
    return report


def _has_the_team() -> bool:
    """Whether this thread may run plans as they will run: on all threads."""
    current = pool()
    return current.running() == current.threads and not current.forked


def _measured(question: Question, default: str, best: Mapping[Question, str], make: Make, inputs: MadeUp) -> Row:
    """One question: plans that differ in its answer alone."""
    contestants: dict[str, Contestant] = {}
    faults: dict[str, str] = {}
    for candidate in (default, *(each for each in question.candidates if each != default)):
        try:
            made = Contestant(make({**best, question: candidate}), inputs)
        except Exception as error:  # a candidate that cannot run is no reason to fail: the default can
            faults[candidate] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        if default in contestants and not agree(contestants[default].result, made.result):
            faults[candidate] = "gives other results"
            continue
        contestants[candidate] = made
    if default not in contestants:
        return Row(question, default, default, {}, faults)
    times = time_differences(contestants) if len(contestants) > 1 else {}
    import statistics  # of no use to those who only run plans

    medians = {name: statistics.median(found) for name, found in times.items()}
    return Row(question, default, decide(times, default), medians, faults)


def _whole(
    make: Make, inputs: MadeUp, before: Mapping[Question, str], after: Mapping[Question, str]
) -> tuple[float, float]:
    """Seconds of the plan with the answers of before and of after."""
    import statistics

    contestants = {"before": Contestant(make(before), inputs), "after": Contestant(make(after), inputs)}
    times = time_whole(contestants)
    return statistics.median(times["before"]), statistics.median(times["after"])
