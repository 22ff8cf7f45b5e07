"""Plans: a program made ready to run again and again.

The program is simplified, cut into units, and every unit becomes a kernel, a library call or a call of
a NumPy kernel. What is not a result lives in an arena whose layout follows from who reads what until
when; kernels and library calls between two NumPy calls run in one native call.
"""

from __future__ import annotations

import collections
import contextlib
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu import onednn
from burn.backend.cpu.arena import plan_arena
from burn.backend.cpu.compiler import compiled
from burn.backend.cpu.lower.access import Access
from burn.backend.cpu.lower.columns import lower_column
from burn.backend.cpu.lower.kernels import lower_kernel
from burn.backend.cpu.lower.layouts import assign_layouts
from burn.backend.cpu.lower.library import Calls, LibraryCall
from burn.backend.cpu.lower.loops import Loop, lower_loop
from burn.backend.cpu.lower.moving import lower_copy
from burn.backend.cpu.lower.prologue import EVERYTHING, MOST_KEPT, MOST_VARIANTS, Memory, Prologue, Variant
from burn.backend.cpu.lower.scalar_code import fits_a_loop
from burn.backend.cpu.lower.units import Scheduler
from burn.backend.cpu.lower.writer import Check, Routine
from burn.backend.cpu.pool import pool
from burn.backend.cpu.runner import StepArray
from burn.dtype import DType
from burn.errors import too_large
from burn.ops.indexing_references import out_of_range
from burn.program.passes import Explanation, drop_identities, remove_dead, run_passes, share_equal
from burn.program.program import Constant, Node, Program, Scalar, Value

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu

PASSES = [
    ("drop identities", drop_identities),
    ("share equal", share_equal),
    ("remove dead", remove_dead),
    ("layouts", assign_layouts),
    ("remove what layouts left", remove_dead),
]


@dataclass
class HostCall:
    """A node that runs on NumPy."""

    node: Node


Work = Loop | LibraryCall | HostCall


def prepare(program: Program, free: tuple[bool, ...], device: Cpu) -> Plan:
    """The plan of a program; `free` tells which inputs may be overwritten."""
    explanation = Explanation()
    simplified = run_passes(program, PASSES, explanation)
    return Plan(simplified, free, device, explanation)


