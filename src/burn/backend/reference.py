"""The `Reference` device: the engine's plans, run by the interpreter of kernels.

It is slow and checks everything: an index outside of a buffer ends the run. It is also the least that a device of the
engine is, with memory of its own that nobody else looks into. `burn.engine` lowers programs for `TARGET`; what is here
is memory (`Block`), a run of a plan (`ReferenceRun`) and the device. `docs/how-to-add-a-device.md` goes through it.

    device = Fusion(Reference())
"""

from __future__ import annotations

import math
import struct
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.host_arrays import HostArrays
from burn.backend.ndarray import NdArray
from burn.cube import Kernel, interpret
from burn.dtype import DType, f32, f64, from_numpy, i64
from burn.engine.lower.loop import Loop, Routine
from burn.engine.plan import HostCall, Lowered
from burn.engine.runtime import BoundPlan, Engine, Plan, Run, Stored
from burn.engine.target import Target, Tiles, lowering_for
from burn.errors import MissingOperation
from burn.ops.indexing_references import out_of_range
from burn.program.interpreter import run_node
from burn.program.passes import drop_identities, remove_dead, run_passes, share_equal
from burn.program.program import Program

if TYPE_CHECKING:
    from burn.ops.op import Op

Array = np.ndarray[Any, Any]

TARGET = Target("reference", tiles=Tiles(block=64, grain=64, columns=8, chunk=64, few_rows=2, fewest_chunks=2))
"""A machine that computes one element after the other. Tiles are small, so that small tests have several of them."""

PASSES = [("drop identities", drop_identities), ("share equal", share_equal), ("remove dead", remove_dead)]

NO_FAULT = (0, -1)
"""What a kernel that checks indices leaves alone: the lowest index below 0, the highest beyond the dim."""


class Block:
    """A handle: bytes of the device, and what they are."""

    __slots__ = ("data", "dtype", "shape", "__weakref__")

    def __init__(self, data: Array, shape: tuple[int, ...], dtype: DType) -> None:
        self.data, self.shape, self.dtype = data, shape, dtype

    def array(self) -> Array:
        """The elements, in place."""
        count = math.prod(self.shape) * self.dtype.size
        return self.data[:count].view(self.dtype.numpy).reshape(self.shape)


class Reference(Engine):
    """Kernels in the interpreter. Give it to `Fusion`; alone it runs each operation on NumPy."""

    label = "reference"
    target = TARGET

    def __init__(self, float: DType = f32, int: DType = i64) -> None:
        super().__init__()
        self._numpy = NdArray(float, int)
        self.float_dtype, self.int_dtype = self._numpy.float_dtype, self._numpy.int_dtype

    @classmethod
    def identity(cls, float: Any = f32, int: Any = i64) -> tuple[Any, ...]:
        return HostArrays.identity(float, int)

    # Memory

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Block:
        return Block(np.empty(max(math.prod(shape) * dtype.size, 1), np.uint8), tuple(shape), dtype)

    def from_host(self, array: Array) -> Block:
        block = self.allocate(array.shape, from_numpy(array.dtype))
        block.array()[...] = array
        return block

    def to_host(self, handle: Block) -> Array:
        return handle.array().copy()

    def is_handle(self, value: Any) -> bool:
        return isinstance(value, Block)

    def dtype_of(self, handle: Block) -> DType:
        return handle.dtype

    # Work

    def prepare_program(self, program: Program, free: tuple[bool, ...]) -> Plan:
        return ReferencePlan(program, free, self)

    def resolve(self, op: Op) -> Any:
        """An operation alone: down to NumPy and back."""
        registered = op.registered_kernel(self)
        if registered is not None or op.kind == "hosted":
            return registered or self._hosted(op)
        try:
            kernel = self._numpy.kernels[op]
        except MissingOperation:
            raise MissingOperation(f"{op.name}: {self!r} has no kernel for this operation") from None
        if kernel is None:
            return None

        def run(*args: Any) -> Any:
            result = kernel(*[self._down(each) for each in args])
            return tuple(map(self._up, result)) if isinstance(result, tuple) else self._up(result)

        return run

    def _down(self, value: Any) -> Any:
        if isinstance(value, Block):
            return value.array()
        return [self._down(each) for each in value] if value.__class__ is list else value

    def _up(self, value: Any) -> Block:
        return self.from_host(np.asarray(value))

    @property
    def numpy(self) -> NdArray:
        """Who runs the nodes of plans that no kernel takes."""
        return self._numpy

    def __repr__(self) -> str:
        return f"Reference({', '.join(self._numpy.dtype_settings())})"

    def __reduce__(self) -> Any:
        return Reference, (self.float_dtype, self.int_dtype)


