"""What the kernels of single operations have in common: arguments, operands, and the walk over a shape.

A walk is a list of dims, each with a stride for every buffer that takes part. Dims are merged where all of
them allow it; the last one becomes the lanes, the others the rows of the grid.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Value
from burn.dtype import DType, f64, i64, u8, u16, u32, u64
from burn.engine.lower.elements import computed
from burn.engine.lower.loop import Argument, Check, Routine
from burn.engine.schedule.access import Access, whole
from burn.engine.schedule.units import Schedule
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Constant, Program, Scalar
from burn.symbolic import index

Strides = dict[Any, int]  # by the key of a buffer
Steps = dict[Any, Any]
Dim = tuple[int, Strides]

CARRIERS = {1: u8, 2: u16, 4: u32, 8: u64}
"""By size in bytes, the dtype in which elements are moved when only their bits matter."""


@dataclass
class Source:
    """An operand: a buffer with its access, or one number everywhere."""

    buffer: Buffer | None
    access: Access
    dtype: DType
    constant: Any = None

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements; a number has none to take."""
        return self.access.strides if self.buffer is not None else (0,) * len(self.access.shape)


@dataclass
class Rows:
    """A walk cut into rows: how many, how long, and `begin(i)` that gives where row `i` begins and its length."""

    count: int
    length: int
    begin: Callable[[Value], tuple[Steps, Value]]
    steps: Steps


def merged(shape: Sequence[int], strides: Mapping[Any, Sequence[int]]) -> list[Dim]:
    """The walk over `shape` in as few dims as possible."""
    dims: list[Dim] = []
    for position, size in enumerate(shape):
        if size == 1:
            continue
        each = {key: steps[position] for key, steps in strides.items()}
        if dims and all(dims[-1][1][key] == step * size for key, step in each.items()):
            dims[-1] = (dims[-1][0] * size, each)
        else:
            dims.append((size, each))
    return dims


def times(index: Any, stride: Any) -> Any:
    """An index times a stride that may be 0 or 1."""
    if isinstance(stride, int):
        return 0 if stride == 0 else index if stride == 1 else index * stride
    return index * stride


def plus(x: Any, y: Any) -> Any:
    """A sum in which 0 costs nothing."""
    if isinstance(x, int) and x == 0:
        return y
    return x if isinstance(y, int) and y == 0 else x + y