class Plan:
    """What `prepare` makes. Calling it runs it; several threads may do so at once."""

    def __init__(self, program: Program, free: tuple[bool, ...], device: Cpu, explanation: Explanation) -> None:
        self.program, self.device, self.explanation, self.free = program, device, explanation, free
        self._build_lock = threading.Lock()
        self._build()

    def _build(self) -> None:
        """Lower the program for the number of threads of this moment: library steps are made for one number."""
        program, free = self.program, self.free
        self.threads = pool().threads
        self.schedule = Scheduler(program, fits_a_loop).schedule()
        self.calls = Calls(program, self.schedule)
        with onednn.load().limited_to(self.threads) if onednn.available() else contextlib.nullcontext():
            self.works: list[Work] = [work for unit in self.schedule.units for work in self._lower(unit)]
        self.copied = self._copy_out()
        self.last_read = self._last_reads()
        self.reused = self._reuse(free)
        self.allocations = self._allocations()
        self.prologue = self._find_prologue(free)
        self._place()
        self.instances: collections.deque[Instance] = collections.deque()

    def _lower(self, unit: Any) -> Sequence[Work]:
        if unit.kind == "loop":
            return [lower_loop(self.program, self.schedule, unit)]
        node = self.program.nodes[unit.nodes[0]]
        if unit.kind == "column":
            return [lower_column(self.program, self.schedule, node)]
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
        if isinstance(work, LibraryCall):
            return {value for role, (value, _) in work.roles.items() if role not in work.writes}
        return {self._access(n).value for n in work.node.reads() if n not in self.schedule.constants}

    def _writes(self, work: Work) -> set[int]:
        if isinstance(work, Loop):
            return {a.value for a in work.arguments if a.written}
        if isinstance(work, LibraryCall):
            return {work.roles[role][0] for role in work.writes}
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
        available = [n for n in range(program.inputs) if n < len(free) and free[n] and n not in wanted]
        for position, work in enumerate(self.works):
            if isinstance(work, HostCall):
                continue
            for number in sorted(self._writes(work)):
                if number not in wanted:
                    continue
                for candidate in available:
                    same = program.values[candidate] == program.values[number]
                    if same and self.last_read.get(candidate, -1) <= position and self._in_step(work, candidate):
                        taken[number] = candidate
                        available.remove(candidate)
                        break
        return taken

    def _in_step(self, work: Work, candidate: int) -> bool:
        """Whether overwriting `candidate` element by element is safe: each element is read where it is written."""
        if candidate not in self._reads(work):
            return True
        if not isinstance(work, Loop) or not work.in_step:
            return False
        whole = [a for a in self.schedule.accesses.values() if a.value == candidate]
        return all(a.is_contiguous and a.offset == 0 for a in whole)

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
            if isinstance(work, Loop):
                slots = [argument.value for argument in work.arguments if argument.kind == "scalar"]
                checked = any(argument.kind == "status" for argument in work.arguments)
                if not checked and not outputs & writes and sum(map(self.bytes, writes)) <= MOST_KEPT:
                    found.add(position, reads, writes, slots)
            elif work.primitive.operation == "reorder" and not outputs & writes:
                found.add(position, reads, writes)
            elif work.constant is not None:
                found.add_product(position, work.constant.pack.roles["x"][0])
        return found

    def bytes(self, number: int) -> int:
        """The size of a value, or of a temporary of library calls."""
        temporary = self.calls.temporaries.get(number)
        return _bytes(self.program, number) if temporary is None else temporary

    def _place(self) -> None:
        """Find a place in the arena for everything that is neither input nor output."""
        program = self.program
        outputs = set(program.outputs)
        hosted = {n for work in self.works if isinstance(work, HostCall) for n in work.node.results}
        made: dict[int, int] = {}
        for position, work in enumerate(self.works):
            for number in self._writes(work):
                made[number] = position
        kept = self.prologue.kept
        self.inner = [n for n in made if n not in outputs and n not in hosted and n not in kept]
        lifetimes = [(self.bytes(n), made[n], max(self.last_read.get(n, made[n]), made[n])) for n in self.inner]
        primitives = [p for w in self.works if isinstance(w, LibraryCall) for p in w.primitives()]
        scratch = max([each.scratchpad for p in primitives for each in (p, p.serial())], default=0)
        offsets, total = plan_arena(lifetimes) if lifetimes else ([], 0)
        self.offsets = dict(zip(self.inner, offsets, strict=True))
        self.scratch_offset = -(-total // 64) * 64
        self.arena_bytes = self.scratch_offset + scratch + 64

    # Running

    def __call__(self, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        if self.threads != pool().threads:
            with self._build_lock:
                if self.threads != pool().threads:
                    self._build()
        instances = self.instances
        try:
            instance = instances.pop()
        except IndexError:
            instance = Instance(self)
        try:
            return instance.run(inputs, scalars)
        except BaseException:
            instance.memory.forget()
            raise
        finally:
            if len(instances) < MOST_INSTANCES:
                instances.append(instance)

    def describe(self) -> str:
        """The steps of the plan, a line each."""
        lines = []
        for work in self.works:
            if isinstance(work, Loop):
                lines.append(f"kernel  {work.label}")
            elif isinstance(work, LibraryCall):
                lines.append(f"library {work.label} ({work.primitive.implementation})")
            else:
                lines.append(f"numpy   {work.node.op.name}")
        return "\n".join(lines)


MOST_INSTANCES = 4
NO_FAULT = (0, -1)
"""What a kernel that checks indices leaves alone: the lowest index below 0, the highest beyond the dim."""


def _bytes(program: Program, number: int) -> int:
    value = program.values[number]
    return max(value.shape.num_elements() * value.dtype.size, 1)


class Instance:
    """The memory of one run of a plan: arena, argument slots, bound library steps."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.lock = threading.Lock()
        raw = np.empty(plan.arena_bytes + 64, np.uint8)
        self.arena = raw
        self.arena_address = -(-raw.ctypes.data // 64) * 64
        self.addresses = np.zeros(len(plan.program.values) + len(plan.calls.temporaries) + 1, np.int64)
        for number, offset in plan.offsets.items():
            self.addresses[number] = self.arena_address + offset
        self.kept: dict[int, np.ndarray[Any, Any]] = {}
        for number in plan.prologue.kept:
            self._keep(number)
        self.memory = Memory(plan.prologue)
        self._build()

    def _keep(self, number: int) -> None:
        """Memory that stays from run to run."""
        raw = np.empty(self.plan.bytes(number) + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.kept[number] = raw[start:]
        self.addresses[number] = raw.ctypes.data + start

    def _build(self) -> None:
        """Write the steps, noting which slots depend on inputs, outputs and scalars."""
        plan = self.plan
        total = sum(len(work.arguments) for work in plan.works if isinstance(work, Loop))
        self.slots = np.zeros(max(total, 1), np.int64)
        positions: list[int] = []
        values: list[int] = []
        offsets: list[int] = []
        self.checks: list[Check] = []
        self.status = np.empty((sum(isinstance(work, Routine) for work in plan.works), 2), np.int64)
        self.status[:] = NO_FAULT
        self.scalar_slots: list[tuple[int, int, DType]] = []
        self.rebinds: list[tuple[Any, str, int, int]] = []
        self.last_pointer: list[int] = []
        self.records: list[Any] = []  # of each work: a kernel and its slots, or library steps
        self.packed_steps: dict[int, Any] = {}
        position = 0
        for work in plan.works:
            if isinstance(work, HostCall):
                self.records.append(None)
            elif isinstance(work, Loop):
                begin = position
                for argument in work.arguments:
                    if argument.kind == "size":
                        self.slots[position] = argument.value
                    elif argument.kind == "status":
                        assert isinstance(work, Routine)
                        assert work.check is not None
                        self.slots[position] = self.status.ctypes.data + 16 * len(self.checks)
                        self.checks.append(work.check)
                    elif argument.kind == "scalar":
                        assert argument.dtype is not None
                        self.scalar_slots.append((position, argument.value, argument.dtype))
                    else:
                        positions.append(position)
                        values.append(argument.value)
                        offsets.append(argument.offset)
                    position += 1
                slots = self.slots.ctypes.data + 8 * begin
                self.records.append((compiled(work.kernel), slots) if work.extent else None)
            else:
                self.records.append(self._library_steps(work))
        self.positions = np.array(positions, np.int64)
        self.values = np.array(values, np.int64)
        self.slot_offsets = np.array(offsets, np.int64)
        self.variants: dict[Variant, list[StepArray | HostCall]] = {}
        self.segments = self._variant(EVERYTHING)

    def _variant(self, variant: Variant) -> list[StepArray | HostCall]:
        """The segments of a run that skips some works; written on first use."""
        found = self.variants.get(variant)
        if found is None:
            found = self.variants[variant] = self._segments(*variant)
        return found

    def _segments(self, skipped: frozenset[int], constant: frozenset[int]) -> list[StepArray | HostCall]:
        """Native steps between two NumPy calls go together. `constant` products read a packed operand."""
        segments: list[StepArray | HostCall] = []
        steps = StepArray()
        for position, (work, record) in enumerate(zip(self.plan.works, self.records, strict=True)):
            if isinstance(work, HostCall):
                if len(steps):
                    segments.append(steps)
                    steps = StepArray()
                segments.append(work)
            elif isinstance(work, Loop):
                if record is not None and position not in skipped:
                    kernel, slots = record
                    steps.keep(kernel)
                    steps.add_kernel(kernel.address, slots, work.extent, work.grain, work.label)
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

    def _add_call(self, steps: StepArray, work: LibraryCall, both: tuple[Any, Any]) -> None:
        together, alone = both
        steps.keep(together, alone)
        steps.add_call(together.address, *together.arguments, name=work.label, serial=alone.arguments)

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
        return found

    def _library_step(self, work: LibraryCall, primitive: Any) -> Any:
        """A step of the library, bound to the arena; what changes from run to run is bound in `_bind`."""
        plan = self.plan
        step = primitive.step({})
        if "scratchpad" in step.unbound:
            step.rebind("scratchpad", self.arena_address + plan.scratch_offset)
        for role, (value, offset) in work.roles.items():
            if value in plan.offsets or value in self.kept:
                step.rebind(role, int(self.addresses[value]) + offset)
            else:
                self.rebinds.append((step, role, value, offset))
                self.last_pointer.append(0)
        return step

    def run(self, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        """Bind this run's buffers, run the segments, give the outputs."""
        plan, program, addresses = self.plan, self.plan.program, self.addresses
        variant = self.memory.variant(inputs, scalars)
        if variant not in self.variants and len(self.variants) >= MOST_VARIANTS:
            self.memory.forget()
            variant = self.memory.variant(inputs, scalars)
        self.segments = self._variant(variant)
        arrays: dict[int, np.ndarray[Any, Any]] = {}
        for number, storage in enumerate(inputs):
            arrays[number] = storage.value
            address = storage.address
            if not address:
                address = storage.address = _address(storage.value)
            addresses[number] = address
        for number, value, owner in plan.allocations:
            if owner is not None:
                arrays[number] = arrays[owner].reshape(value.shape)
            else:
                try:
                    arrays[number] = plan.device.allocate(value.shape, value.dtype)
                except MemoryError:
                    raise too_large("plan", value.shape, value.dtype, plan.device) from None
            addresses[number] = _address(arrays[number])
        for position, slot, dtype in self.scalar_slots:
            self.slots[position] = _bits(scalars[slot], dtype)
        self._bind()
        for segment in self.segments:
            if isinstance(segment, HostCall):
                self._host(segment.node, arrays, scalars)
            else:
                segment.run()
                if self.checks:
                    self._check()
        return [self._output(number, arrays) for number in program.outputs]

    def _check(self) -> None:
        """Raise for the first kernel that met an index outside its dim."""
        faulty = np.flatnonzero((self.status != NO_FAULT).any(axis=1))
        if len(faulty):
            check = self.checks[faulty[0]]
            low, high = self.status[faulty[0]].tolist()
            self.status[:] = NO_FAULT
            raise out_of_range(check.operation, low if low < 0 else high, check.dim, check.size)

    def _bind(self) -> None:
        if len(self.positions):
            self.slots[self.positions] = self.addresses[self.values] + self.slot_offsets
        for index, (step, role, value, offset) in enumerate(self.rebinds):
            pointer = int(self.addresses[value]) + offset
            if pointer != self.last_pointer[index]:
                step.rebind(role, pointer)
                self.last_pointer[index] = pointer

    def _host(self, node: Node, arrays: dict[int, Any], scalars: list[Any]) -> None:
        """Run a node on NumPy; its results get addresses for the steps after it."""
        operands = [self._operand(each, arrays, scalars) for each in node.operands]
        kernel = self.plan.device.kernels[node.op]
        assert kernel is not None
        result = kernel(*operands, *node.attributes)
        made = result if node.op.outputs > 1 else (result,)
        for number, array in zip(node.results, made, strict=True):
            held = np.ascontiguousarray(array).reshape(np.shape(array))
            if held.base is not None or any(held is operand for operand in operands):
                held = held.copy()  # a result has memory of its own
            arrays[number] = held
            self.addresses[number] = _address(held)
        self._bind()

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
        return np.lib.stride_tricks.as_strided(
            owner[access.offset :] if owner.size else owner, value.shape, [s * size for s in access.strides]
        )

    def _owned(self, number: int, arrays: dict[int, Any]) -> np.ndarray[Any, Any]:
        found = arrays.get(number)
        if found is None and number in self.kept:
            value = self.plan.program.values[number]
            count = value.shape.num_elements() * value.dtype.size
            found = self.kept[number][:count].view(value.dtype.numpy).reshape(value.shape)
        if found is None:
            value = self.plan.program.values[number]
            start = int(self.addresses[number]) - self.arena.ctypes.data
            flat = self.arena[start : start + _bytes(self.plan.program, number)]
            count = value.shape.num_elements() * value.dtype.size
            found = flat[:count].view(value.dtype.numpy).reshape(value.shape)
        return found

    def _output(self, number: int, arrays: dict[int, Any]) -> np.ndarray[Any, Any]:
        if number in arrays and number >= self.plan.program.inputs:
            made: np.ndarray[Any, Any] = arrays[number]
            return made
        found = self._array(number, arrays)
        return np.array(found, order="C") if number not in arrays else found


def _address(array: np.ndarray[Any, Any]) -> int:
    pointer: int = array.__array_interface__["data"][0]
    return pointer


def _bits(number: float, dtype: DType) -> int:
    """A number in the eight bytes of a slot."""
    if dtype.name == "f32":
        return int.from_bytes(struct.pack("f", number), "little")
    if dtype.name == "f64":
        return int(struct.unpack("q", struct.pack("d", number))[0])
    return int(number) - (1 << 64) if int(number) >> 63 > 0 else int(number)
