"""Plans and kernels as text that does not depend on how a program numbers its values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from benches.kernel_diff.recording import Recorded
from burn import Cpu
from burn.backend.cpu import tuning
from burn.backend.cpu.plan import Plan
from burn.backend.cpu.pool import share
from burn.engine.lower.loop import Argument, Loop
from burn.program import Program

THREADS = 4
"""Kernels are cut for a number of threads; here it is the same on every machine."""

FLAGS = ("in_step", "joins", "repeats", "kept")

Kernels = dict[str, str]
"""Texts of kernels by their names, which are hashes of them."""


class Descriptions:
    """Plans as text, and the kernels that they launch."""

    def __init__(self) -> None:
        self.kernels: Kernels = {}
        self._known: dict[Any, str] = {}

    def of(self, recorded: Iterable[Recorded], features: str) -> str:
        """The plans of a run for an instruction set."""
        return "\n".join(f"plan {number}\n{self._plan(*each, features)}" for number, each in enumerate(recorded))

    def _plan(self, program: Program, free: tuple[bool, ...], features: str) -> str:
        key = (program.identity(), free, features)
        if key not in self._known:  # eager code and its capture are often the same program
            device: Any = Cpu(fusion=False, features=features)
            with share(THREADS), tuning.using(tuning.OFF):
                self._known[key] = "\n".join([*_PlanText(Plan(program, free, device), self.kernels).lines(), ""])
        return self._known[key]


class _PlanText:
    """The lines of one plan. Values are called by their first use, so that numbering programs anew changes nothing."""

    def __init__(self, plan: Plan, kernels: Kernels) -> None:
        self.plan, self.kernels = plan, kernels
        self.names = {number: f"input{number}" for number in range(plan.program.inputs)}

    def lines(self) -> Iterator[str]:
        plan = self.plan
        for position, (work, line) in enumerate(zip(plan.works, plan.describe().splitlines(), strict=True)):
            yield f"  {line}"
            if isinstance(work, Loop):
                yield from (f"    {each}" for loop in work.loops() for each in self._launch(loop))
            else:
                yield f"    {self._several(work.node.reads())} -> {self._several(work.node.results)}"
            if position in plan.prologue.sources:
                yield "    again only for other inputs"
        places = [f"{self._name(number)} at {offset}" for number, offset in plan.offsets.items()]
        yield f"  arena of {plan.arena_bytes} bytes: {', '.join(places)}"
        for number, given in plan.reused.items():
            yield f"  {self._name(number)} written over {self._name(given)}"
        yield f"  gives {self._several(plan.program.outputs)}"

    def _launch(self, loop: Loop) -> Iterator[str]:
        text = str(loop.kernel)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.kernels[name] = text
        yield f"launch {name}"
        flags = [flag for flag in FLAGS if getattr(loop, flag)]
        yield f"{loop.extent} iterations, grain {loop.grain}, {' '.join(flags)}".rstrip(", ")
        yield f"({', '.join(map(self._argument, loop.arguments))})"

    def _argument(self, argument: Argument) -> str:
        if argument.kind == "size":
            return str(argument.value)
        if argument.kind != "buffer":
            return f"{argument.kind} {argument.value} {argument.dtype or ''}".rstrip()
        place = f"+{argument.offset}" if argument.offset else ""
        return f"{'write ' if argument.written else ''}{self._name(argument.value)}{place}"

    def _several(self, numbers: Iterable[int]) -> str:
        return ", ".join(map(self._name, numbers))

    def _name(self, number: int) -> str:
        constant = self.plan.schedule.constants.get(number)
        if constant is not None:
            return f"the number {constant.value!r}"
        known = f"value{len(self.names) - self.plan.program.inputs}"
        return self.names.setdefault(number, known)
