"""Loops in native code: the plan of a body runs for all steps of a `scan` or a `while_loop` in a few native calls.

Python says once where everything lies: what is carried in two buffers that take turns, elements and results along the
first dim of their arrays. Native code (`repeating_code.py`) writes the addresses of each step to where the plan reads
them. A call lasts some hundredths of a second at most, so that Ctrl-C is answered.
"""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.native import native
from burn.backend.cpu.plan import Plan, tuned
from burn.backend.cpu.repeating_code import BODY_FAULT, CONDITION_FAULT, DONE, Turns
from burn.backend.fusion.handle import Storage
from burn.engine.plan import HostCall
from burn.engine.runtime import Loop
from burn.engine.schedule.prologue import Prologue
from burn.errors import too_large
from burn.program.program import Program

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu

SECONDS = 0.02
"""About how long a native call lasts before Python looks for signals."""

FASTER = 16
"""How many times as many steps as the last call a call may run."""

Array = np.ndarray[Any, Any]


class StepPlan(Plan):
    """The plan of a program that runs again and again, each time with other arrays for the inputs that are `changing`.

    What is made of the others alone stays from step to step.
    """

    def __init__(self, source: Program, changing: frozenset[int], device: Cpu) -> None:
        self.changing = changing
        super().__init__(source, (False,) * source.inputs, device)

    def _find_prologue(self, free: tuple[bool, ...]) -> Prologue:
        return super()._find_prologue(tuple(number in self.changing for number in range(self.program.inputs)))

    def refusal(self) -> str:
        """Why native code cannot run it; empty if it can."""
        hosted = dict.fromkeys(work.node.op.name for work in self.works if isinstance(work, HostCall))
        if hosted:
            return f"{', '.join(hosted)} has no kernel"
        if self.device.settings.sanitize:
            return "each step is watched"
        made = {number for number, *_ in self.allocations}
        known = made | set(range(self.program.inputs)) | self.schedule.constants.keys()
        return "" if known.issuperset(self.program.outputs) else "a result has no memory of its own"


class _Addresses:
    """What a loop tells native code: rows, copies, cells of its own, and the arrays that all of it points into."""

    def __init__(self, cells: int) -> None:
        self.rows, self.copies = array("q"), array("q")
        self.kept: list[Array] = []
        self.own = np.zeros(cells, np.int64)
        self._free = iter(range(self.own.ctypes.data, self.own.ctypes.data + 8 * cells, 8))

    def cell(self) -> int:
        """The address of a new cell."""
        return next(self._free)

    def moves(self, cell: int, now: int, then: int, flip: int = 0, add: int = 0) -> None:
        """A row: the cell holds `now` in the first step, and `then` in the second."""
        self.rows.extend((cell, now, then, flip, add))

    def copy(self, source: int, target: int, size: int) -> None:
        """After each step, copy from where one cell points to where another does."""
        self.copies.extend((source, target, size))


def address(held: Array) -> int:
    """Where the elements of an array begin."""
    pointer: int = held.__array_interface__["data"][0]
    return pointer


class _Step:
    """A plan taken for the steps of one loop: its instance, with what does not change bound."""

    def __init__(self, plan: StepPlan, inputs: Sequence[Array | None]) -> None:
        self.plan, self.instance = plan, plan.take()
        self.inputs = [Storage(each) for each in inputs]
        for number, each in enumerate(inputs):
            if each is not None:
                self.instance.addresses[number] = address(each)

    def cell(self, number: int) -> int:
        """Where the address of a value stands."""
        start: int = self.instance.addresses.ctypes.data
        return start + 8 * number

    @property
    def program(self) -> Program:
        """What its values are: the program as it was lowered."""
        program: Program = self.instance.plan.program
        return program

    def bytes(self, number: int) -> int:
        """The size of a value."""
        value = self.program.values[number]
        return value.shape.num_elements() * value.dtype.size

    def record(self) -> int | None:
        """The steps of the next run; those of constants that are still there are left out."""
        instance = self.instance
        instance._choose(self.inputs, [], False)
        segments = instance.segments
        return segments[0].record() if segments else None  # type: ignore[union-attr]

    def constant(self, number: int) -> Array | None:
        """A value that is one number everywhere; None where it is none."""
        found = self.instance.plan.schedule.constants.get(number)
        value = self.program.values[number]
        return None if found is None else np.full(tuple(value.shape), found.value, value.dtype.numpy)


def _settled(device: Cpu, handles: Sequence[Any]) -> list[Array]:
    return [device.settled(each) for each in handles]


