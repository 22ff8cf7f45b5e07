"""The runner of a program whose weights never change, as long as this process lives.

A frozen plan is for a number of threads and for what was measured when it was made. Where those are others, and the
constants are still somewhere, it is made again; else it runs on as it is.
"""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from burn.backend.cpu.frozen.form import Frozen
from burn.backend.cpu.frozen.making import freeze, obstacle
from burn.backend.cpu.frozen.running import Array, Launch, Runner
from burn.backend.cpu.frozen.stored import save
from burn.backend.cpu.plan import Plan, prepare_keeping
from burn.backend.cpu.pool import pool
from burn.backend.cpu.tuning.known import answers

Moment = tuple[int, int]
"""How many threads there are for the caller, and how many answers."""

MOST_MADE = 2
"""Moments for which a runner stays: callers with different shares of the threads may take turns."""


class FixedPlan:
    """What runs a plan with constants. Several threads may call it at once."""

    def __init__(self, plan: Plan, constants: Mapping[int, Array], numbers: Sequence[float]) -> None:
        self._numbers = tuple(numbers)
        self._constants = {number: weakref.ref(each) for number, each in constants.items()}
        self._lock = threading.Lock()
        self._made: collections.OrderedDict[Moment, tuple[Plan, Runner]] = collections.OrderedDict()
        self._use(_now(), plan, self._runner(plan, freeze(plan, constants, self._numbers), _now()))

    def __call__(self, given: Sequence[Array]) -> list[Array]:
        return self.run(given)

    def describe(self) -> str:
        """The steps, a line each."""
        return self.runner.describe()

    def save(self, key: str) -> bool:
        """Store the plan in the folder of the kernel cache (see `burn.backend.cpu.frozen.stored`)."""
        return save(self.runner.frozen, key)

    def release(self) -> None:
        """Give back the memory that waits for the next run."""
        with self._lock:
            for _, runner in self._made.values():
                runner.release()

    def _use(self, moment: Moment, plan: Plan, runner: Runner) -> None:
        self._made[moment] = plan, runner
        self._made.move_to_end(moment)
        if len(self._made) > MOST_MADE:
            self._made.popitem(last=False)
        self.plan, self.runner = plan, runner
        self.run: Launch = runner.run

    def _runner(self, plan: Plan, frozen: Frozen, moment: Moment) -> Runner:
        """What runs a frozen plan at this moment, and asks what to run at any other."""
        conditions: list[str] = []
        if frozen.form.is_shared or plan.asked.answers:
            conditions = [f"pool.threads != {moment[0]}", f"answers.generation != {moment[1]}"]
        held, owner = weakref.ref(self), plan.device

        def renewed(given: Sequence[Array]) -> list[Array]:
            fixed = held()
            run = Runner(frozen, owner).run if fixed is None else fixed._renewed()
            return run(given)

        known: dict[str, Any] = {"pool": pool(), "answers": answers()}
        return Runner(frozen, owner, conditions, renewed, **known)

    def _renewed(self) -> Launch:
        """What runs now: made again where another plan would be, and can be, made."""
        with self._lock:
            moment = _now()
            found = self._made.get(moment)
            if found is None:
                plan, frozen = self._again()
                found = plan, self._runner(plan, frozen, moment)
            self._use(moment, *found)
            return self.run

    def _again(self) -> tuple[Plan, Frozen]:
        plan = self.plan
        alive = {number: held() for number, held in self._constants.items()}
        constants = {number: each for number, each in alive.items() if each is not None}
        if plan.is_current() or len(constants) < len(alive):
            return plan, self.runner.frozen
        made = prepare_keeping(plan.source, plan.device)
        if obstacle(made, constants) is not None:
            return plan, self.runner.frozen
        return made, freeze(made, constants, self._numbers)


def _now() -> Moment:
    return pool().threads, answers().generation
