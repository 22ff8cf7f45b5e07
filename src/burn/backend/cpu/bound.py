"""The steps of a plan bound to memory: an arena, argument slots, kernels that read them.

What stays where it is from run to run is written here once; what a run brings along is noted, for native code to fill
in before the first step. Works that a run may skip, because what they make is still there, give other arrays of steps
(variants), each written on first use.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.compiler import compiled, load_together
from burn.backend.cpu.faults import NO_FAULT
from burn.backend.cpu.native import Binding
from burn.backend.cpu.runner import StepArray
from burn.engine.lower.loop import Check, Loop, Routine
from burn.engine.plan import HostCall
from burn.engine.schedule.prologue import EVERYTHING, Variant

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan


class Bound:
    """The memory that a plan needs to run once at a time, and its steps on it."""

    checked = False
    """Whether kernels look before they touch memory; each then has a slot behind its arguments (see `sanitizer`)."""

    def __init__(self, plan: Plan) -> None:
        plan.device.settings.refuse_elsewhere()
        self.plan, self.works = plan, plan.works
        self.arena = np.empty(plan.arena_bytes + 64, np.uint8)
        self.bytes = self.arena.nbytes
        """What it keeps from run to run."""
        self.arena_address = -(-self.arena.ctypes.data // 64) * 64
        count = len(plan.program.values) + len(plan.calls.temporaries) + 1
        self.addresses = np.zeros(count, np.int64)
        start = self.addresses.ctypes.data
        self.places = array("q", range(start, start + 8 * count, 8))  # of inputs and results: inside the array object
        for number, offset in plan.offsets.items():
            self.addresses[number] = self.arena_address + offset
        self.kept: dict[int, np.ndarray[Any, Any]] = {}
        self._keep(*plan.prologue.kept)
        self._build()

    def _keep(self, *numbers: int) -> None:
        """Memory that stays from run to run: one block, which the system gives in large pages."""
        sizes = [-(-self.plan.bytes(number) // 64) * 64 for number in numbers]
        raw = np.empty(sum(sizes) + 64, np.uint8)
        self.bytes += raw.nbytes
        start = -raw.ctypes.data % 64
        for number, size in zip(numbers, sizes, strict=True):
            self.kept[number] = raw[start : start + size]
            self.addresses[number] = raw.ctypes.data + start
            start += size

    def _build(self) -> None:
        """Write the steps, noting which slots depend on inputs, outputs and numbers."""
        plan = self.plan
        loops = [loop for work in plan.works if isinstance(work, Loop) for loop in work.loops()]
        total = sum(len(loop.arguments) + self.checked for loop in loops)
        self.slots = np.zeros(max(total, 1), np.int64)
        rows: list[tuple[int, int, int]] = []
        number_rows: list[tuple[int, int, int]] = []
        self.integers: list[tuple[int, int]] = []
        self.checks: list[Check] = []
        self.status = np.empty((sum(isinstance(work, Routine) for work in plan.works), 2), np.int64)
        self.status[:] = NO_FAULT
        self._no_faults = self.status.tobytes()
        self.records: list[Any] = []  # of each work: a kernel and its slots
        self.packed_steps: dict[int, Any] = {}
        self.first_slots: dict[int, int] = {}  # id of a loop → the address of its first slot
        position = 0
        for loop in loops:
            self.first_slots[id(loop)] = self.slots.ctypes.data + 8 * position
            for argument in loop.arguments:
                if argument.kind == "size":
                    self.slots[position] = argument.value
                elif argument.kind == "status":
                    assert isinstance(loop, Routine)
                    assert loop.check is not None
                    self.slots[position] = self.status.ctypes.data + 16 * len(self.checks)
                    self.checks.append(loop.check)
                elif argument.kind == "scalar":
                    assert argument.dtype is not None
                    if argument.dtype.name in ("f32", "f64"):
                        number_rows.append((position, argument.value, argument.dtype.name == "f64"))
                    else:
                        self.integers.append((position, argument.value))
                elif self._is_fixed(argument.value):
                    self.slots[position] = self.addresses[argument.value] + argument.offset
                else:
                    rows.append((position, argument.value, argument.offset))
                position += 1
            position += self.checked
        kernels = (work.kernel for work in plan.works if isinstance(work, Loop) and work.extent)
        load_together(kernels, plan.features, self.checked)
        for work in plan.works:
            self.records.append(None if isinstance(work, HostCall) else self._kernel(work))
        self.numbers = array("d", bytes(8 * max(plan.program.scalars, 1)))
        self._rows, self._number_rows = np.array(rows, np.int64), np.array(number_rows, np.int64)
        self.binding = Binding(
            places=self.places.buffer_info()[0],
            slots=self.slots.ctypes.data,
            rows=self._rows.ctypes.data,
            row_count=len(rows),
            numbers=self.numbers.buffer_info()[0],
            number_rows=self._number_rows.ctypes.data,
            number_count=len(number_rows),
        )
        self.variants: dict[Variant, list[StepArray | HostCall]] = {}
        self._chosen = EVERYTHING
        self.segments = self._variant(EVERYTHING)

    def _is_fixed(self, value: int) -> bool:
        """Whether a value is at the same address in every run."""
        return value in self.plan.offsets or value in self.kept

    def _variant(self, variant: Variant) -> list[StepArray | HostCall]:
        """The segments of a run that skips some works; written on first use."""
        found = self.variants.get(variant)
        if found is None:
            found = self.variants[variant] = self._segments(*variant)
        return found

    def _segments(self, skipped: frozenset[int], constant: frozenset[int]) -> list[StepArray | HostCall]:
        """Native steps between two NumPy calls, or the last check and the first write over an input, go together.

        `constant` products read a packed operand.
        """
        segments: list[StepArray | HostCall] = []
        binding = ctypes.addressof(self.binding)
        steps = self._steps(binding)
        for position, (work, record) in enumerate(zip(self.works, self.records, strict=True)):
            if position == self.plan.commit and len(steps):  # what was checked is looked at before anything is lost
                segments.append(steps)
                steps = self._steps(binding)
            if isinstance(work, HostCall):
                if len(steps):
                    segments.append(steps)
                    steps = self._steps(binding)
                segments.append(work)
            elif position in constant:
                assert work.constant is not None
                pack, call = self._constant_kernels(position, work)
                if position not in skipped:
                    self._add_kernel(steps, work.constant.pack, pack)
                self._add_kernel(steps, work.constant.call, call)
            elif position not in skipped:
                self._add_kernel(steps, work, record)
        if len(steps):
            segments.append(steps)
        return segments

    def _steps(self, binding: int) -> StepArray:
        """An array for steps that are done after a binding."""
        return StepArray(binding=binding)

    def _kernel(self, work: Loop) -> Any:
        """A kernel and the address of its slots, or None where it has nothing to do."""
        if not work.extent:
            return None
        return compiled(work.kernel, self.plan.features, self.checked), self.first_slots[id(work)]

    def _add_kernel(self, steps: StepArray, work: Loop, record: Any) -> None:
        if record is not None:
            kernel, slots = record
            steps.keep(kernel)
            steps.add_kernel(kernel.address, slots, work.extent, work.grain, work.label)

    def _constant_kernels(self, position: int, work: Loop) -> Any:
        """The kernels of a product whose second operand is packed, and memory for that."""
        found = self.packed_steps.get(position)
        if found is None:
            assert work.constant is not None
            self._keep(next(each.value for each in work.constant.pack.arguments if each.written))
            found = self.packed_steps[position] = self._kernel(work.constant.pack), self._kernel(work.constant.call)
        return found
