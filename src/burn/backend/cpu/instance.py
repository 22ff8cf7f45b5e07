"""A run of a plan, on steps that are bound to memory of their own (`burn.backend.cpu.bound`).

Python says only which arrays a run reads and makes: it writes down where each array object keeps its
address, and native code follows from there, before the first step, to every slot that needs
it. So a run costs Python a store for each input and an allocation for each output.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.addresses import ADDRESS_OF_DATA, KNOWN_LAYOUT, address_of, word
from burn.backend.cpu.bound import Bound
from burn.backend.cpu.faults import raise_first
from burn.backend.cpu.hosted import HOST_CALLS, operand_of, own_memory
from burn.backend.cpu.launching import launch_of
from burn.backend.cpu.memory import LARGE
from burn.backend.cpu.pool import pool
from burn.backend.cpu.tuning.known import answers
from burn.engine.plan import HostCall, bytes_of
from burn.engine.runtime import Launch, Run
from burn.engine.schedule.prologue import MOST_VARIANTS, Memory
from burn.errors import too_large
from burn.ops.dispatch import body_kernel
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.backend.cpu.plan import Plan


class Instance(Bound, Run):
    """What one run of a plan needs for itself. A run belongs to one thread; several instances run at once."""

    used = 0
    """When it was taken or given back, by the clock of `KeptMemory`."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.threads, self._pool = plan.threads, pool()
        self._generation, self._answers = plan.generation, answers()
        self.memory = Memory(plan.prologue)
        self.watched = frozenset(plan.prologue.watched)
        self.steady = False
        self._scalars: list[Any] = []  # whose numbers are written; nobody changes a list that a plan was given
        self._plan_results()

    def _plan_results(self) -> None:
        """Note how results are made: number, shape, dtype, whether pages are worth keeping, the input written over."""
        plan = self.plan
        self.allocations = [
            (number, tuple(value.shape), value.dtype.numpy, plan.bytes(number) >= LARGE, value.dtype, owner)
            for number, value, owner in plan.allocations
        ]
        made = {number: place for place, (number, *_) in enumerate(self.allocations)}
        self.hosted = any(isinstance(work, HostCall) for work in plan.works)
        self.hosted_results = [n for work in plan.works if isinstance(work, HostCall) for n in work.node.results]
        outputs = plan.program.outputs
        self.picks = [made[number] for number in outputs] if set(outputs) <= made.keys() else None
        self.distinct = plan.distinct

    # Running

    def bind_all(self, inputs: Sequence[Any], scalars: list[Any]) -> None:
        """Say what the inputs of the next run are, and choose its steps."""
        self._choose(inputs, scalars, False)
        bind = self.bind
        for number, storage in enumerate(inputs):
            bind(number, storage.value)

    def is_current(self) -> bool:
        # Steps are made for one number of threads, and by the answers of that time.
        if self.threads != self._pool.threads:
            return False
        if self._generation != self._answers.generation:
            if self.works is not self.plan.works or not self.plan.is_current():
                return False
            self._generation = self._answers.generation
        return True

    def let_go(self) -> bool:
        """Have nobody keep it for a next run; False where nobody does."""
        holder = None if self.holder is None else self.holder()
        if holder is not None:
            holder.let_go()
            return True
        return self.plan.forget(self)

    def run_bound(self, inputs: Any, scalars: list[Any], changed: list[int]) -> list[Any]:
        try:
            if not self.is_steady(changed):
                self._choose(inputs, scalars, self.watched.isdisjoint(changed))
            return self.run(inputs, scalars)
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
            self.addresses[number] = address_of(value)

    def _choose(self, inputs: Any, scalars: list[Any], calm: bool) -> None:
        """Which steps this run may skip; the same as before is `steady` as long as no watched input changes."""
        variant = self.memory.variant(inputs, scalars)
        if variant not in self.variants and len(self.variants) >= MOST_VARIANTS:
            self.memory.forget()
            variant = self.memory.variant(inputs, scalars)
        self.segments = self._variant(variant)
        self.steady = calm and variant == self._chosen and min(self.watched, default=0) >= 0
        self._chosen = variant

    def run(self, inputs: Any, scalars: list[Any]) -> list[Any]:
        """Run the segments on what is bound; the outputs. Who calls it makes it `forget` after an exception."""
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
                self.slots[position] = word(scalars[slot])
        if self.hosted or self.picks is None:
            return self._run_with_host(inputs, scalars, made)
        for segment in self.segments:
            segment.run()  # type: ignore[union-attr]
            if self.checks:
                self._check()
        return [made[pick] for pick in self.picks]

    def launcher(self, changing: list[int]) -> Launch | None:
        return launch_of(self, changing, ADDRESS_OF_DATA) if KNOWN_LAYOUT else None

    def _check(self) -> None:
        """Raise for the first kernel that met an index outside its dim."""
        if self.status.tobytes() == self._no_faults:
            return
        raise_first(self.status, self.checks)

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
        region = node.op.kind == "region"  # its results have memory of their own
        HOST_CALLS[node.op.name] += not region
        read = {number: self._array(number, arrays) for number in node.reads()}
        operands = [operand_of(each, read, scalars) for each in node.operands]
        device = self.plan.device
        kernel = device.kernels[node.op] or body_kernel(node.op, device)
        result = kernel(*operands, *node.attributes)
        made = result if node.op.outputs != 1 else (result,)
        for number, value in zip(node.results, made, strict=True):
            arrays[number] = held = own_memory(value, operands, region)
            self.bind(number, held)

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
