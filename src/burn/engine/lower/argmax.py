"""`argmax` and `argmin`: the first NaN, else the first of equal extremes, along any dim.

Where the dim is the innermost one of memory a row is reduced at once; else lanes run along the innermost one.
"""

from __future__ import annotations

import math
from typing import Any

from burn.cube.ir import Value
from burn.dtype import bool_, i32
from burn.engine.lower.loop import Routine
from burn.engine.lower.writer import KernelWriter, Steps, at, merged, plus, times
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes, grain_of
from burn.program.program import Node, Program
from burn.symbolic import largest

SHORT = (1 << 31) - 1
"""Places of rows shorter than this are counted in i32: more of them fit a vector."""


def lower_argmax(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """The place of the largest element."""
    return _lower(program, schedule, node)


def lower_argmin(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """The place of the smallest element."""
    return _lower(program, schedule, node)


def _lower(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    (number,) = node.reads()
    (dim,) = node.attributes
    value, result = program.values[number], program.values[node.results[0]]
    if not computes(value.dtype) or value.dtype is bool_ or number in schedule.constants:
        return None
    shape = tuple(value.shape)
    w = KernelWriter(program, schedule)
    b = w.b
    x, out = w.source(number), w.target(node.results[0])
    count, along = w.size(shape[dim]), w.stride(x.strides[dim])
    others = tuple(1 if place == dim else size for place, size in enumerate(shape))
    dims = merged(others, {"x": x.strides, "out": out.strides})

    def element(begin: Any, k: Value) -> Value:
        return w.load(x, plus(begin, times(k, along)))

    def chosen(begin: Any) -> Value:
        found: Value = b.reduce(count, node.op.name, lambda k: element(begin, k))
        return b.cast(found, result.dtype)

    def found_again(begin: Any) -> Value:
        """The extreme first, then its place: two quick passes over a row that is near."""
        extreme = b.reduce(count, node.op.name[3:], lambda k: element(begin, k))

        def place(k: Value) -> Value:
            value = element(begin, k)
            hit = b.eq(value, extreme)
            if value.dtype.is_float:
                hit = hit | b.isnan(value)
            return b.select(hit, b.cast(k, i32), b.const(i32, SHORT))

        return b.cast(b.reduce(count, "min", place), result.dtype)

    if abs(x.strides[dim]) == 1 or not dims:
        rows = math.prod(size for size, _ in dims)
        total, declared = w.size(rows), w.declared(dims)
        locate = found_again if shape[dim] < SHORT and value.dtype.bits <= 32 else chosen
        with b.grid(total) as i:
            bases = w.bases(i, declared)
            w.store(out, bases.get("out", 0), locate(bases.get("x", 0)))
        return w.finish(rows, grain_of(shape[dim]), node.op.name)

    def body(bases: Steps, steps: Steps, length: Value) -> None:
        with b.lane(length) as j:
            w.store(out, at(bases, steps, "out", j), chosen(at(bases, steps, "x", j)))

    extent, grain = w.walk(dims, body)
    return w.finish(extent, largest(1, grain // largest(1, shape[dim])), node.op.name)
