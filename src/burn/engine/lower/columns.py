"""Column reductions: along dims that are not the trailing ones.

Where the last dim is kept (the gradient of a bias, batch statistics of rows), lanes run along it and
each adds up its own column. Where it is reduced too (a channel of images), each kept element adds up
runs of memory.
"""

from __future__ import annotations

import math
from typing import Any

from burn.cube import KernelBuilder
from burn.cube.ir import Value
from burn.engine.lower.elements import computed
from burn.engine.lower.loop_parts import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK, BLOCK_OF_ROW, is_deep, reduced
from burn.engine.schedule.access import whole
from burn.engine.schedule.units import Schedule
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Node, Program

Dim = tuple[int, int, int]  # size, stride in the source, stride in the result


def lower_column(program: Program, schedule: Schedule, node: Node) -> Loop:
    """The kernel of a reduction along leading or scattered dims."""
    return _ColumnWriter(program, schedule, node).write()


class _ColumnWriter:
    def __init__(self, program: Program, schedule: Schedule, node: Node) -> None:
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        self.access = schedule.accesses[source]
        self.result = result
        (dims,) = node.attributes
        assert node.op.reduction is not None
        self.kind, self.element = node.op.reduction, node.op.element
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        dtype, out_dtype = program.values[source].dtype, program.values[result].dtype
        self.x, self.dtype = self.b.buffer(dtype), computed(out_dtype)
        self.arguments.append(Argument("buffer", self.access.value, self.access.offset * dtype.size))
        self.out = self.b.buffer(out_dtype, write=True)
        self.arguments.append(Argument("buffer", result, written=True))
        strides = whole(result, tuple(program.values[result].shape)).strides
        each = list(zip(self.access.shape, self.access.strides, strides, strict=True))
        self.kept = _merged([dim for position, dim in enumerate(each) if position not in dims])
        self.reduced = _merged([(size, stride, 0) for p, (size, stride, _) in enumerate(each) if p in dims])
        self.label = f"{node.op.name} by columns"

    def _size(self, value: int) -> Value:
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _step(self, stride: int) -> Any:
        return stride if stride in (0, 1) else self._size(stride)

    def _position(self, index: Any, dims: list[Any], which: int) -> Any:
        """The offset of flat position `index` in `dims`: (size, source stride, result stride) as arguments."""
        offset: Any = 0
        for place in range(len(dims) - 1, -1, -1):
            size = dims[place][0]
            part = index if place == 0 else index % size
            if place:
                index = index // size
            stride = dims[place][which]
            term = _times(part, stride)
            offset = term if isinstance(offset, int) else offset if isinstance(term, int) else offset + term
        return offset

    def _declared(self, dims: list[Dim]) -> list[tuple[Value, Any, Any]]:
        return [(self._size(size), self._step(source), self._step(result)) for size, source, result in dims]

    def write(self) -> Loop:
        """Lanes along the last kept dim if memory runs along it, else along the last reduced one."""
        lanes_kept = bool(self.kept) and (self.kept[-1][1] == 1 or not self.reduced or self.reduced[-1][1] != 1)
        extent, grain = self._along_columns() if lanes_kept else self._along_runs()
        return Loop(self.b.finish(), self.arguments, extent, grain, self.label)

    def _read(self, index: Any) -> Value:
        value = self.b.load(self.x, index)
        return value if self.element is None else self.element(self.b, value)

    def _along_columns(self) -> tuple[int, int]:
        b = self.b
        *outer, (width, source_step, result_step) = self.kept
        rows = math.prod(size for size, _, _ in self.reduced)
        columns = tile_sizes().columns
        blocks = -(-width // columns)
        outer_count = math.prod(size for size, _, _ in outer)
        dims, inner = self._declared(outer), self._declared(self.reduced)
        width_size, block_count, row_count = self._size(width), self._size(blocks), self._size(rows)
        step, out_step = self._step(source_step), self._step(result_step)
        total = self._size(outer_count * blocks)
        deep = is_deep(self.kind, self.dtype, rows, BLOCK)
        with b.grid(total) as i:
            outer_index, block = i // block_count, i % block_count
            start = block * columns
            base = _plus(self._position(outer_index, dims, 1), _times(start, step))
            out_base = _plus(self._position(outer_index, dims, 2), _times(start, out_step))
            with b.lane(b.min(width_size - start, columns)) as j:
                column = _plus(base, _times(j, step))

                def body(r: Value) -> Value:
                    return self._read(_plus(column, self._position(r, inner, 1)))

                b.store(
                    self.out, _plus(out_base, _times(j, out_step)), reduced(b, row_count, self.kind, body, deep, BLOCK)
                )
        return outer_count * blocks, grain_of(min(width, columns) * rows)

    def _along_runs(self) -> tuple[int, int]:
        b = self.b
        *outer, (length, run_step, _) = self.reduced
        kept_count = math.prod(size for size, _, _ in self.kept)
        outer_count = math.prod(size for size, _, _ in outer)
        dims, inner = self._declared(self.kept), self._declared(outer)
        length_size, runs = self._size(length), self._size(outer_count)
        step = self._step(run_step)
        total = self._size(kept_count)
        with b.grid(total) as i:
            base = self._position(i, dims, 1)

            def run(r: Value) -> Value:
                begin = _plus(base, self._position(r, inner, 1))
                return reduced(
                    b,
                    length_size,
                    self.kind,
                    lambda j: self._read(_plus(begin, _times(j, step))),
                    is_deep(self.kind, self.dtype, length, BLOCK_OF_ROW),
                    BLOCK_OF_ROW,
                )

            many = is_deep(self.kind, self.dtype, outer_count, BLOCK)
            b.store(self.out, self._position(i, dims, 2), reduced(b, runs, self.kind, run, many, BLOCK))
        return kept_count, grain_of(length * outer_count)


def _times(index: Any, stride: Any) -> Any:
    if isinstance(stride, int):
        return 0 if stride == 0 else index
    return index * stride


def _plus(x: Any, y: Any) -> Any:
    if isinstance(x, int) and x == 0:
        return y
    return x if isinstance(y, int) and y == 0 else x + y


def _merged(dims: list[Dim]) -> list[Dim]:
    """The same walk in as few dims as possible."""
    merged: list[Dim] = []
    for size, source, result in dims:
        if size == 1:
            continue
        if merged:
            outer_size, outer_source, outer_result = merged[-1]
            if outer_source == source * size and outer_result == result * size:
                merged[-1] = (outer_size * size, source, result)
                continue
        merged.append((size, source, result))
    return merged
