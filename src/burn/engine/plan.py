"""A program as works in order, kernels and what no kernel takes, and where each of its values lies.

A device derives its plan from `Lowered`: it says how it lowers calls, binds the works to memory and runs them. Results
are written over inputs that nobody needs any more, and what works leave for later ones lies in one arena, laid out by
who reads what until when.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from burn.classes import dataclass
from burn.engine.lower.calls import Calls
from burn.engine.lower.chunks import lower_in_chunks
from burn.engine.lower.columns import lower_column
from burn.engine.lower.copies import Packing
from burn.engine.lower.elements import fits_a_loop
from burn.engine.lower.kernels import lower_kernel
from burn.engine.lower.loop import Loop, Prepared, Routine
from burn.engine.lower.loops import lower_loop
from burn.engine.lower.moves import lower_copy
from burn.engine.lower.repeats import Repeats
from burn.engine.schedule.access import Access
from burn.engine.schedule.arena import plan_arena
from burn.engine.schedule.prologue import MOST_KEPT, Prologue
from burn.engine.schedule.units import Schedule, Scheduler, Unit
from burn.program.program import Constant, Node, Program, Value
from burn.symbolic import Sizes, is_symbolic, value_of


@dataclass
class HostCall:
    """A node that no kernel takes: the host runs its row."""

    node: Node

    def __str__(self) -> str:
        op = self.node.op
        return f"{op.name}: its row has no element" if op.is_elementwise and op.element is None else op.name


def bytes_of(program: Program, number: int) -> int:
    """The size of a value, at least one byte."""
    value = program.values[number]
    return max(value.shape.num_elements() * value.dtype.size, 1)


Work = Loop | HostCall


def program_at(program: Program, sizes: Sizes) -> Program:
    """A program with numbers in the place of sizes that may be any."""
    values = tuple(Value(sizes.all(each.shape), each.dtype) for each in program.values)
    return replace(program, values=values, nodes=tuple(_node_at(node, sizes) for node in program.nodes))


def _node_at(node: Node, sizes: Sizes) -> Node:
    attributes = sizes.all(node.attributes)
    operands = tuple(
        Constant(sizes.number(each.value)) if isinstance(each, Constant) else each for each in node.operands
    )
    return (
        node
        if attributes is node.attributes and operands == node.operands
        else replace(node, attributes=attributes, operands=operands)
    )


def _work_at(work: Work, sizes: Sizes) -> Work:
    if isinstance(work, HostCall):
        return HostCall(_node_at(work.node, sizes))
    arguments = [
        replace(each, value=sizes.number(each.value), offset=sizes.number(each.offset)) for each in work.arguments
    ]
    changed: dict[str, Any] = {"extent": sizes.number(work.extent), "grain": sizes.number(work.grain)}
    if work.constant is not None:
        pack, call = _work_at(work.constant.pack, sizes), _work_at(work.constant.call, sizes)
        assert isinstance(pack, Loop)
        assert isinstance(call, Loop)
        changed["constant"] = Prepared(pack, call)
    if isinstance(work, Routine) and work.check is not None:
        changed["check"] = replace(work.check, size=sizes.number(work.check.size))
    return replace(work, arguments=arguments, **changed)


class Lowered:
    """The works of one program. A device derives its plan from it."""

    most_kept = MOST_KEPT
    """Bytes that a work may write to memory that stays from run to run."""

    def calls_of(self, program: Program, schedule: Schedule) -> Calls:
        """What lowers the nodes that are no loops; a device with kernels of its own has its own."""
        return Calls(program, schedule)

    def lower(self, program: Program, free: tuple[bool, ...]) -> None:
        """Lower a program and lay out its memory; `free` tells which inputs may be overwritten."""
        self.program = program
        self.schedule = Scheduler(program, fits_a_loop).schedule()
        self.calls = self.calls_of(program, self.schedule)
        repeats = Repeats(program, self.schedule)
        self.works: list[Work] = [work for unit in self.schedule.units for work in self._lower(unit, repeats)]
        self.copied = self._copy_out()
        self.last_read = self._last_reads()
        self.reused = self._reuse(free)
        self.commit = self._first_overwriting() if self._last_check() >= 0 else None
        self.allocations = self._allocations()
        made, outputs = {number for number, *_ in self.allocations}, program.outputs
        self.distinct = (
            not any(isinstance(work, HostCall) for work in self.works)
            and made.issuperset(outputs)
            and len(set(outputs)) == len(outputs)
        )
        """Whether every result is an array of its own, made for it."""
        self.prologue = self._find_prologue(free)
        self._place()

    def _lower(self, unit: Unit, repeats: Repeats) -> Sequence[Work]:
        if unit.kind == "loop":
            halves = lower_in_chunks(self.program, self.schedule, unit, self.calls.temporary)
            return halves or [repeats.lowered(unit, lambda: lower_loop(self.program, self.schedule, unit))]
        node = self.program.nodes[unit.nodes[0]]
        if unit.kind == "column":
            return [repeats.lowered(unit, lambda: lower_column(self.program, self.schedule, node))]
        steps = self.calls.lower(node)
        if steps is not None:
            return steps
        return [lower_kernel(self.program, self.schedule, node) or HostCall(node)]

    def _copy_out(self) -> set[int]:
        """Outputs that are views get memory of their own: the copies come last."""
        copied: set[int] = set()
        for number in self.program.outputs:
            access = self.schedule.accesses.get(number)
            if access is None or access.value == number or number in copied or number in self.schedule.constants:
                continue
            copy = lower_copy(self.program, access, number, "an output")
            if copy is not None:
                self.works.append(copy)
                copied.add(number)
        return copied

    # Memory

    def _reads(self, work: Work) -> set[int]:
        """The values whose memory a piece of work reads."""
        if isinstance(work, Loop):
            return {a.value for a in work.arguments if a.kind == "buffer"} - self._writes(work)
        return {self._access(n).value for n in work.node.reads() if n not in self.schedule.constants}

    def _writes(self, work: Work) -> set[int]:
        if isinstance(work, Loop):
            return {a.value for a in work.arguments if a.written}
        return set(work.node.results)

    def _access(self, number: int) -> Access:
        return self.schedule.accesses[number]

    def _last_reads(self) -> dict[int, int]:
        last: dict[int, int] = {}
        for position, work in enumerate(self.works):
            for value in self._reads(work):
                last[value] = position
        for number in self.program.outputs:  # an output that is a view is copied out at the very end
            access = self.schedule.accesses.get(number)
            if access is not None and access.value != number and number not in self.copied:
                last[access.value] = len(self.works)
        return last

    def _reuse(self, free: tuple[bool, ...]) -> dict[int, int]:
        """Outputs written over inputs that nobody else has: output value → input value."""
        program = self.program
        wanted = set(program.outputs)
        taken: dict[int, int] = {}
        checked = self._last_check()
        accesses = self.schedule.accesses.values()
        scattered = {each.value for each in accesses if each.offset or not each.is_contiguous}
        available: dict[Value, list[int]] = {}
        for number in range(program.inputs):
            if number < len(free) and free[number] and number not in wanted:
                available.setdefault(program.values[number], []).append(number)
        for position, work in enumerate(self.works):
            if isinstance(work, HostCall):
                continue
            reads = self._reads(work)
            for number in sorted(self._writes(work)):
                if number not in wanted or position <= checked:
                    continue
                alike = available.get(program.values[number], [])
                for candidate in alike:
                    # Overwriting what is read is safe where each element is read where it is written.
                    in_step = work.in_step and candidate not in scattered
                    if self.last_read.get(candidate, -1) <= position and (in_step or candidate not in reads):
                        taken[number] = candidate
                        alike.remove(candidate)
                        break
        return taken

    def _last_check(self) -> int:
        """The last work that may find the data wrong; -1 if none may. Nothing is overwritten before it: a run that
        fails leaves its inputs whole."""

        seen: set[Any] = set()
        last = -1
        for position, work in enumerate(self.works):
            if isinstance(work, HostCall):
                last = position
                continue
            for each in work.loops():
                if isinstance(each, Routine) and each.check is not None:
                    reads = [a.value for a in each.arguments if a.kind == "buffer" and not a.written]
                    key = (each.check.size, *(n for n in reads if self.program.values[n].dtype.is_int))
                    if key not in seen:  # a backward looks at the indices of its forward once more
                        seen.add(key)
                        last = position
        return last

    def _first_overwriting(self) -> int | None:
        """The first work that writes over an input."""
        found = (p for p, work in enumerate(self.works) if not self._writes(work).isdisjoint(self.reused))
        return next(found, None)

    def _allocations(self) -> list[tuple[int, Value, int | None]]:
        """Outputs with memory of their own: number, what it is, and the input it is written over, if any."""
        found: list[tuple[int, Value, int | None]] = []
        elsewhere = {n for work in self.works if isinstance(work, HostCall) for n in work.node.results}
        elsewhere.update(self.schedule.constants, range(self.program.inputs))
        for number in dict.fromkeys(self.program.outputs):
            if number in elsewhere:
                continue
            access = self.schedule.accesses.get(number)
            if access is None or access.value == number or number in self.copied:
                found.append((number, self.program.values[number], self.reused.get(number)))
        return found

    def _find_prologue(self, free: tuple[bool, ...]) -> Prologue:
        """The works that read nothing but inputs which this plan does not overwrite."""
        program, outputs = self.program, set(self.program.outputs)
        found = Prologue(n for n in range(program.inputs) if not (n < len(free) and free[n]))
        for position, work in enumerate(self.works):
            if isinstance(work, HostCall):
                continue
            reads, writes = self._reads(work), self._writes(work)
            if work.constant is not None:
                found.add_product(position, work.constant.pack.arguments[0].value)
                continue
            slots = [argument.value for argument in work.arguments if argument.kind == "scalar"]
            checked = any(argument.kind == "status" for argument in work.arguments)
            if not work.kept or checked or outputs & writes or not found.knows(reads):
                continue
            if is_symbolic(map(self.bytes, writes)):  # memory that stays has one size
                continue
            if isinstance(work, Packing) or work.joins or sum(map(self.bytes, writes)) <= self.most_kept:
                found.add(position, reads, writes, slots)
        return found

    def bytes(self, number: int) -> int:
        """The size of a value, or of a temporary of its steps."""
        temporary = self.calls.temporaries.get(number)
        return bytes_of(self.program, number) if temporary is None else temporary

    def _place(self) -> None:
        """Find a place in the arena for everything that is neither input nor output."""
        program = self.program
        outputs = set(program.outputs)
        hosted = {n for work in self.works if isinstance(work, HostCall) for n in work.node.results}
        made: dict[int, int] = {}
        for position, work in enumerate(self.works):
            for number in self._writes(work):
                made.setdefault(number, position)  # parts of an image are written one by one
        kept = self.prologue.kept
        self.inner = [n for n in made if n not in outputs and n not in hosted and n not in kept]
        self.lifetimes = {n: (made[n], max(self.last_read.get(n, made[n]), made[n])) for n in self.inner}
        lifetimes = [(value_of(self.bytes(n)), *self.lifetimes[n]) for n in self.inner]
        offsets, total = plan_arena(lifetimes) if lifetimes else ([], 0)
        self.offsets = dict(zip(self.inner, offsets, strict=True))
        self.arena_bytes = total + 64

    def at(self, sizes: Sizes) -> Self:
        """The same plan with numbers in the place of sizes that may be any: nothing is lowered again."""
        made = copy.copy(self)
        made.program = program_at(self.program, sizes)
        made.works = [_work_at(work, sizes) for work in self.works]
        accesses = {
            number: replace(
                each, shape=sizes.all(each.shape), strides=sizes.all(each.strides), offset=sizes.number(each.offset)
            )
            for number, each in self.schedule.accesses.items()
        }
        constants = {number: Constant(sizes.number(each.value)) for number, each in self.schedule.constants.items()}
        made.schedule = replace(self.schedule, accesses=accesses, constants=constants)
        made.calls = copy.copy(self.calls)
        made.calls.program, made.calls.schedule = made.program, made.schedule
        made.calls.temporaries = sizes.all(self.calls.temporaries)
        made.allocations = [(number, made.program.values[number], owner) for number, _, owner in self.allocations]
        made._place()
        return made

    def describe(self) -> str:
        """The steps of the plan, a line each."""
        lines = []
        for work in self.works:
            if isinstance(work, Loop):
                lines.append(f"kernel  {work.label}")
            else:
                lines.append(self.host_call(work))
        return "\n".join(lines)

    def host_call(self, work: HostCall) -> str:
        """How a node that no kernel takes is run, for `describe`."""
        return f"numpy   {work}"