def _allocate(device: Cpu, shape: tuple[int, ...], dtype: Any) -> Array:
    try:
        return device.allocate(shape, dtype)
    except MemoryError:
        raise too_large("scan", shape, dtype, device) from None


def _run(body: _Step, condition: _Step | None, truth: int | None, told: _Addresses, length: int | None) -> int:
    """Run up to `length` steps; how many there were."""
    turns = Turns(
        rows=told.rows.buffer_info()[0],
        row_count=len(told.rows) // 5,
        copies=told.copies.buffer_info()[0],
        copy_count=len(told.copies) // 3,
        truth=truth,
    )
    for step, name in ((body, "body"), (condition, "condition")):
        if step is not None:
            setattr(turns, f"{name}_status", step.instance.status.ctypes.data)
            setattr(turns, f"{name}_checks", len(step.instance.checks))
    repeat, at = native().repeat, ctypes.addressof(turns)
    done, calls, most = 0, 0, 1
    while length is None or done < length:
        turns.body = body.record()
        turns.condition = None if condition is None else condition.record()
        count = most if length is None else min(most, length - done)
        before = time.perf_counter()
        done += repeat(at, count)
        if turns.state in (BODY_FAULT, CONDITION_FAULT):
            faulty = body if turns.state == BODY_FAULT or condition is None else condition
            faulty.instance._check()
        if turns.state != DONE:
            break
        calls += 1
        if calls > 1:  # constants are packed in the second run
            each = max((time.perf_counter() - before) / count, 1e-9)
            most = max(1, min(int(SECONDS / each), count * FASTER))
    return done


def _given_back(*steps: _Step | None, whole: bool) -> None:
    for each in steps:
        if each is not None:
            if not whole:
                each.instance.forget()
            each.plan.give_back(each.instance)


