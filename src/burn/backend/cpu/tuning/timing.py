"""Timing plans against each other: whole runs by turns, and of each run the seconds of the steps that differ."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.runner import StepArray
from burn.engine.tuning.inputs import MadeUp

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan

FEWEST_ROUNDS, MOST_ROUNDS = 9, 61
SECONDS = 0.4
"""About how long the rounds of one question take, where that is enough for the fewest."""

TOLERANCE = 1e-3
"""How far the results of two candidates may lie apart, of the largest: beyond that one of them is broken."""

Steps = list[tuple[Hashable, float]]


class Contestant:
    """A plan with memory of its own, and the inputs that all contestants share."""

    def __init__(self, plan: Plan, inputs: MadeUp) -> None:
        self.instance, self.inputs = plan.take(), inputs
        self.result = self.run()[0]
        self.run()  # what depends on weights alone is done by now

    def run(self) -> tuple[list[Any], Steps]:
        """Run the plan step by step; its results, and each step with its seconds."""
        seen: list[_Watched] = []
        results = self._once(self.inputs.next(), seen)
        return results, [step for each in seen for step in each.steps]

    def whole(self) -> float:
        """The seconds of a plain run."""
        inputs = self.inputs.next()
        before = time.perf_counter()
        self._once(inputs)
        return time.perf_counter() - before

    def _once(self, inputs: Sequence[Any], seen: list[_Watched] | None = None) -> list[Any]:
        """Run once; with `seen` step by step, and what was watched is added to it."""
        instance, scalars = self.instance, self.inputs.scalars
        try:
            instance.bind_all(inputs, scalars)
            if seen is not None:
                watched: list[Any] = [_Watched(e) if isinstance(e, StepArray) else e for e in instance.segments]
                seen += (each for each in watched if isinstance(each, _Watched))
                instance.segments, instance.steady = watched, False
            return instance.run(inputs, scalars)
        except BaseException:
            instance.forget()
            raise


class _Watched:
    """Steps that are run one by one."""

    def __init__(self, steps: StepArray) -> None:
        self._array = steps
        self.steps: Steps = []

    def run(self) -> None:
        self.steps = list(zip(self._array.signatures(), self._array.run_timed(), strict=True))


def rounds_for(seconds: float) -> int:
    """How many rounds of so many seconds are made."""
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(SECONDS / max(seconds, 1e-9))))


def by_turns(count: int, number: int) -> list[int]:
    """The order of a round: even ones forwards, odd ones backwards."""
    return list(range(count)) if number % 2 == 0 else list(reversed(range(count)))


def time_differences(contestants: Mapping[str, Contestant]) -> dict[str, list[float]]:
    """For each, the seconds of its steps that not all have, round by round; empty where they have the same steps."""
    names = list(contestants)
    first = {name: contestants[name].run()[1] for name in names}
    counted = [Counter(signature for signature, _ in steps) for steps in first.values()]
    common = counted[0]
    for each in counted[1:]:
        common = common & each
    if all(each == common for each in counted):
        return {}
    total = sum(seconds for steps in first.values() for _, seconds in steps)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds_for(total)):
        for place in by_turns(len(names), number):
            times[names[place]].append(_beyond(contestants[names[place]].run()[1], common))
    return times


def _beyond(steps: Steps, common: Counter[Hashable]) -> float:
    """The seconds of steps that are not common; of equal ones the first are."""
    left, seconds = Counter(common), 0.0
    for signature, each in steps:
        if left[signature] > 0:
            left[signature] -= 1
        else:
            seconds += each
    return seconds


def time_whole(contestants: Mapping[str, Contestant]) -> dict[str, list[float]]:
    """Whole runs by turns."""
    names = list(contestants)
    total = sum(each.whole() for each in contestants.values())
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds_for(total)):
        for place in by_turns(len(names), number):
            times[names[place]].append(contestants[names[place]].whole())
    return times


def agree(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two plans computed the same."""
    return all(_close(np.asarray(a), np.asarray(b)) for a, b in zip(one, other, strict=True))


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.dtype.kind not in "fV" or not one.size:
        return bool(np.array_equal(one, other))
    first, second = one.astype(np.float64), other.astype(np.float64)
    largest = float(np.nanmax(np.abs(first), initial=0.0, where=np.isfinite(first)))
    return bool(np.allclose(first, second, rtol=0.0, atol=TOLERANCE * max(largest, 1e-30), equal_nan=True))
