"""`select` and `gather`: elements read where an index tensor says.

Indices are not trusted. One outside the dim is noted for the plan, which raises once the kernels are done,
and the nearest one inside is read in its place.
"""

from __future__ import annotations

from burn.cube.ir import Buffer, Value
from burn.dtype import i64, u64
from burn.engine.lower.loop import Check, Routine
from burn.engine.lower.writer import CARRIERS, KernelWriter, Steps, at, merged, plus, times
from burn.engine.schedule.units import Schedule
from burn.program.program import Node, Program


def lower_select(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Whole slices: one index for each place along the dim."""
    return _lower(program, schedule, node)


def lower_gather(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Single elements: an index for each."""
    return _lower(program, schedule, node)


def checkable(program: Program, schedule: Schedule, x: int, indices: int, dim: int) -> bool:
    """Whether a kernel can serve: there is something to point at, and i64 holds every index."""
    if indices in schedule.constants or program.values[indices].dtype is u64:
        return False
    return program.values[x].shape[dim] > 0


def note(w: KernelWriter, status: Buffer, low: Value, high: Value, size: Value) -> None:
    """Tell the plan of indices that lie outside, if they do."""
    with w.b.when((low < 0) | (high >= size)):
        w.b.atomic("min", status, 0, low)
        w.b.atomic("max", status, 1, w.b.select(high >= size, high, w.b.const(i64, -1)))


def inside(w: KernelWriter, index: Value, size: Value) -> Value:
    """The index, or the nearest one that may be used."""
    return w.b.max(w.b.min(index, size - 1), 0)


def _lower(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    x_number, index_number = node.reads()
    result = node.results[0]
    (dim,) = node.attributes
    shape = tuple(program.values[result].shape)
    size = program.values[x_number].shape[dim]
    carrier = CARRIERS.get(program.values[x_number].dtype.size)
    if carrier is None or x_number in schedule.constants:
        return None
    if not checkable(program, schedule, x_number, index_number, dim):
        return None
    w = KernelWriter(program, schedule)
    b = w.b
    x, indices, out = w.source(x_number, carrier), w.source(index_number), w.target(result, carrier)
    status = w.status()
    bound, along = w.size(size), w.stride(x.strides[dim])
    if node.op.name == "select":
        index_strides = tuple(indices.strides[0] if place == dim else 0 for place in range(len(shape)))
    else:
        index_strides = indices.strides
    x_strides = tuple(0 if place == dim else stride for place, stride in enumerate(x.strides))
    dims = merged(shape, {"x": x_strides, "indices": index_strides, "out": out.strides})
    one_index = bool(dims) and dims[-1][1]["indices"] == 0

    def body(bases: Steps, steps: Steps, length: Value) -> None:
        def index(j: Value | int) -> Value:
            return b.cast(w.load(indices, at(bases, steps, "indices", j)), i64)

        if one_index:
            found = index(0)
            note(w, status, found, found, bound)
            begin = times(inside(w, found, bound), along)
            with b.lane(length) as j:
                w.store(out, at(bases, steps, "out", j), w.load(x, plus(begin, at(bases, steps, "x", j))))
            return
        low, high = b.reduce(length, ("min", "max"), lambda j: (index(j), index(j)))
        note(w, status, low, high, bound)
        with b.lane(length) as j:
            begin = times(inside(w, index(j), bound), along)
            w.store(out, at(bases, steps, "out", j), w.load(x, plus(begin, at(bases, steps, "x", j))))

    extent, grain = w.walk(dims, body)
    return w.finish(extent, grain, node.op.name, Check(node.op.name, dim, size))
