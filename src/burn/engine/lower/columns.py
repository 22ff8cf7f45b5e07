"""Column reductions: along dims that are not the trailing ones.

Where the last dim is kept (the gradient of a bias, batch statistics of rows), lanes run along it and
each adds up its own column. Where it is reduced too (a channel of images), each kept element adds up
runs of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from burn.cube.ir import Value
from burn.engine.lower.loop import Loop
from burn.engine.lower.partial_sums import BLOCK, BLOCK_OF_ROW, is_deep, reduced
from burn.engine.lower.writer import Dim, KernelWriter, merged, plus, times
from burn.engine.schedule.units import Schedule
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Node, Program


def lower_column(program: Program, schedule: Schedule, node: Node) -> Loop:
    """The kernel of a reduction along leading or scattered dims."""
    return _ColumnWriter(program, schedule, node).write()


class _ColumnWriter(KernelWriter):
    def __init__(self, program: Program, schedule: Schedule, node: Node) -> None:
        super().__init__(program, schedule)
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        assert node.op.reduction is not None
        (reduced_dims,) = node.attributes
        self.kind, self.element = node.op.reduction, node.op.element
        self.x = self.source_at(schedule.accesses[source], program.values[source].dtype)
        self.out = self.target(result)
        shape, read, made = self.x.access.shape, self.x.strides, self.out.strides
        kept = [dim for dim in range(len(shape)) if dim not in reduced_dims]
        along = [dim for dim in range(len(shape)) if dim in reduced_dims]
        self.kept = _picked(kept, shape, x=read, out=made)
        self.reduced = _picked(along, shape, x=read)
        self.label = f"{node.op.name} by columns"

    def write(self) -> Loop:
        """Lanes along the last kept dim if memory runs along it, else along the last reduced one."""
        lanes_kept = bool(self.kept) and (_step(self.kept) == 1 or not self.reduced or _step(self.reduced) != 1)
        extent, grain = self._along_columns() if lanes_kept else self._along_runs()
        return Loop(self.b.finish(), self.arguments, extent, grain, self.label)

    def _read(self, index: Any) -> Value:
        value = self.load(self.x, index)
        return value if self.element is None else self.element(self.b, value)

    def _along_columns(self) -> tuple[int, int]:
        b, dtype = self.b, self.out.dtype
        *outer, (width, strides) = self.kept
        rows = _count(self.reduced)
        columns = tile_sizes().columns
        blocks = -(-width // columns)
        outer_count = _count(outer)
        dims, inner = self.declared(outer), self.declared(self.reduced)
        width_size, block_count, row_count = self.size(width), self.size(blocks), self.size(rows)
        steps = self.steps(strides)
        total = self.size(outer_count * blocks)
        deep = is_deep(self.kind, dtype, rows, BLOCK)
        with b.grid(total) as i:
            outer_index, block = i // block_count, i % block_count
            start = block * columns
            base = plus(self.position(outer_index, dims, "x"), times(start, steps["x"]))
            out_base = plus(self.position(outer_index, dims, "out"), times(start, steps["out"]))
            with b.lane(b.min(width_size - start, columns)) as j:
                column = plus(base, times(j, steps["x"]))

                def body(r: Value) -> Value:
                    return self._read(plus(column, self.position(r, inner, "x")))

                place = plus(out_base, times(j, steps["out"]))
                self.store(self.out, place, reduced(b, row_count, self.kind, body, deep, BLOCK))
        return outer_count * blocks, grain_of(min(width, columns) * rows)

    def _along_runs(self) -> tuple[int, int]:
        b, dtype = self.b, self.out.dtype
        *outer, (length, strides) = self.reduced
        kept_count, outer_count = _count(self.kept), _count(outer)
        dims, inner = self.declared(self.kept), self.declared(outer)
        length_size, runs = self.size(length), self.size(outer_count)
        step = self.stride(strides["x"])
        total = self.size(kept_count)
        with b.grid(total) as i:
            base = self.position(i, dims, "x")

            def run(r: Value) -> Value:
                begin = plus(base, self.position(r, inner, "x"))
                deep = is_deep(self.kind, dtype, length, BLOCK_OF_ROW)
                return reduced(
                    b, length_size, self.kind, lambda j: self._read(plus(begin, times(j, step))), deep, BLOCK_OF_ROW
                )

            many = is_deep(self.kind, dtype, outer_count, BLOCK)
            self.store(self.out, self.position(i, dims, "out"), reduced(b, runs, self.kind, run, many, BLOCK))
        return kept_count, grain_of(length * outer_count)


def _picked(dims: list[int], shape: Sequence[int], **strides: Sequence[int]) -> list[Dim]:
    """The walk over some of the dims, in as few as possible."""
    return merged([shape[dim] for dim in dims], {key: [each[dim] for dim in dims] for key, each in strides.items()})


def _step(dims: list[Dim]) -> int:
    """How far apart the operand's elements lie along the last dim."""
    return dims[-1][1]["x"]


def _count(dims: list[Dim]) -> int:
    return math.prod(size for size, _ in dims)
