"""Units that do again what another unit of the program did, on other values: the same kernel with other arguments.

Writing a kernel takes longer than finding out that it was written before. What a loop or a column reduction looks at is
written down with values numbered as they appear; where that is equal, so is the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from burn.engine.lower.loop import Argument, Loop
from burn.engine.schedule.units import Schedule, Unit
from burn.program.program import Program, Scalar


class Repeats:
    """The loops of one program so far."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program, self.schedule = program, schedule
        self._found: dict[Any, tuple[Loop, _Seen]] = {}

    def lowered(self, unit: Unit, lower: Callable[[], Loop]) -> Loop:
        """What `lower` makes of a unit, or an earlier loop with the arguments of this one."""
        seen = _Seen(self.program, self.schedule)
        key = (unit.kind, unit.shape, unit.rows, *(seen.node(position) for position in unit.nodes))
        earlier = self._found.get(key)
        if earlier is None:
            made = lower()
            self._found[key] = made, seen
            return made
        loop, before = earlier
        values = dict(zip(before.values, seen.values, strict=True))
        slots = dict(zip(before.slots, seen.slots, strict=True))
        return replace(loop, arguments=[_moved(each, values, slots) for each in loop.arguments])


def _moved(argument: Argument, values: dict[int, int], slots: dict[int, int]) -> Argument:
    """The argument of a loop as that of one like it."""
    if argument.kind == "buffer":
        return replace(argument, value=values[argument.value])
    return replace(argument, value=slots[argument.value]) if argument.kind == "scalar" else argument


class _Seen:
    """What a unit looks at, with values and run-time numbers counted in the order in which they appear."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program, self.schedule = program, schedule
        self.values: dict[int, int] = {}
        self.slots: dict[int, int] = {}

    def node(self, position: int) -> Any:
        """Everything about a node but the numbers of its values."""
        node = self.program.nodes[position]
        operands = tuple(self._operand(each) for each in node.operands)
        made = tuple(self._made(number) for number in node.results)
        return node.op, node.attributes, node.fused, operands, made

    def _operand(self, operand: Any) -> Any:
        if isinstance(operand, int):
            return self._read(operand)
        if isinstance(operand, tuple):
            return tuple(self._read(number) for number in operand)
        if isinstance(operand, Scalar):
            return "slot", self.slots.setdefault(operand.slot, len(self.slots)), operand.kind
        return operand

    def _read(self, number: int) -> Any:
        schedule, known = self.schedule, number in self.values
        place = self._number(number)
        if known:
            return place
        source = schedule.row_views.get(number)
        access = schedule.accesses.get(number)
        return (
            place,
            self.program.values[number],
            schedule.constants.get(number),
            number in schedule.row_values,
            None if source is None else self._read(source),
            None if access is None else (self._number(access.value), access.shape, access.strides, access.offset),
        )

    def _made(self, number: int) -> Any:
        schedule = self.schedule
        held = self.program.values[number], number in schedule.stored, number in schedule.row_values
        return self._number(number), *held

    def _number(self, number: int) -> int:
        return self.values.setdefault(number, len(self.values))
