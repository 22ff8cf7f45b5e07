"""Runs of plans that are watched: no kernel touches memory that is not its own, or reads what nobody wrote.

`Cpu(sanitize=True)`, or `BURN_SANITIZE=1` for devices that are not told, runs checked builds of all kernels
(`burn.cube.targets.llvm.checked`), one step after the other on one thread. What a step may touch follows from its
arguments: the bytes of each value, no more; inputs to read alone, unless the plan may write over them. Memory that is
used again counts as unwritten, and so do new results; the result of a run must be written everywhere. The first fault
ends the run with a `KernelFault`. This is a test of the engine: it costs a hundred times the time, and four bytes for
each byte that is written.
"""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.instance import Instance
from burn.backend.cpu.native import WORDS, Record, native
from burn.backend.cpu.runner import StepArray
from burn.cube.targets.llvm import checked
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.recipe import Recipe
from burn.engine.plan import HostCall

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan

Array = np.ndarray[Any, Any]

WHAT = {
    checked.OUTSIDE: "outside of",
    checked.UNWRITTEN: "that nobody wrote, of",
    checked.SHARED: "that another iteration uses in the same step, of",
    checked.FORBIDDEN: "that it may not write, of",
}


class KernelFault(RuntimeError):
    """A kernel or a plan of ours that uses memory wrongly: never the fault of a user's program."""


class CheckedSteps(StepArray):
    """Steps that are run one by one, with a look before and after each."""

    def __init__(self, instance: CheckedInstance, binding: int) -> None:
        super().__init__(binding=binding)
        self.instance = instance
        self.loops: list[Loop] = []
        self.first = self.last = False

    def run(self, parallel: bool = True) -> None:
        """Run every step on the calling thread."""
        self.run_timed()

    def alone(self) -> None:
        """No native call runs these steps together."""

    def run_timed(self, parallel: bool = True) -> list[float]:
        """Run every step, one by one; the seconds of each."""
        sealed = self._sealed or self._seal()
        record, seconds = sealed.serial, [0.0] * len(self)
        bound = Record(record.context, record.steps, 0, 1, record.binding)
        sealed.call(ctypes.addressof(bound))  # no step, but what is done before the first
        if self.first:
            self.instance.begin()
        for index, loop in enumerate(self.loops):
            self.instance.before(loop)
            start = time.perf_counter()
            native().run_steps(record.context, record.steps + index * WORDS * 8, 1, 1)
            seconds[index] = time.perf_counter() - start
            self.instance.after(loop)
        if self.last:
            self.instance.end()
        return seconds


