"""The runner of a program whose weights never change, as long as this process lives.

The plan that was frozen is for a number of threads and for what was measured by then. Where those change, and the
constants are still somewhere, it is made again; else it runs on as it is.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence

from burn.backend.cpu.frozen.form import Frozen
from burn.backend.cpu.frozen.making import can_freeze, freeze
from burn.backend.cpu.frozen.running import Array, Launch, Runner
from burn.backend.cpu.plan import Plan, prepare
from burn.backend.cpu.pool import pool
from burn.backend.cpu.tuning.known import answers


class FixedPlan:
    """What runs a plan with constants. Several threads may call it at once."""

    def __init__(self, plan: Plan, constants: Mapping[int, Array], numbers: Sequence[float]) -> None:
        self.plan = plan
        self._numbers = tuple(numbers)
        self._constants = {number: weakref.ref(each) for number, each in constants.items()}
        self._lock = threading.Lock()
        self._use(plan, constants)

    def __call__(self, given: Sequence[Array]) -> list[Array]:
        return self.run(given)

    def describe(self) -> str:
        """The steps, a line each."""
        return self.runner.describe()

    def release(self) -> None:
        """Give back the memory that waits for the next run."""
        self.runner.release()

    def _use(self, plan: Plan, constants: Mapping[int, Array]) -> None:
        self.plan = plan
        self._serve(freeze(plan, constants, self._numbers))

    def _serve(self, frozen: Frozen) -> None:
        """Run a frozen plan until the threads, or the answers, are others than now."""
        self._threads, self._generation = pool().threads, answers().generation
        held, conditions = weakref.ref(self), []
        if frozen.form.is_shared or self.plan.asked.answers:
            conditions = [f"pool.threads != {self._threads}", f"answers.generation != {self._generation}"]

        def renewed(given: Sequence[Array]) -> list[Array]:
            fixed = held()
            run = Runner(frozen, owner).run if fixed is None else fixed._renewed()
            return run(given)

        known, owner = {"pool": pool(), "answers": answers()}, self.plan.device
        self.runner = Runner(frozen, owner, conditions, renewed, **known)
        self.run: Launch = self.runner.run

    def _renewed(self) -> Launch:
        """What runs now: made again where another plan would be, and can be, made."""
        with self._lock:
            if (self._threads, self._generation) == (pool().threads, answers().generation):
                return self.run  # another thread was faster
            if not self.plan.is_current():
                found = {number: held() for number, held in self._constants.items()}
                constants = {number: each for number, each in found.items() if each is not None}
                if len(constants) == len(found):
                    plan = self.plan
                    made = prepare(plan.source, plan.free, plan.device)
                    if can_freeze(made, constants):
                        self._use(made, constants)
                        return self.run
            self._serve(self.runner.frozen)
            return self.run