class NativeLoop(Loop):
    """The body of a loop, and its condition where it has one, ready to run."""

    def __init__(self, device: Cpu, body: Program, carried: int, scanned: int, condition: Program | None) -> None:
        self.device, self.carried, self.scanned = device, carried, scanned
        still = {k for k in range(carried) if body.outputs[k] == k}
        changing = frozenset(range(carried + scanned)) - still
        self.body = tuned(StepPlan(body, changing, device))
        self.condition = None if condition is None else tuned(StepPlan(condition, changing, device))

    def refusal(self) -> str:
        """Why native code cannot run it; empty if it can."""
        return self.body.refusal() or ("" if self.condition is None else self.condition.refusal())

    def describe(self) -> str:
        parts = [self.body] if self.condition is None else [self.condition, self.body]
        return "\n".join(each.describe() for each in parts)

    def scan(
        self, carries: Sequence[Any], xs: Sequence[Any], constants: Sequence[Any], length: int, reverse: bool
    ) -> list[Any]:
        device = self.device
        first, rows, around = (_settled(device, each) for each in (carries, xs, constants))
        body, whole = _Step(self.body, [*first, *(None for _ in rows), *around]), False
        try:
            results = _Scan(self, body, first, rows, length, reverse).run()
            whole = True
            return results
        finally:
            _given_back(body, whole=whole)

    def while_loop(self, carries: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        assert self.condition is not None
        device = self.device
        first, around = (_settled(device, each) for each in (carries, constants))
        body, condition, whole = _Step(self.body, [*first, *around]), None, False
        try:
            condition = _Step(self.condition, [*first, *around])
            results = _While(self, body, first, condition).run()
            whole = True
            return results
        finally:
            _given_back(body, condition, whole=whole)


class _Carried:
    """What is carried, laid out: where it is read in each step, and what it is in the end."""

    def __init__(self, loop: NativeLoop, body: _Step, first: list[Array], cells: int) -> None:
        self.device, self.body, self.first = loop.device, body, first
        self.told = _Addresses(cells)
        self.outputs = body.program.outputs
        self.pairs: dict[int, tuple[Array, Array]] = {}  # value → the buffers that it is written to by turns
        self.reading: list[list[int]] = [[body.cell(k)] for k in range(len(first))]

    def read(self, position: int, then: int, flip: int = 0, add: int = 0) -> None:
        """A carried value is read from its first array in the first step, and from `then` in the second."""
        for cell in self.reading[position]:
            self.told.moves(cell, address(self.first[position]), then, flip, add)

    def still(self, number: int) -> Array | None:
        """A value that is the same in every step: a constant, or what the function found around itself."""
        if len(self.first) <= number < self.body.program.inputs:
            found: Array | None = self.body.inputs[number].value
            return found
        return self.body.constant(number)

    def carry(self, position: int) -> Any:
        """Lay out a carried value; what it is after some steps: an array, or a pair that takes turns."""
        number = self.outputs[position]
        if number == position:
            return self.first[position]
        still = self.still(number)
        if still is None:
            return self.swapped(position, number)
        self.told.kept.append(still)
        self.read(position, address(still))
        return still

    def swapped(self, position: int, number: int) -> tuple[Array, Array]:
        """Lay out a carried value in two buffers; one that is only handed on is copied there."""
        told, body = self.told, self.body
        copied = number < body.program.inputs
        pair = None if copied else self.pairs.get(number)
        if pair is None:
            value = body.program.values[number]
            one, two = (_allocate(self.device, tuple(value.shape), value.dtype) for _ in range(2))
            pair = one, two
            cell = told.cell() if copied else body.cell(number)
            told.moves(cell, address(one), address(two), flip=address(one) ^ address(two))
            if copied:
                told.copy(body.cell(number), cell, body.bytes(number))
            else:
                self.pairs[number] = pair
        at, other = map(address, pair)
        self.read(position, at, flip=at ^ other)
        return pair

    def end(self, position: int, last: Any, steps: int) -> Array:
        """What is carried out of the last step, in memory of its own."""
        if not steps:
            return self.first[position].copy()
        if not isinstance(last, tuple):
            return np.array(last, order="C")
        made: Array = last[(steps - 1) % 2]
        number = self.outputs[position]
        alone = self.pairs.get(number) is not last or self.outputs.index(number) == position
        return made if alone else made.copy()


class _Scan(_Carried):
    """One run of a scan."""

    def __init__(
        self, loop: NativeLoop, body: _Step, first: list[Array], rows: list[Array], length: int, reverse: bool
    ) -> None:
        super().__init__(loop, body, first, len(body.program.outputs))
        self.rows, self.length = rows, length
        self.begin, self.way = (length - 1, -1) if reverse else (0, 1)
        self.stacks: dict[int, Array] = {}  # value that is written to its place at once → its results

    def along(self, held: Array, number: int) -> tuple[int, int]:
        """The address of an element in the first step, and what it moves on by."""
        size = self.body.bytes(number)
        return address(held) + self.begin * size, self.way * size

    def run(self) -> list[Array]:
        """The last of what is carried, and the results of all steps."""
        count = len(self.first)
        for number, held in enumerate(self.rows, count):
            start, add = self.along(held, number)
            self.told.moves(self.body.cell(number), start, start + add, add=add)
        results = [self.stacked(number) for number in self.outputs[count:]]
        lasts = [self.carry(position) for position in range(count)]
        if self.length:
            _run(self.body, None, None, self.told, self.length)
        return [*(self.end(position, each, self.length) for position, each in enumerate(lasts)), *results]

    def stacked(self, number: int) -> Array:
        """The results of all steps, and where native code puts them."""
        body, told = self.body, self.told
        value = body.program.values[number]
        made = _allocate(self.device, (self.length, *value.shape), value.dtype)
        constant = body.constant(number)
        if constant is not None:
            made[...] = constant
            return made
        start, add = self.along(made, number)
        cell = body.cell(number)
        if number < body.program.inputs or number in self.stacks:
            cell = told.cell()
            told.copy(body.cell(number), cell, body.bytes(number))
        else:
            self.stacks[number] = made
        told.moves(cell, start, start + add, add=add)
        return made

    def carry(self, position: int) -> Any:
        number, count = self.outputs[position], len(self.first)
        stack = self.stacks.get(number)
        if count <= number < count + len(self.rows):
            stack = self.rows[number - count]
        if stack is None:
            return super().carry(position)
        start, add = self.along(stack, number)
        self.read(position, start, add=add)
        return stack[self.length - 1 - self.begin, ...] if self.length else None


class _While(_Carried):
    """One run of a loop with a condition."""

    def __init__(self, loop: NativeLoop, body: _Step, first: list[Array], condition: _Step) -> None:
        super().__init__(loop, body, first, len(first))
        self.condition = condition
        for position, cells in enumerate(self.reading):
            cells.append(condition.cell(position))

    def run(self) -> list[Array]:
        """The last of what is carried."""
        lasts = [self.carry(position) for position in range(len(self.first))]
        condition, number = self.condition, self.condition.program.outputs[0]
        value = condition.program.values[number]
        answer = condition.constant(number)
        if answer is None and number >= condition.program.inputs:
            answer = np.empty(tuple(value.shape), value.dtype.numpy)
        if answer is not None:
            condition.instance.addresses[number] = address(answer)
        steps = _run(self.body, condition, condition.cell(number), self.told, None)
        return [self.end(position, each, steps) for position, each in enumerate(lasts)]