class KernelWriter:
    """A kernel under construction, with the arguments that its plan must give it."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program, self.schedule = program, schedule
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []

    # Arguments

    def size(self, value: int) -> Value:
        """A size that is an argument: kernels do not depend on it."""
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def stride(self, value: int) -> Any:
        """A stride: 0 and 1 are part of the kernel, others are arguments."""
        return value if value in (0, 1) else self.size(value)

    def number(self, value: float, dtype: DType) -> Value:
        """A number of the program (i64 or f64) that the kernel does not depend on."""
        bits = index(value) if dtype is i64 else struct.unpack("q", struct.pack("d", value))[0]
        self.arguments.append(Argument("size", bits))
        return self.b.scalar(dtype)

    def given(self, operand: Any, dtype: DType) -> Value:
        """A number given at run time, or one of the program."""
        if isinstance(operand, Scalar):
            self.arguments.append(Argument("scalar", operand.slot, dtype=dtype))
            return self.b.scalar(dtype)
        assert isinstance(operand, Constant)
        if dtype is u64:
            return self.b.cast(self.number(_signed(operand.value), i64), u64)
        return self.number(operand.value, f64)

    def status(self) -> Buffer:
        """Where a kernel that checks indices notes the lowest and the highest one that was outside."""
        self.arguments.append(Argument("status", 0))
        return self.b.buffer(i64, write=True, read=True)

    # Operands

    def source(self, number: int, carrier: DType | None = None) -> Source:
        """A value to read, as its own dtype or as bits in `carrier`."""
        value = self.program.values[number]
        if number in self.schedule.constants:
            constant = self.schedule.constants[number].value
            if carrier is not None:
                constant = _bits(constant, value.dtype)
            return Source(None, whole(number, tuple(value.shape)), carrier or computed(value.dtype), constant)
        access = self.schedule.accesses[number]
        return self.source_at(access, value.dtype, carrier)

    def source_at(self, access: Access, dtype: DType, carrier: DType | None = None) -> Source:
        """A value to read in a certain way."""
        self.arguments.append(Argument("buffer", access.value, access.offset * dtype.size))
        return Source(self.b.buffer(carrier or dtype), access, carrier or computed(dtype))

    def target(self, number: int, carrier: DType | None = None, *, read: bool = False) -> Source:
        """The value to write, in its own memory."""
        value = self.program.values[number]
        self.arguments.append(Argument("buffer", number, written=True))
        buffer = self.b.buffer(carrier or value.dtype, write=True, read=read)
        return Source(buffer, whole(number, tuple(value.shape)), carrier or computed(value.dtype))

    def load(self, source: Source, index: Any) -> Value:
        """An element of an operand."""
        if source.buffer is None:
            return self.b.const(source.dtype, source.constant)
        return self.b.load(source.buffer, index)

    def store(self, target: Source, index: Any, value: Value) -> None:
        """Write an element."""
        assert target.buffer is not None
        self.b.store(target.buffer, index, value)

    # Walking

    def steps(self, strides: Strides) -> Steps:
        """The strides of one dim, as the kernel knows them."""
        return {key: self.stride(value) for key, value in strides.items()}

    def declared(self, dims: list[Dim]) -> list[tuple[Value, Steps]]:
        """Sizes and strides of several dims as arguments."""
        return [(self.size(size), self.steps(strides)) for size, strides in dims]

    def bases(self, index: Value, dims: list[tuple[Value, Steps]]) -> Steps:
        """The offset in each buffer of flat position `index` of a walk."""
        found: Steps = {}
        for place in range(len(dims) - 1, -1, -1):
            size, steps = dims[place]
            part = index if place == 0 else index % size
            if place:
                index = index // size
            for key, step in steps.items():
                found[key] = plus(found.get(key, 0), times(part, step))
        return found

    def position(self, index: Value, dims: list[tuple[Value, Steps]], key: Any, base: Any = 0) -> Any:
        """The same in one buffer, from `base` on."""
        for place in range(len(dims) - 1, -1, -1):
            size, steps = dims[place]
            part = index if place == 0 else index % size
            if place:
                index = index // size
            base = plus(base, times(part, steps[key]))
        return base

    def rows(self, dims: list[Dim]) -> Rows:
        """Cut a walk into rows along its last dim, or into blocks where it has no other."""
        *outer, (length, strides) = dims or [(1, {})]
        count, steps = self.size(length), self.steps(strides)
        if not outer:
            size = tile_sizes().block
            return Rows(-(-length // size), min(length, size), lambda i: self._block(i, count, size, steps), steps)
        declared = self.declared(outer)
        total = math.prod(size for size, _ in outer)
        return Rows(total, length, lambda i: (self.bases(i, declared), count), steps)

    def _block(self, i: Value, count: Value, size: int, steps: Steps) -> tuple[Steps, Value]:
        start = i * size
        return {key: times(start, step) for key, step in steps.items()}, self.b.min(count - start, size)

    def walk(self, dims: list[Dim], body: Callable[[Steps, Steps, Value], None]) -> tuple[int, int]:
        """Rows on the grid: `body(bases, steps, length)` writes one. Gives the extent and the grain of the grid."""
        rows = self.rows(dims)
        with self.b.grid(self.size(rows.count)) as i:
            bases, length = rows.begin(i)
            body(bases, rows.steps, length)
        return rows.count, grain_of(rows.length)

    def finish(self, extent: int, grain: int, label: str, check: Check | None = None) -> Routine:
        """The finished piece of work."""
        return Routine(self.b.finish(), self.arguments, extent, grain, label, check=check)


def at(bases: Steps, steps: Steps, key: Any, j: Any) -> Any:
    """The index of lane `j` in a buffer."""
    return plus(bases.get(key, 0), times(j, steps.get(key, 0)))


def _signed(value: int) -> int:
    """A 64-bit word as the number that a slot holds."""
    return value - (1 << 64) if value >> 63 else value


def _bits(number: Any, dtype: DType) -> int:
    """The bits of a number in a dtype."""
    return int.from_bytes(np.array(number, dtype.numpy).tobytes(), "little")
