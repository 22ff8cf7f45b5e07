"""Running sums, products, maxima and minima along a dim, in the order of the elements.

Along the last dim a row carries its value from element to element. Along another one, lanes run beside each
other. The value that is carried is wider than the elements: the error of a running sum grows with every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.cube.ir import Value
from burn.dtype import HALVES, bool_
from burn.engine.lower.loop import Routine
from burn.engine.lower.writer import KernelWriter, Steps, at, merged, plus, times
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes
from burn.ops.cumulative import running_dtype
from burn.program.program import Node, Program
from burn.symbolic import largest

Lowering = Callable[[Program, Schedule, Node], Routine | None]


def _running(combine: str) -> Lowering:
    def lower(program: Program, schedule: Schedule, node: Node) -> Routine | None:
        return _lower(program, schedule, node, combine)

    return lower


def _lower(program: Program, schedule: Schedule, node: Node, combine: str) -> Routine | None:
    (number,) = node.reads()
    (dim,) = node.attributes
    dtype, shape = program.values[number].dtype, tuple(program.values[number].shape)
    if not computes(dtype) or dtype is bool_ or dtype in HALVES or number in schedule.constants or not shape[dim]:
        return None
    w = KernelWriter(program, schedule)
    b = w.b
    x, out = w.source(number), w.target(node.results[0])
    later = w.size(shape[dim] - 1)
    x_step, out_step = w.stride(x.strides[dim]), w.stride(out.strides[dim])
    others = tuple(1 if place == dim else size for place, size in enumerate(shape))
    dims = merged(others, {"x": x.strides, "out": out.strides})

    running = running_dtype(dtype) if combine in ("add", "mul") else dtype

    def carried(begin: Any, place: Any) -> None:
        """The values of one row, or of one lane, after each other."""
        first = w.load(x, begin)
        w.store(out, place, first)

        def step(k: Value, before: Value) -> Value:
            new = w.load(x, plus(begin, times(k + 1, x_step)))
            value: Value = getattr(b, combine)(before, b.cast(new, running))
            w.store(out, plus(place, times(k + 1, out_step)), b.cast(value, dtype))
            return value

        b.loop(later, b.cast(first, running), step)

    def body(bases: Steps, steps: Steps, length: Value) -> None:
        axis = b.serial if out.strides[dim] == 1 else b.lane
        with axis(length) as j:
            carried(at(bases, steps, "x", j), at(bases, steps, "out", j))

    extent, grain = w.walk(dims, body)
    return w.finish(extent, largest(1, grain // shape[dim]), node.op.name)


lower_cumsum = _running("add")
lower_cumprod = _running("mul")
lower_cummax = _running("max")
lower_cummin = _running("min")
