"""Plans: a program made ready to run again and again.

The program is simplified, cut into units, and every unit becomes a kernel, a library call or a call of
a NumPy kernel. What is not a result lives in an arena whose layout follows from who reads what until
when; kernels and library calls between two NumPy calls run in one native call.
"""

from __future__ import annotations

import collections
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.arena import plan_arena
from burn.backend.cpu.compiler import compiled
from burn.backend.cpu.lower.access import Access
from burn.backend.cpu.lower.columns import lower_column
from burn.backend.cpu.lower.library import LibraryCall, lower_call
from burn.backend.cpu.lower.loops import Loop, lower_loop
from burn.backend.cpu.lower.scalar_code import fits_a_loop
from burn.backend.cpu.lower.units import Scheduler
from burn.backend.cpu.runner import StepArray
from burn.dtype import DType
from burn.errors import too_large
from burn.program.passes import Explanation, drop_identities, remove_dead, run_passes, share_equal
from burn.program.program import Constant, Node, Program, Scalar

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu

PASSES = [("drop identities", drop_identities), ("share equal", share_equal), ("remove dead", remove_dead)]


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
        self.program, self.device, self.explanation = program, device, explanation
        self.schedule = Scheduler(program, fits_a_loop).schedule()
        self.works: list[Work] = [self._lower(unit) for unit in self.schedule.units]
        self.last_read = self._last_reads()
        self.reused = self._reuse(free)
        self._place()
        self.instances: collections.deque[Instance] = collections.deque()

    def _lower(self, unit: Any) -> Work:
        if unit.kind == "loop":
            return lower_loop(self.program, self.schedule, unit)
        node = self.program.nodes[unit.nodes[0]]
        if unit.kind == "column":
            return lower_column(self.program, self.schedule, node)
        return lower_call(self.program, self.schedule, node) or HostCall(node)

    # Memory

    def _reads(self, work: Work) -> set[int]:
        """The values whose memory a piece of work reads."""
        if isinstance(work, Loop):
            return {a.value for a in work.arguments if a.kind == "buffer"} - self._writes(work)
        if isinstance(work, LibraryCall):
            return {value for role, (value, _) in work.roles.items() if role != "out"}
        return {self._access(n).value for n in work.node.reads() if n not in self.schedule.constants}

    def _writes(self, work: Work) -> set[int]:
        if isinstance(work, Loop):
            return {a.value for a in work.arguments if a.written}
        if isinstance(work, LibraryCall):
            return {work.roles["out"][0]}
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
            if access is not None and access.value != number:
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
        if not isinstance(work, Loop):
            return False
        whole = [a for a in self.schedule.accesses.values() if a.value == candidate]
        return all(a.is_contiguous and a.offset == 0 for a in whole)

    def _place(self) -> None:
        """Find a place in the arena for everything that is neither input nor output."""
        program = self.program
        outputs = set(program.outputs)
        hosted = {n for work in self.works if isinstance(work, HostCall) for n in work.node.results}
        made: dict[int, int] = {}
        for position, work in enumerate(self.works):
            for number in self._writes(work):
                made[number] = position
        self.inner = [n for n in made if n not in outputs and n not in hosted]
        lifetimes = [(_bytes(program, n), made[n], max(self.last_read.get(n, made[n]), made[n])) for n in self.inner]
        scratch = max([w.primitive.scratchpad for w in self.works if isinstance(w, LibraryCall)], default=0)
        offsets, total = plan_arena(lifetimes) if lifetimes else ([], 0)
        self.offsets = dict(zip(self.inner, offsets, strict=True))
        self.scratch_offset = -(-total // 64) * 64
        self.arena_bytes = self.scratch_offset + scratch + 64

    # Running

    def __call__(self, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        try:
            instance = self.instances.pop()
        except IndexError:
            instance = Instance(self)
        try:
            return instance.run(inputs, scalars)
        finally:
            if len(self.instances) < MOST_INSTANCES:
                self.instances.append(instance)

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
        self.addresses = np.zeros(len(plan.program.values) + 1, np.int64)
        for number, offset in plan.offsets.items():
            self.addresses[number] = self.arena_address + offset
        self._build()

    def _build(self) -> None:
        """Write the steps, noting which slots depend on inputs, outputs and scalars."""
        plan = self.plan
        total = sum(len(work.arguments) for work in plan.works if isinstance(work, Loop))
        self.slots = np.zeros(max(total, 1), np.int64)
        positions: list[int] = []
        values: list[int] = []
        offsets: list[int] = []
        self.scalar_slots: list[tuple[int, int, DType]] = []
        self.rebinds: list[tuple[Any, str, int, int]] = []
        self.segments: list[StepArray | HostCall] = []
        steps = StepArray()
        self.bound: dict[tuple[int, str], int] = {}
        self.library_steps: list[Any] = []
        position = 0
        for work in plan.works:
            if isinstance(work, HostCall):
                if len(steps):
                    self.segments.append(steps)
                    steps = StepArray()
                self.segments.append(work)
            elif isinstance(work, Loop):
                begin = position
                for argument in work.arguments:
                    if argument.kind == "size":
                        self.slots[position] = argument.value
                    elif argument.kind == "scalar":
                        assert argument.dtype is not None
                        self.scalar_slots.append((position, argument.value, argument.dtype))
                    else:
                        positions.append(position)
                        values.append(argument.value)
                        offsets.append(argument.offset)
                    position += 1
                if work.extent:
                    kernel = compiled(work.kernel)
                    steps.keep(kernel)
                    steps.add_kernel(
                        kernel.address, self.slots.ctypes.data + 8 * begin, work.extent, work.grain, work.label
                    )
            else:
                step = work.primitive.step({})
                if "scratchpad" in step.unbound:
                    step.rebind("scratchpad", self.arena_address + plan.scratch_offset)
                for role, (value, offset) in work.roles.items():
                    if value in plan.offsets:
                        step.rebind(role, int(self.addresses[value]) + offset)
                    else:
                        self.rebinds.append((step, role, value, offset))
                steps.keep(step)
                self.library_steps.append(step)
                steps.add_call(step.address, *step.arguments, name=work.label)
        if len(steps):
            self.segments.append(steps)
        self.positions = np.array(positions, np.int64)
        self.values = np.array(values, np.int64)
        self.slot_offsets = np.array(offsets, np.int64)
        self.last_pointer: list[int] = [0] * len(self.rebinds)

    def run(self, inputs: list[Any], scalars: list[Any]) -> list[Any]:
        """Bind this run's buffers, run the segments, give the outputs."""
        plan, program = self.plan, self.plan.program
        arrays: dict[int, np.ndarray[Any, Any]] = {}
        for number, storage in enumerate(inputs):
            arrays[number] = storage.value
            self.addresses[number] = _address(storage.value)
        for number in program.outputs:
            if number in arrays or number in plan.schedule.constants:
                continue
            owner = plan.reused.get(number)
            value = program.values[number]
            if owner is not None:
                arrays[number] = arrays[owner].reshape(value.shape)
            elif plan.schedule.accesses.get(number) is None or plan.schedule.accesses[number].value == number:
                try:
                    arrays[number] = np.empty(value.shape, value.dtype.numpy)
                except MemoryError:
                    raise too_large("plan", value.shape, value.dtype, plan.device) from None
            else:
                continue
            self.addresses[number] = _address(arrays[number])
        for position, slot, dtype in self.scalar_slots:
            self.slots[position] = _bits(scalars[slot], dtype)
        self._bind()
        for segment in self.segments:
            if isinstance(segment, HostCall):
                self._host(segment.node, arrays, scalars)
            else:
                segment.run()
        return [self._output(number, arrays) for number in program.outputs]

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
    return int(number)