class CheckedInstance(Instance):
    """What one watched run of a plan needs for itself."""

    checked = True

    def __init__(self, plan: Plan) -> None:
        self.stamps: dict[int, Array] = {}
        self.readers: dict[int, Array] = {}
        self.tables: dict[int, Array] = {}
        self.owner = {source: made for made, source in plan.reused.items()}
        self._look_at_writers(plan)
        super().__init__(plan)
        for number, *_ in plan.allocations:
            if self._is_stamped(number):
                self._stamps(number)
        _disjoint_temporaries(plan)

    def _look_at_writers(self, plan: Plan) -> None:
        """Which kernel is the first to write a value, and how many works write it."""
        self.firsts: dict[int, list[int]] = {}
        self.writers: dict[int, int] = {}
        for work in plan.works:
            loops = work.loops() if isinstance(work, Loop) else []
            new = {n for loop in loops for n in _written(loop)} - self.writers.keys()
            for loop in loops:
                self.firsts[id(loop)] = [n for n in _written(loop) if n in new]
            for number in {n for loop in loops for n in _written(loop)}:
                self.writers[number] = self.writers.get(number, 0) + 1

    # Building

    def _steps(self, binding: int) -> StepArray:
        return CheckedSteps(self, binding)

    def _segments(self, skipped: frozenset[int], constant: frozenset[int]) -> list[StepArray | HostCall]:
        segments = super()._segments(skipped, constant)
        arrays = [each for each in segments if isinstance(each, CheckedSteps)]
        if not arrays:
            arrays = [CheckedSteps(self, ctypes.addressof(self.binding))]
            segments += arrays
        arrays[0].first = arrays[-1].last = True
        return segments

    def _add_kernel(self, steps: StepArray, work: Loop, record: Any) -> None:
        super()._add_kernel(steps, work, record)
        assert isinstance(steps, CheckedSteps)
        if record is not None:
            steps.loops.append(work)

    def _kernel(self, work: Loop) -> Any:
        record = super()._kernel(work)
        if record is not None:
            table = self.tables[id(work)] = self._table(work)
            ctypes.c_int64.from_address(record[1] + 8 * len(work.arguments)).value = table.ctypes.data
        return record

    def _table(self, loop: Loop) -> Array:
        """What a kernel may touch, a row for each of its parameters."""
        rows = np.zeros((len(loop.arguments), len(checked.ROW)), np.int64)
        written = {self.owner.get(n, n) for n in _written(loop)}
        for row, argument in zip(rows, loop.arguments):
            if argument.kind == "status":
                row[:] = 0, 16, 0, 0, checked.WRITABLE | checked.ANY_UNIT, 1
            elif argument.kind == "buffer":
                row[:] = self._row(argument, written, loop.repeats)
        return np.concatenate([np.zeros(checked.HEAD, np.int64), rows.reshape(-1)])

    def _row(self, argument: Argument, written: set[int], repeats: bool) -> tuple[int, ...]:
        number, offset = self.owner.get(argument.value, argument.value), argument.offset
        low, high = -offset, self.size(argument.value) - offset
        if not self._is_stamped(number):
            return low, high, 0, 0, 0, 1
        stamps = self._stamps(number)
        readers = self.readers[number].ctypes.data + 4 * offset if number in written else 0
        flags = (checked.WRITABLE if argument.written else 0) | (checked.REPEATED if repeats else 0)
        return low, high, stamps.ctypes.data + 4 * offset, readers, flags, 1

    def _is_stamped(self, number: int) -> bool:
        """Whether kernels write it; inputs and what NumPy makes are always there, and nothing may write to them."""
        return number in self.writers and number >= self.plan.program.inputs

    def _stamps(self, number: int) -> Array:
        if number not in self.stamps:
            self.stamps[number] = np.zeros(self.size(number) + 1, np.uint32)
            self.readers[number] = np.zeros(self.size(number) + 1, np.uint32)
        return self.stamps[number]

    def size(self, number: int) -> int:
        """Bytes of a value; a temporary has no shape."""
        if number in self.plan.calls.temporaries:
            return self.plan.bytes(number)
        value = self.plan.program.values[number]
        return value.shape.num_elements() * value.dtype.size

    # Running

    def begin(self) -> None:
        """Before the first step: results and temporaries hold nothing, results over inputs hold the input."""
        self._disjoint_values()
        for number, stamps in self.stamps.items():
            if number not in self.kept:
                stamps.fill(number in self.plan.reused)

    def before(self, loop: Loop) -> None:
        """What a step is the first to write is empty."""
        for number in self.firsts[id(loop)]:
            if number not in self.plan.reused and not (number in self.kept and self.writers[number] > 1):
                self.stamps[number].fill(0)

    def after(self, loop: Loop) -> None:
        """Raise what the kernel found; what it wrote is there for the next step."""
        table = self.tables[id(loop)]
        if table[0]:
            text = self._describe(loop, dict(zip(checked.FAULT, table.tolist())))
            table[: checked.HEAD] = 0
            raise KernelFault(text)
        for number in _written(loop):
            stamps = self.stamps[number]
            if number in self.plan.reused and number in self.firsts[id(loop)]:
                stamps[:] = stamps >= 2  # what is left of the input is no result
            else:
                np.minimum(stamps, 1, out=stamps)
            self.readers[number].fill(0)

    def end(self) -> None:
        """After the last step: results are written everywhere."""
        for number, *_ in self.plan.allocations:
            if number in self.stamps and self.size(number):
                self._whole(number, self.stamps[number][: self.size(number)], "the run leaves")

    def _whole(self, number: int, stamps: Array, who: str) -> None:
        missing = np.flatnonzero(stamps == 0)
        if len(missing):
            size = self.plan.program.values[number].dtype.size
            text = f"{len(missing) // size} elements that nobody wrote, the first at {missing[0] // size}, of "
            raise KernelFault(f"sanitizer: {who} {text}{self._name(number)}")

    def _array(self, number: int, arrays: dict[int, Any]) -> Array:
        """A value that NumPy reads, or that is copied out: all of it must be there."""
        access = self.plan.schedule.accesses.get(number)
        if access is not None and access.value in self.stamps and 0 not in access.shape:
            size = self.plan.program.values[number].dtype.size
            steps = [4 * size * each for each in access.strides]
            source = self.stamps[access.value][access.offset * size :]
            shape = (*access.shape, size)
            seen = np.lib.stride_tricks.as_strided(source, shape, (*steps, 4), writeable=False)
            self._whole(number, seen.reshape(-1), "an operation on NumPy reads")
        return super()._array(number, arrays)

    def _disjoint_values(self) -> None:
        """No result lies over another value, except over the input it replaces."""
        program, regions = self.plan.program, []
        made = {number for number, *_ in self.plan.allocations}
        for number in (*range(program.inputs), *made - self.plan.reused.keys()):
            start = ctypes.c_int64.from_address(self.places[number]).value
            regions.append((start, start + self.size(number), number))
        regions.append((self.arena_address, self.arena_address + self.plan.arena_bytes, -1))
        regions = sorted(each for each in regions if each[1] > each[0])
        end, last = 0, -1
        for start, stop, number in regions:
            writes = any(n < 0 or n in made or n in self.owner for n in (number, last))
            if start < end and writes:
                raise KernelFault(f"sanitizer: {self._name(number)} lies over {self._name(last)} in memory")
            if stop > end:
                end, last = stop, number

    # Telling

    def _name(self, number: int) -> str:
        plan = self.plan
        if number < 0:
            return "the arena"
        if number in plan.calls.temporaries:
            return f"temporary {number} of {self.size(number)} bytes"
        role = "input" if number < plan.program.inputs else "result" if number in plan.program.outputs else "value"
        value = plan.program.values[number]
        return f"{role} {number}, {value.dtype.name}{list(value.shape)}"

    def _describe(self, loop: Loop, fault: dict[str, int]) -> str:
        kernel = loop.kernel.kernel() if isinstance(loop.kernel, Recipe) else loop.kernel
        position = next(i for i, work in enumerate(self.works) if isinstance(work, Loop) and loop in work.loops())
        which, place, inner = fault["buffer"], fault["index"], fault["buffer"] - len(loop.arguments)
        if inner >= 0:
            where = f"array {inner} of the kernel, {kernel.buffers[inner].dtype.name}[{kernel.buffers[inner].count}]"
        else:
            argument = loop.arguments[which]
            place += argument.offset // kernel.parameters[which].dtype.size
            where = "its status" if argument.kind == "status" else self._name(argument.value)
        other = f"; the other one is {fault['other'] - 2}" if fault["other"] > 1 else ""
        return (
            f"sanitizer: step {position} ({loop.label}) {'writes' if fault['writes'] else 'reads'} element {place} "
            f"{WHAT[fault['kind']]} {where}, in iteration {fault['unit']} of {loop.extent}{other}"
        )


def _written(loop: Loop) -> list[int]:
    return sorted({each.value for each in loop.arguments if each.kind == "buffer" and each.written})


def _disjoint_temporaries(plan: Plan) -> None:
    """No two values of the arena share bytes while both are in use, from the first write to the last use."""
    life: dict[int, list[int]] = {}
    for position, work in enumerate(plan.works):
        used = plan._reads(work) | plan._writes(work)
        for number in used & plan.offsets.keys():
            life.setdefault(number, [position, position])[1] = position
    numbers = np.array(sorted(life), np.int64)
    first, last = np.array([life[n] for n in numbers.tolist()], np.int64).reshape(-1, 2).T
    start = np.array([plan.offsets[n] for n in numbers.tolist()], np.int64)
    end = start + np.array([plan.bytes(n) for n in numbers.tolist()], np.int64)
    for index in range(len(numbers)):
        both = (first <= last[index]) & (last >= first[index]) & (start < end[index]) & (end > start[index])
        both[: index + 1] = False
        if both.any():
            other = int(numbers[np.flatnonzero(both)[0]])
            raise KernelFault(f"sanitizer: values {int(numbers[index])} and {other} share bytes of the arena")
