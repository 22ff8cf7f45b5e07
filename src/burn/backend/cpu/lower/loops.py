"""Loops: a unit of elementwise nodes and row reductions as one kernel.

The dims of the loop are merged wherever every access allows it, so most loops have one dim or two.
Sizes and strides are arguments: the kernel is the same for every size, and its key tells which ops,
dtypes and stride patterns it was made for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from burn.backend.cpu.lower.access import Access, whole
from burn.backend.cpu.lower.scalar_code import CODE, REDUCTION, computed
from burn.backend.cpu.lower.units import Schedule, Unit
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import DType, bool_
from burn.program.program import Constant, Node, Program, Scalar

BLOCK = 2048
"""Elements of a one-dimensional loop that one iteration of the grid takes."""

GRAIN = 16384
"""Elements below which a loop is not worth a second thread."""

JUMP = {"load": 4.0, "store": 6.0}
"""What an access costs in a lane whose neighbours are not its neighbours in memory, in operations."""

OUTER = 40.0
"""What an iteration of the grid costs before its first lane, in operations."""

Dim = tuple[int, dict[tuple[str, int], int]]  # size, stride of each access


@dataclass
class Argument:
    """What a slot of a kernel holds: a buffer (at an offset), a size, or a number given at run time."""

    kind: str  # "buffer", "size", "scalar"
    value: int  # value number, the size itself, or the slot of the scalar
    offset: int = 0  # bytes
    dtype: DType | None = None
    written: bool = False


@dataclass
class Loop:
    """A kernel with its arguments, and how many iterations its grid has."""

    kernel: Kernel
    arguments: list[Argument]
    extent: int
    grain: int
    label: str
    in_step: bool = False  # every element is read where it is written, so a result may overwrite an operand


def lower_loop(program: Program, schedule: Schedule, unit: Unit) -> Loop:
    """The kernel of a loop unit."""
    return _LoopWriter(program, schedule, unit).write()


class _LoopWriter:
    def __init__(self, program: Program, schedule: Schedule, unit: Unit) -> None:
        self.program, self.schedule, self.unit = program, schedule, unit
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        self.nodes = [program.nodes[position] for position in unit.nodes]
        self.made = {number: node for node in self.nodes for number in node.results}
        self.views = {
            node.results[0]: node.operands[0]
            for node in program.nodes
            if node.op.name == "expand" and node.operands[0] in self.made and node.results[0] in schedule.row_values
        }
        self.loads: dict[int, Access] = {}
        self.stores: dict[int, Access] = {}
        self._collect()
        self.buffers: dict[Any, Any] = {}
        self.sizes: dict[int, Value] = {}
        self.scalars: dict[Any, Value] = {}
        self.rows: dict[int, Value] = {}
        self.inner_dims: list[tuple[Value, dict[Any, Any]]] = []  # of a row that is not one run of memory

    def _collect(self) -> None:
        shape = self.unit.shape
        for node in self.nodes:
            for number in node.reads():
                if number in self.made or number in self.views or number in self.schedule.constants:
                    continue
                access = self.schedule.accesses[number]
                self.loads[number] = access.broadcast(shape)
        for number in self.made:
            if number in self.schedule.stored:
                own = whole(number, tuple(self.program.values[number].shape))
                self.stores[number] = own.broadcast(shape)

    # Geometry

    def _merged(self, dims: range) -> list[Dim]:
        """The dims in `dims` as few loops: (size, stride of each access)."""
        everything = {("load", n): a for n, a in self.loads.items()} | {("store", n): a for n, a in self.stores.items()}
        merged: list[Dim] = []
        for dim in dims:
            size = self.unit.shape[dim]
            if size == 1:
                continue
            strides = {key: access.strides[dim] for key, access in everything.items()}
            if merged:
                outer_size, outer = merged[-1]
                if all(outer[key] == strides[key] * size for key in strides):
                    merged[-1] = (outer_size * size, strides)
                    continue
            merged.append((size, strides))
        return merged

    def _lanes_last(self, dims: list[Dim]) -> list[Dim]:
        """The dim along which lanes run best, last: long, with few accesses that jump."""

        def cost(dim: Dim) -> float:
            size, strides = dim
            jumps = sum(JUMP[kind] for (kind, _), stride in strides.items() if stride not in (0, 1))
            return jumps + OUTER / max(size, 1)

        best = min(reversed(range(len(dims))), key=lambda position: cost(dims[position]), default=0)
        return [*dims[:best], *dims[best + 1 :], *dims[best : best + 1]]

    def _size(self, value: int) -> Value:
        """A size or stride as an argument of the kernel (equal ones need not share a slot)."""
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _buffer(self, key: tuple[str, int]) -> Any:
        found = self.buffers.get(key)
        if found is None:
            kind, number = key
            access = (self.loads if kind == "load" else self.stores)[number]
            dtype = self.program.values[number].dtype
            found = self.buffers[key] = self.b.buffer(dtype, write=kind == "store")
            self.arguments.append(Argument("buffer", access.value, access.offset * dtype.size, written=kind == "store"))
        return found

    # Writing

    def write(self) -> Loop:
        """Declare the arguments, open the loops, write the body."""
        rank = len(self.unit.shape)
        split = self.unit.rows if self.unit.rows is not None else rank
        for number in self.loads:
            self._buffer(("load", number))
        for number in self.stores:
            self._buffer(("store", number))
        self._declare_scalars()
        if self.unit.rows is None:
            extent, grain = self._write_map(self._lanes_last(self._merged(range(rank))))
        else:
            extent, grain = self._write_rows(self._merged(range(split)), self._merged(range(split, rank)))
        label = "+".join(node.op.name for node in self.nodes[:6]) + ("+…" if len(self.nodes) > 6 else "")
        return Loop(self.b.finish(), self.arguments, extent, grain, label, in_step=True)

    def _declare_scalars(self) -> None:
        for node in self.nodes:
            for operand in node.operands:
                if isinstance(operand, Scalar):
                    dtype = self._operand_dtype(node)
                    key = (operand.slot, dtype)
                    if key not in self.scalars:
                        self.scalars[key] = self.b.scalar(dtype)
                        self.arguments.append(Argument("scalar", operand.slot, dtype=dtype))

    def _operand_dtype(self, node: Node) -> DType:
        """The dtype in which a node computes: that of its first tensor operand."""
        for number in node.reads():
            return computed(self.program.values[number].dtype)
        return computed(self.program.values[node.results[0]].dtype)

    def _write_map(self, dims: list[Dim]) -> tuple[int, int]:
        b = self.b
        if len(dims) <= 1:
            size, strides = dims[0] if dims else (1, {})
            count = self._size(size)
            steps = self._strides(strides)
            blocks = -(-size // BLOCK) if size else 0
            total = self._size(blocks)
            with b.grid(total) as i:
                start = i * BLOCK
                length = b.min(count - start, BLOCK)
                bases = {key: self._times(start, step) for key, step in steps.items()}
                with b.lane(length) as j:
                    self._element(bases, steps, j)
            return blocks, max(1, GRAIN // BLOCK)
        *outer, (inner_size, inner) = dims
        rows = math.prod(size for size, _ in outer)
        count = self._size(inner_size)
        steps = self._strides(inner)
        total = self._size(rows)
        decomposed = self._outer_sizes(outer)
        with b.grid(total) as i:
            bases = self._bases(i, outer, decomposed)
            with b.lane(count) as j:
                self._element(bases, steps, j)
        return rows, max(1, GRAIN // max(inner_size, 1))

    def _write_rows(self, outer: list[Any], inner: list[Any]) -> tuple[int, int]:
        b = self.b
        inner_size = math.prod(size for size, _ in inner)
        rows = math.prod(size for size, _ in outer)
        count = self._size(inner_size)
        if len(inner) > 1:
            self.inner_dims = self._outer_sizes(inner)
            steps: dict[Any, Any] = {}
        else:
            steps = self._strides(inner[0][1] if inner else {})
        total = self._size(rows)
        decomposed = self._outer_sizes(outer)
        with b.grid(total) as i:
            bases = self._bases(i, outer, decomposed)
            for node in self.nodes:
                if node.results[0] in self.schedule.row_values:
                    self._write_row_value(node, count, bases, steps)
            full = [number for number in self.stores if number not in self.schedule.row_values]
            if full:
                with b.lane(count) as j:
                    known: dict[int, Value] = {}
                    values = [self._value(number, bases, steps, j, known) for number in full]
                    for number, value in zip(full, values, strict=True):
                        index = self._index(("store", number), bases, steps, j)
                        b.store(self._buffer(("store", number)), index, value)
            # Last of all: a result may be written over an operand, which the row must have read by then.
            for number in self.stores:
                if number in self.schedule.row_values:
                    b.store(self._buffer(("store", number)), bases["store", number], self.rows[number])
        return rows, max(1, GRAIN // max(inner_size, 1))

    def _write_row_value(self, node: Node, count: Value, bases: dict[Any, Any], steps: dict[Any, Any]) -> None:
        """One number per row: a reduction over the row, or a map of such numbers."""
        b, number = self.b, node.results[0]
        if node.op.name in REDUCTION:
            source = node.operands[0]
            assert isinstance(source, int)
            kind = REDUCTION[node.op.name]

            def body(j: Value) -> Value:
                value = self._value(source, bases, steps, j, {})
                if kind in ("any", "all") and value.dtype is not bool_:
                    value = b.ne(value, 0)
                return value

            self.rows[number] = b.reduce(count, kind, body)
        else:
            self.rows[number] = self._apply(node, lambda n: self._value(n, bases, steps, None, {}))

    def _outer_sizes(self, outer: list[Any]) -> list[tuple[Value, dict[Any, Any]]]:
        """The sizes and strides of the outer dims as arguments."""
        return [(self._size(size), self._strides(strides)) for size, strides in outer]

    def _strides(self, strides: dict[tuple[str, int], int]) -> dict[tuple[str, int], Any]:
        """Strides of 0 and 1 are part of the kernel, others are arguments."""
        return {key: stride if stride in (0, 1) else self._size(stride) for key, stride in strides.items()}

    def _bases(self, i: Value, outer: list[Any], decomposed: list[Any]) -> dict[tuple[str, int], Any]:
        """Where each access of an outer iteration begins."""
        keys = [*(("load", n) for n in self.loads), *(("store", n) for n in self.stores)]
        bases: dict[tuple[str, int], Any] = dict.fromkeys(keys, 0)
        rest = i
        for position in range(len(outer) - 1, -1, -1):
            size, strides = decomposed[position]
            index = rest if position == 0 else rest % size
            if position:
                rest = rest // size
            for key in keys:
                bases[key] = self._plus(bases[key], self._times(index, strides[key]))
        return bases

    def _times(self, index: Any, stride: Any) -> Any:
        if isinstance(stride, int):
            return 0 if stride == 0 else index if stride == 1 else index * stride
        return index * stride

    def _plus(self, x: Any, y: Any) -> Any:
        if isinstance(x, int) and x == 0:
            return y
        return x if isinstance(y, int) and y == 0 else x + y

    def _index(self, key: tuple[str, int], bases: dict[Any, Any], steps: dict[Any, Any], j: Value | None) -> Any:
        base = bases.get(key, 0)
        if j is None:
            return base
        if not self.inner_dims:
            return self._plus(base, self._times(j, steps.get(key, 0)))
        rest = j
        for position in range(len(self.inner_dims) - 1, -1, -1):
            size, strides = self.inner_dims[position]
            index = rest if position == 0 else rest % size
            if position:
                rest = rest // size
            base = self._plus(base, self._times(index, strides[key]))
        return base

    def _element(self, bases: dict[Any, Any], steps: dict[Any, Any], j: Value) -> None:
        known: dict[int, Value] = {}
        for node in self.nodes:
            self._value(node.results[0], bases, steps, j, known)
        for number in self.stores:
            index = self._index(("store", number), bases, steps, j)
            self.b.store(self._buffer(("store", number)), index, known[number])

    def _value(self, number: int, bases: Any, steps: Any, j: Value | None, known: dict[int, Value]) -> Value:
        """A value at lane `j` (or of the row): computed, loaded, or known already."""
        number = self.views.get(number, number)
        if number in self.rows:
            return self.rows[number]
        if number in known:
            return known[number]
        node = self.made.get(number)
        if node is not None:
            value = self._apply(node, lambda n: self._value(n, bases, steps, j, known))
        else:
            value = self.b.load(self._buffer(("load", number)), self._index(("load", number), bases, steps, j))
        known[number] = value
        return value

    def _apply(self, node: Node, read: Any) -> Value:
        """The code of one node, its operands read by `read`."""
        dtype = self._operand_dtype(node)
        operands: list[Any] = []
        for operand in node.operands:
            if isinstance(operand, int) and operand in self.schedule.constants:
                held = computed(self.program.values[operand].dtype)
                operands.append(self.b.const(held, self.schedule.constants[operand].value))
            elif isinstance(operand, int):
                operands.append(read(operand))
            elif isinstance(operand, Scalar):
                operands.append(self.scalars[operand.slot, dtype])
            else:
                assert isinstance(operand, Constant)
                operands.append(self.b.const(dtype, operand.value))
        if node.op.name == "cast":
            target = node.attributes[0]
            return (
                self.b.cast(operands[0], computed(target)) if computed(target) is not operands[0].dtype else operands[0]
            )
        value = CODE[node.op.name](self.b, *operands)
        wanted = computed(self.program.values[node.results[0]].dtype)
        assert value.dtype is wanted or wanted is bool_, f"{node.op.name}: {value.dtype} is not {wanted}"
        return value
