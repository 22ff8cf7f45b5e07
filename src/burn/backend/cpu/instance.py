"""The memory of one run of a plan: an arena, argument slots, library steps bound to them.

Python says only which arrays a run reads and makes: it writes down where each array object keeps its
address, and native code follows from there, before the first step, to every slot and library buffer
that needs it. So a run costs Python a store for each input and an allocation for each output.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu import onednn
from burn.backend.cpu.compiler import compiled, load_together
from burn.backend.cpu.lower.library import LibraryCall
from burn.backend.cpu.lower.loop_parts import Loop
from burn.backend.cpu.lower.prologue import EVERYTHING, MOST_VARIANTS, Memory, Variant
from burn.backend.cpu.lower.writer import Check, Routine
from burn.backend.cpu.memory import LARGE
from burn.backend.cpu.native import Binding
from burn.backend.cpu.pool import pool
from burn.backend.cpu.runner import StepArray
from burn.backend.cpu.tuning.answers import answers
from burn.errors import too_large
from burn.ops.indexing_references import out_of_range
from burn.program.program import Constant, Node, Program, Scalar

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan

NO_FAULT = (0, -1)
"""What a kernel that checks indices leaves alone: the lowest index below 0, the highest beyond the dim."""

SMALL_CALL = 1 << 15
"""Bytes of all buffers together up to which a library call is done before a second thread has woken up."""

ADDRESS_OF_DATA: int = object.__basicsize__
"""How far into an array object its address stands; checked below."""


def _address(held: np.ndarray[Any, Any]) -> int:
    pointer: int = held.__array_interface__["data"][0]
    return pointer


def _layout_is_known() -> bool:
    """Whether array objects keep their address where we look for it. Other interpreters may have other layouts."""
    probes = [np.empty(shape, np.float32) for shape in ((3,), (2, 5), (64, 64), ())]
    return all(ctypes.c_int64.from_address(id(each) + ADDRESS_OF_DATA).value == _address(each) for each in probes)


KNOWN_LAYOUT = _layout_is_known()


Watch = Callable[[list[Any]], list[Any]]
"""Gives what runs in the place of segments, to look at them while they do."""


@dataclass
class HostCall:
    """A node that runs on NumPy."""

    node: Node


def bytes_of(program: Program, number: int) -> int:
    """The size of a value, at least one byte."""
    value = program.values[number]
    return max(value.shape.num_elements() * value.dtype.size, 1)


class Instance:
    """What one run of a plan needs for itself. A run belongs to one thread; several instances run at once."""

    offset = ADDRESS_OF_DATA

    def __init__(self, plan: Plan) -> None:
        self.plan, self.threads, self._pool = plan, plan.threads, pool()
        self.works, self._generation, self._answers = plan.works, plan.generation, answers()
        self.arena = np.empty(plan.arena_bytes + 64, np.uint8)
        self.arena_address = -(-self.arena.ctypes.data // 64) * 64
        count = len(plan.program.values) + len(plan.calls.temporaries) + 1
        self.addresses = np.zeros(count, np.int64)
        start = self.addresses.ctypes.data
        self.places = array("q", range(start, start + 8 * count, 8))  # of inputs and results: inside the array object
        self.direct = self.places if KNOWN_LAYOUT else None
        """Where a caller may do by itself what `bind` does: `direct[number] = id(value) + ADDRESS_OF_DATA`."""
        for number, offset in plan.offsets.items():
            self.addresses[number] = self.arena_address + offset
        self.kept: dict[int, np.ndarray[Any, Any]] = {}
        self._keep(*plan.prologue.kept)
        self.memory = Memory(plan.prologue)
        self.watched = frozenset(plan.prologue.watched)
        self.steady = False
        self._scalars: list[Any] = []  # whose numbers are written; nobody changes a list that a plan was given
        self._build()
        self._plan_results()

    def _keep(self, *numbers: int) -> None:
        """Memory that stays from run to run: one block, which the system gives in large pages."""
        sizes = [-(-self.plan.bytes(number) // 64) * 64 for number in numbers]
        raw = np.empty(sum(sizes) + 64, np.uint8)
        start = -raw.ctypes.data % 64
        for number, size in zip(numbers, sizes, strict=True):
            self.kept[number] = raw[start : start + size]
            self.addresses[number] = raw.ctypes.data + start
            start += size

    # Building

    def _build(self) -> None:
        """Write the steps, noting which slots depend on inputs, outputs and numbers."""
        plan = self.plan
        total = sum(len(loop.arguments) for work in plan.works if isinstance(work, Loop) for loop in work.loops())
        self.slots = np.zeros(max(total, 1), np.int64)
        rows: list[tuple[int, int, int]] = []
        number_rows: list[tuple[int, int, int]] = []
        self.integers: list[tuple[int, int]] = []
        self.checks: list[Check] = []
        self.status = np.empty((sum(isinstance(work, Routine) for work in plan.works), 2), np.int64)
        self.status[:] = NO_FAULT
        self._no_faults = self.status.tobytes()
        self.memory_rows: list[tuple[int, int, int, int]] = []
        self.records: list[Any] = []  # of each work: a kernel and its slots, or library steps
        self.packed_steps: dict[int, Any] = {}
        self.first_slots: dict[int, int] = {}  # id of a loop → the address of its first slot
        position = 0
        for loop in (loop for work in plan.works if isinstance(work, Loop) for loop in work.loops()):
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
        load_together(work.kernel for work in plan.works if isinstance(work, Loop) and work.extent)
        for work in plan.works:
            if isinstance(work, HostCall):
                self.records.append(None)
            elif isinstance(work, Loop):
                self.records.append(self._kernel(work))
            else:
                self.records.append(self._library_steps(work))
        self.numbers = array("d", bytes(8 * max(plan.program.scalars, 1)))
        self._rows, self._number_rows = np.array(rows, np.int64), np.array(number_rows, np.int64)
        self.binding = Binding(
            places=self.places.buffer_info()[0],
            slots=self.slots.ctypes.data,
            rows=self._rows.ctypes.data,
            row_count=len(rows),
            set_data_handle=onednn.load().address("dnnl_memory_set_data_handle") if self.memory_rows else None,
            numbers=self.numbers.buffer_info()[0],
            number_rows=self._number_rows.ctypes.data,
            number_count=len(number_rows),
        )
        self._write_memories()
        self.variants: dict[Variant, list[StepArray | HostCall]] = {}
        self._chosen = EVERYTHING
        self.segments = self._variant(EVERYTHING)

    def _is_fixed(self, value: int) -> bool:
        """Whether a value is at the same address in every run."""
        return value in self.plan.offsets or value in self.kept

    def _write_memories(self) -> None:
        self._memories = np.array(self.memory_rows, np.int64)
        self.binding.memories, self.binding.memory_count = self._memories.ctypes.data, len(self.memory_rows)

    def _variant(self, variant: Variant) -> list[StepArray | HostCall]:
        """The segments of a run that skips some works; written on first use."""
        found = self.variants.get(variant)
        if found is None:
            found = self.variants[variant] = self._segments(*variant)
        return found

    def _segments(self, skipped: frozenset[int], constant: frozenset[int]) -> list[StepArray | HostCall]:
        """Native steps between two NumPy calls go together. `constant` products read a packed operand."""
        segments: list[StepArray | HostCall] = []
        binding = ctypes.addressof(self.binding)
        steps = StepArray(binding=binding)
        for position, (work, record) in enumerate(zip(self.works, self.records, strict=True)):
            if isinstance(work, HostCall):
                if len(steps):
                    segments.append(steps)
                    steps = StepArray(binding=binding)
                segments.append(work)
            elif isinstance(work, Loop) and position in constant:
                assert work.constant is not None
                pack, call = self._constant_kernels(position, work)
                if position not in skipped:
                    self._add_kernel(steps, work.constant.pack, pack)
                self._add_kernel(steps, work.constant.call, call)
            elif isinstance(work, Loop):
                if position not in skipped:
                    self._add_kernel(steps, work, record)
            elif position in constant:
                assert work.constant is not None
                pack, call = self._constant_steps(position, work)
                if position not in skipped:
                    self._add_call(steps, work.constant.pack, pack)
                self._add_call(steps, work.constant.call, call)
            elif position not in skipped:
                self._add_call(steps, work, record)
        if len(steps):
            segments.append(steps)
        return segments

    def _kernel(self, work: Loop) -> Any:
        """A kernel and the address of its slots, or None where it has nothing to do."""
        return (compiled(work.kernel), self.first_slots[id(work)]) if work.extent else None

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

    def _add_call(self, steps: StepArray, work: LibraryCall, both: tuple[Any, Any]) -> None:
        together, alone = both
        steps.keep(together, alone)
        large = sum(self.plan.bytes(value) for value, _ in work.roles.values()) > SMALL_CALL
        steps.add_call(together.address, *together.arguments, name=work.label, serial=alone.arguments, team=large)

    def _library_steps(self, work: LibraryCall) -> tuple[Any, Any]:
        """A call for the team, and one for the calling thread alone."""
        return self._library_step(work, work.primitive), self._library_step(work, work.primitive.serial())

    def _constant_steps(self, position: int, work: LibraryCall) -> Any:
        """The steps of a product whose second operand is packed, and memory for that."""
        found = self.packed_steps.get(position)
        if found is None:
            assert work.constant is not None
            self._keep(work.constant.pack.roles["out"][0])
            found = self._library_steps(work.constant.pack), self._library_steps(work.constant.call)
            self.packed_steps[position] = found
            self._write_memories()
        return found

    def _library_step(self, work: LibraryCall, primitive: Any) -> Any:
        """A step of the library, bound to the arena; what changes from run to run is bound before each."""
        step = primitive.step({})
        if "scratchpad" in step.unbound:
            step.rebind("scratchpad", self.arena_address + self.plan.scratch_offset)
        for role, (value, offset) in work.roles.items():
            if self._is_fixed(value):
                step.rebind(role, int(self.addresses[value]) + offset)
            else:
                _, (memory, _) = step.rebinding(role, 0)
                self.memory_rows.append((memory, value, offset, 0))
        return step

    def _plan_results(self) -> None:
        """Note how results are made: number, shape, dtype, whether pages are worth keeping, the input written over."""
        plan = self.plan
        self.allocations = [
            (number, tuple(value.shape), value.dtype.numpy, plan.bytes(number) >= LARGE, value.dtype, owner)
            for number, value, owner in plan.allocations
        ]
        made = [number for number, *_ in self.allocations]
        self.hosted = any(isinstance(work, HostCall) for work in plan.works)
        self.hosted_results = [n for work in plan.works if isinstance(work, HostCall) for n in work.node.results]
        outputs = plan.program.outputs
        self.picks = [made.index(number) for number in outputs] if set(outputs) <= set(made) else None
        self.distinct = plan.distinct

    # Running

    def run(self, inputs: Sequence[Any], scalars: list[Any], watch: Watch | None = None) -> list[Any]:
        """Bind this run's buffers, run the segments, give the outputs. What `watch` makes of the segments runs."""
        try:
            self._choose(inputs, scalars, False)
            if watch is not None:
                self.segments, self.steady = watch(self.segments), False
            bind = self.bind
            for number, storage in enumerate(inputs):
                bind(number, storage.value)
            return self._run(inputs, scalars)
        except BaseException:
            self.forget()
            raise

    def is_current(self) -> bool:
        """Whether it may still run: its steps are made for one number of threads, and by the answers of that time."""
        if self.threads != self._pool.threads:
            return False
        if self._generation != self._answers.generation:
            if self.works is not self.plan.works or not self.plan.is_current():
                return False
            self._generation = self._answers.generation
        return True

    def is_steady(self, changed: list[int]) -> bool:
        """Whether a run in which only these inputs changed takes the steps of the run before."""
        return self.steady and self.watched.isdisjoint(changed)

    def run_bound(self, inputs: Any, scalars: list[Any], changed: list[int]) -> list[Any]:
        """Run with the inputs of the run before, except those that `changed`, which the caller has bound.

        Where results are `distinct`, `inputs` need only have, by number, those that changed and, unless the
        run `is_steady`, those that are watched.
        """
        try:
            if not self.is_steady(changed):
                self._choose(inputs, scalars, self.watched.isdisjoint(changed))
            return self._run(inputs, scalars)
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Run everything the next time."""
        self.memory.forget()
        self.steady = False

    if KNOWN_LAYOUT:

        def bind(self, number: int, value: np.ndarray[Any, Any]) -> None:
            """Say which array a value is. It must live until the run has ended."""
            self.places[number] = id(value) + ADDRESS_OF_DATA

    else:

        def bind(self, number: int, value: np.ndarray[Any, Any]) -> None:
            """Say which array a value is. It must live until the run has ended."""
            self.addresses[number] = _address(value)

    def _choose(self, inputs: Any, scalars: list[Any], calm: bool) -> None:
        """Which steps this run may skip; the same as before is `steady` as long as no watched input changes."""
        variant = self.memory.variant(inputs, scalars)
        if variant not in self.variants and len(self.variants) >= MOST_VARIANTS:
            self.memory.forget()
            variant = self.memory.variant(inputs, scalars)
        self.segments = self._variant(variant)
        self.steady = calm and variant == self._chosen and min(self.watched, default=0) >= 0
        self._chosen = variant

    def _run(self, inputs: Any, scalars: list[Any]) -> list[Any]:
        made: list[Any] = []
        places, allocate = self.places, self.plan.device.allocate
        for number, shape, kind, large, dtype, owner in self.allocations:
            if owner is not None:
                result = inputs[owner].value.reshape(shape)
            elif large:
                try:
                    result = allocate(shape, dtype)
                except MemoryError:
                    raise too_large("plan", shape, dtype, self.plan.device) from None
            else:
                result = np.empty(shape, kind)
            made.append(result)
            if KNOWN_LAYOUT:
                places[number] = id(result) + ADDRESS_OF_DATA
            else:
                self.bind(number, result)
        if scalars and scalars is not self._scalars:
            self._scalars = scalars
            self.numbers[:] = array("d", scalars)
            for position, slot in self.integers:
                self.slots[position] = _word(scalars[slot])
        if self.hosted or self.picks is None:
            return self._run_with_host(inputs, scalars, made)
        for segment in self.segments:
            segment.run()  # type: ignore[union-attr]
        if self.checks:
            self._check()
        return [made[pick] for pick in self.picks]

    def _check(self) -> None:
        """Raise for the first kernel that met an index outside its dim."""
        if self.status.tobytes() == self._no_faults:
            return
        faulty = np.flatnonzero((self.status != NO_FAULT).any(axis=1))
        if len(faulty):
            check = self.checks[faulty[0]]
            low, high = self.status[faulty[0]].tolist()
            self.status[:] = NO_FAULT
            raise out_of_range(check.operation, low if low < 0 else high, check.dim, check.size)

    # Nodes on NumPy

    def _run_with_host(self, inputs: list[Any], scalars: list[Any], made: list[Any]) -> list[Any]:
        arrays: dict[int, np.ndarray[Any, Any]] = {number: storage.value for number, storage in enumerate(inputs)}
        arrays.update(zip((number for number, *_ in self.allocations), made, strict=True))
        start = self.addresses.ctypes.data
        for number in self.hosted_results:  # those of the run before are gone; these are bound as they are made
            self.places[number] = start + 8 * number
        for segment in self.segments:
            if isinstance(segment, HostCall):
                self._host(segment.node, arrays, scalars)
            else:
                segment.run()
                if self.checks:
                    self._check()
        return [self._output(number, arrays) for number in self.plan.program.outputs]

    def _host(self, node: Node, arrays: dict[int, Any], scalars: list[Any]) -> None:
        """Run a node on NumPy; its results are bound for the steps after it."""
        operands = [self._operand(each, arrays, scalars) for each in node.operands]
        kernel = self.plan.device.kernels[node.op]
        assert kernel is not None
        result = kernel(*operands, *node.attributes)
        made = result if node.op.outputs > 1 else (result,)
        for number, value in zip(node.results, made, strict=True):
            held = np.ascontiguousarray(value).reshape(np.shape(value))
            if held.base is not None or any(held is operand for operand in operands):
                held = held.copy()  # a result has memory of its own
            arrays[number] = held
            self.bind(number, held)

    def _operand(self, operand: Any, arrays: dict[int, Any], scalars: list[Any]) -> Any:
        if isinstance(operand, int):
            return self._array(operand, arrays)
        if isinstance(operand, Scalar):
            return scalars[operand.slot]
        if isinstance(operand, Constant):
            return operand.value
        return [self._array(number, arrays) for number in operand] if isinstance(operand, tuple) else operand

    def _array(self, number: int, arrays: dict[int, Any]) -> np.ndarray[Any, Any]:
        """A value as an array: its own memory, a view of another's, or a constant."""
        schedule = self.plan.schedule
        value = self.plan.program.values[number]
        if number in schedule.constants:
            try:
                return np.full(value.shape, schedule.constants[number].value, value.dtype.numpy)
            except MemoryError:
                raise too_large("full", value.shape, value.dtype, self.plan.device) from None
        access = schedule.accesses.get(number)
        if access is None or access.value == number:
            return self._owned(number, arrays)
        owner = self._owned(access.value, arrays).reshape(-1)
        size = value.dtype.size
        source = owner[access.offset :] if owner.size else owner
        if not value.dtype.is_arithmetic:
            source = source.view(np.uint8)  # NumPy cannot name some of these formats in a view of strides
        view = np.lib.stride_tricks.as_strided(source, value.shape, [s * size for s in access.strides])
        return view if value.dtype.is_arithmetic else view.view(value.dtype.numpy)

    def _owned(self, number: int, arrays: dict[int, Any]) -> np.ndarray[Any, Any]:
        found = arrays.get(number)
        if found is None and number in self.kept:
            value = self.plan.program.values[number]
            count = value.shape.num_elements() * value.dtype.size
            found = self.kept[number][:count].view(value.dtype.numpy).reshape(value.shape)
        if found is None:
            value = self.plan.program.values[number]
            start = int(self.addresses[number]) - self.arena.ctypes.data
            flat = self.arena[start : start + bytes_of(self.plan.program, number)]
            count = value.shape.num_elements() * value.dtype.size
            found = flat[:count].view(value.dtype.numpy).reshape(value.shape)
        return found

    def _output(self, number: int, arrays: dict[int, Any]) -> np.ndarray[Any, Any]:
        if number in arrays and number >= self.plan.program.inputs:
            made: np.ndarray[Any, Any] = arrays[number]
            return made
        found = self._array(number, arrays)
        return np.array(found, order="C") if number not in arrays else found


def _word(number: float) -> int:
    """An integer in the eight bytes of a slot."""
    whole = int(number)
    return whole - (1 << 64) if whole >> 63 > 0 else whole