class ReferencePlan(Lowered, BoundPlan):
    """A program lowered to kernels of the interpreter."""

    def __init__(self, program: Program, free: tuple[bool, ...], device: Reference) -> None:
        self.device = device
        with lowering_for(device.target):
            self.lower(run_passes(program, PASSES), free)

    def take(self) -> ReferenceRun:
        return ReferenceRun(self)

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        run = self.take()
        for number, stored in enumerate(inputs):
            run.bind(number, stored.value)
        return run.run_bound(inputs, scalars, [])


class ReferenceRun(Run):
    """The memory of one run: an arena for what stays inside, and the blocks that inputs are bound to."""

    def __init__(self, plan: ReferencePlan) -> None:
        self.plan, self.distinct = plan, plan.distinct
        self.bound: dict[int, weakref.ref[Block]] = {}
        arena = np.empty(plan.arena_bytes, np.uint8)
        self.inner = {number: arena[at : at + plan.bytes(number)] for number, at in plan.offsets.items()}
        self.inner.update({number: np.empty(plan.bytes(number), np.uint8) for number in plan.prologue.kept})

    def bind(self, number: int, value: Block) -> None:
        self.bound[number] = weakref.ref(value)

    def run_bound(self, inputs: Any, scalars: list[Any], changed: list[int]) -> list[Any]:
        plan = self.plan
        blocks: dict[int, Block] = {}
        for number, reference in self.bound.items():
            block = reference()
            assert block is not None, "what is bound lives until the run has ended"
            blocks[number] = block
        for number, value, owner in plan.allocations:
            shape = tuple(value.shape)
            blocks[number] = (
                plan.device.allocate(shape, value.dtype)
                if owner is None
                else Block(blocks[owner].data, shape, value.dtype)
            )
        memory = {**self.inner, **{number: block.data for number, block in blocks.items()}}
        for work in plan.works:
            if isinstance(work, HostCall):
                self._host(work, memory, scalars)
            elif work.extent:
                self._launch(work, memory, scalars)
        return [blocks[n] if n in blocks else plan.device._up(self._array(n, memory)) for n in plan.program.outputs]

    def _launch(self, work: Loop, memory: dict[int, Array], scalars: list[Any]) -> None:
        """Give a kernel its arguments, run it, and look whether it met an index that it must not follow."""
        kernel = work.kernel if isinstance(work.kernel, Kernel) else work.kernel.kernel()
        given: dict[str, list[Any]] = {"buffer": [], "size": [], "scalar": []}
        origins = []
        status = np.array(NO_FAULT, np.int64)
        for argument, parameter in zip(work.arguments, kernel.parameters, strict=True):
            if argument.kind == "buffer":
                value: Any = _elements(memory[argument.value], parameter.dtype)
                origins.append(argument.offset // parameter.dtype.size)
            elif argument.kind == "status":
                value = status
                origins.append(0)
            elif argument.kind == "scalar":
                value = scalars[argument.value]
            else:  # a size, or the bits of a number
                value = argument.value if parameter.dtype is not f64 else _number(argument.value)
            given[parameter.kind].append(value)
        interpret(kernel, given["buffer"], given["size"], given["scalar"], origins=origins)
        low, high = status.tolist()
        if (low, high) != NO_FAULT:
            assert isinstance(work, Routine)
            assert work.check is not None
            raise out_of_range(work.check.operation, low if low < 0 else high, work.check.dim, work.check.size)

    def _host(self, work: HostCall, memory: dict[int, Array], scalars: list[Any]) -> None:
        """Run a node that no kernel takes on NumPy."""
        values = {number: self._array(number, memory) for number in work.node.reads()}
        made = run_node(self.plan.program, work.node, self.plan.device.numpy, values, scalars)
        for number, value in made.items():
            memory[number] = self.plan.device._up(value).data

    def _array(self, number: int, memory: dict[int, Array]) -> Array:
        """A value as an array: its own memory, a view of another's, or a constant."""
        schedule, value = self.plan.schedule, self.plan.program.values[number]
        if number in schedule.constants:
            return np.full(value.shape, schedule.constants[number].value, value.dtype.numpy)
        access = schedule.accesses.get(number)
        if access is None or access.value == number:
            return Block(memory[number], tuple(value.shape), value.dtype).array()
        size = value.dtype.size
        source, strides = memory[access.value][access.offset * size :], [each * size for each in access.strides]
        bytes_of_elements = np.lib.stride_tricks.as_strided(source, (*value.shape, size), (*strides, 1))
        return np.ascontiguousarray(bytes_of_elements).view(value.dtype.numpy).reshape(value.shape)


def _elements(data: Array, dtype: DType) -> Array:
    """Memory as a kernel sees it: elements of its own dtype."""
    return data[: len(data) // dtype.size * dtype.size].view(dtype.numpy)


def _number(bits: int) -> float:
    value: float = struct.unpack("d", struct.pack("q", bits))[0]
    return value
