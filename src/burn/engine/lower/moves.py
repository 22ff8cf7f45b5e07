"""Operations that only move elements. They move bits, so every dtype of one size shares a kernel."""

from __future__ import annotations

import math
from typing import Any

from burn.classes import dataclass
from burn.dtype import DType, bool_
from burn.engine.lower.copies import copied
from burn.engine.lower.loop import Loop, Routine
from burn.engine.lower.writer import CARRIERS, Dim, KernelWriter, at, merged, plus, times
from burn.engine.schedule.access import Access
from burn.engine.schedule.units import Schedule
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Node, Program

MOST_PARTS = 32
"""More parts than this are joined by NumPy: each is a branch of the kernel."""


def _carrier(program: Program, number: int) -> DType | None:
    return CARRIERS.get(program.values[number].dtype.size)


def lower_copy(program: Program, access: Access, result: int, name: str) -> Loop | None:
    """A value of its own from an access to another's memory."""
    carrier = _carrier(program, result)
    return None if carrier is None else copied(access, carrier, result, f"copy for {name}")


def _long_last(dims: list[Dim]) -> list[Dim]:
    """The walk in an order that ends with a dim worth running along."""
    if len(dims) < 2 or dims[-1][0] >= 8:
        return dims
    longest = max(range(len(dims)), key=lambda place: dims[place][0])
    return [*dims[:longest], *dims[longest + 1 :], dims[longest]]


def lower_unfold(program: Program, schedule: Schedule, node: Node) -> Loop | None:
    """Windows along a dim: a view that reads elements several times."""
    (source,) = node.reads()
    if source in schedule.constants:
        return None
    dim, _, step = node.attributes
    x = schedule.accesses[source]
    shape = tuple(program.values[node.results[0]].shape)
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim])
    return lower_copy(program, Access(x.value, shape, strides, x.offset), node.results[0], node.op.name)


def lower_cat(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Tensors one after the other: the grid counts through the rows of all of them."""
    result = node.results[0]
    (dim,) = node.attributes
    carrier = _carrier(program, result)
    parts = [number for number in node.reads() if program.values[number].shape.num_elements()]
    if carrier is None or len(parts) > MOST_PARTS:
        return None
    w = KernelWriter(program, schedule)
    b, out = w.b, w.target(result, carrier)
    pieces = []
    place = 0
    for number in parts:
        shape = tuple(program.values[number].shape)
        source = w.source(number, carrier)
        rows = w.rows(_long_last(merged(shape, {"x": source.strides, "out": out.strides})))
        pieces.append((source, rows, w.size(rows.count), w.size(place * out.strides[dim])))
        place += shape[dim]
    count = sum(rows.count for _, rows, _, _ in pieces)
    with b.grid(w.size(count)) as i:
        for source, rows, row_count, begin in pieces:
            with b.when((i >= 0) & (i < row_count)):
                bases, length = rows.begin(i)
                with b.lane(length) as j:
                    value = w.load(source, at(bases, rows.steps, "x", j))
                    w.store(out, plus(begin, at(bases, rows.steps, "out", j)), value)
            i = i - row_count
    longest = max([rows.length for _, rows, _, _ in pieces], default=1)
    made = w.finish(count, grain_of(longest), f"cat of {len(parts)}")
    made.joins = True
    return made


def lower_slice_assign(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """A row of `x`, and over it the part of that row which is written."""
    x_number, values_number = node.reads()
    result = node.results[0]
    carrier = _carrier(program, result)
    if carrier is None:
        return None
    w = KernelWriter(program, schedule)
    b = w.b
    x, values, out = w.source(x_number, carrier), w.source(values_number, carrier), w.target(result, carrier)
    *outer, last = _ranges_merged(
        [
            _Range(size, start, count, step, strides)
            for size, (start, count, step), *strides in zip(
                program.values[result].shape, node.attributes[0], x.strides, out.strides, values.strides, strict=True
            )
        ]
    )
    rows = math.prod(each.size for each in outer)
    total = w.size(rows)
    declared = [
        (w.size(each.size), w.size(each.start), w.size(each.count), each.step, [w.stride(s) for s in each.strides])
        for each in outer
    ]
    x_step, out_step, values_step = (w.stride(stride) for stride in last.strides)
    length, first, count, skip = w.size(last.size), w.size(last.start), w.size(last.count), w.size(last.step)
    with b.grid(total) as i:
        bases: list[Any] = [0, 0, 0]
        inside = b.const(bool_, True)
        for position in range(len(declared) - 1, -1, -1):
            size, start, taken, step, strides = declared[position]
            index = i if position == 0 else i % size
            i = i // size if position else i
            apart = index - start
            written = apart // step if step != 1 else apart
            bases = [plus(base, times(k, s)) for base, k, s in zip(bases, (index, index, written), strides)]
            inside = inside & (written >= 0) & (written < taken) & b.eq(written * step, apart)
        with b.lane(length) as j:
            w.store(out, plus(bases[1], times(j, out_step)), w.load(x, plus(bases[0], times(j, x_step))))
        with b.when(inside), b.lane(count) as j:
            value = w.load(values, plus(bases[2], times(j, values_step)))
            w.store(out, plus(bases[1], times(first + j * skip, out_step)), value)
    return w.finish(rows, grain_of(last.size), "slice_assign")


@dataclass
class _Range:
    """A dim of a tensor that is written to: which places, and the strides of tensor, result and values."""

    size: int
    start: int
    count: int
    step: int
    strides: list[int]

    @property
    def is_whole(self) -> bool:
        return (self.start, self.count, self.step) == (0, self.size, 1)

    def joins(self, inner: _Range) -> bool:
        """Whether this dim and the one inside it are one run."""
        lengths = (inner.size, inner.size, inner.count)
        return (
            inner.is_whole
            and self.step == 1
            and inner.size < tile_sizes().run
            and all(s == t * n for s, t, n in zip(self.strides, inner.strides, lengths, strict=True))
        )

    def joined(self, inner: _Range) -> _Range:
        n = inner.size
        return _Range(self.size * n, self.start * n, self.count * n, 1, inner.strides)


def _ranges_merged(ranges: list[_Range]) -> list[_Range]:
    """The same dims as few as possible, from the last to the first; at least one."""
    found: list[_Range] = []
    for each in reversed(ranges):
        if found and each.joins(found[0]):
            found[0] = each.joined(found[0])
        elif each.size != 1 or not each.is_whole:
            found.insert(0, each)
    return found or [_Range(1, 0, 1, 1, [0, 0, 0])]
