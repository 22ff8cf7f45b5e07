"""`select_assign` and `scatter`: values combined with what is there, where an index tensor says.

Places before the dim and behind it are independent, so the grid runs over those: all values that meet in
one element are combined by one thread, in their order.
"""

from __future__ import annotations

import math
from typing import Any

from burn.cube.ir import Value
from burn.dtype import HALVES, bool_, i64
from burn.engine.lower.gathers import checkable, inside, note
from burn.engine.lower.loop import Check, Routine
from burn.engine.lower.writer import CARRIERS, KernelWriter, Steps, merged, plus, times
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes, grain_of, tile_sizes
from burn.program.program import Node, Program

COMBINE = {"add": "add", "mul": "mul", "min": "min", "max": "max"}


def lower_select_assign(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Whole slices: one index for each place along the dim."""
    return _lower(program, schedule, node)


def lower_scatter(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Single elements: an index for each."""
    return _lower(program, schedule, node)


def _lower(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    x_number, index_number, values_number = (each for each in node.operands if isinstance(each, int))
    dim, update = node.attributes
    x_value, result = program.values[x_number], node.results[0]
    shape, given = tuple(x_value.shape), tuple(program.values[values_number].shape)
    carrier = CARRIERS.get(x_value.dtype.size) if update == "assign" else None
    combinable = computes(x_value.dtype) and x_value.dtype is not bool_ and x_value.dtype not in HALVES
    if carrier is None and (update == "assign" or not combinable):
        return None
    if not checkable(program, schedule, x_number, index_number, dim):
        return None
    if any(size != given[place] for place, size in enumerate(shape) if place != dim):
        return None
    w = KernelWriter(program, schedule)
    b = w.b
    x, indices, values = w.source(x_number, carrier), w.source(index_number), w.source(values_number, carrier)
    out = w.target(result, carrier, read=True)
    by_slice = node.op.name == "select_assign"
    zero = (0,) * len(shape)
    strides = {
        "x": x.strides,
        "out": out.strides,
        "values": values.strides,
        "indices": zero if by_slice else indices.strides,
    }
    outer = merged(shape[:dim], {key: each[:dim] for key, each in strides.items()})
    inner = merged(shape[dim + 1 :], {key: each[dim + 1 :] for key, each in strides.items()})
    if len(inner) > 1:
        return None
    width, inner_strides = inner[0] if inner else (1, dict.fromkeys(strides, 0))
    columns = tile_sizes().columns
    blocks, rows = -(-width // columns), math.prod(size for size, _ in outer)
    status = w.status()
    total, block_count, width_size = w.size(rows * blocks), w.size(blocks), w.size(width)
    depth, count = w.size(shape[dim]), w.size(given[dim])
    along = {key: w.stride(each[dim]) for key, each in strides.items()}
    if by_slice:
        along["indices"] = w.stride(indices.strides[0])
    declared, steps = w.declared(outer), w.steps(inner_strides)
    with b.grid(total) as i:
        start = (i % block_count) * columns
        bases = _moved(w.bases(i // block_count, declared), start, steps)
        length = b.min(width_size - start, columns)

        def place(key: str, k: Value, j: Any) -> Any:
            return plus(plus(bases.get(key, 0), times(k, along[key])), times(j, steps[key]))

        with b.serial(depth) as k, b.lane(length) as j:
            w.store(out, place("out", k, j), w.load(x, place("x", k, j)))
        with b.serial(count) as k:

            def index(j: Any) -> Value:
                return b.cast(w.load(indices, place("indices", k, j)), i64)

            if steps["indices"] == 0:
                low = high = index(0)
            else:
                low, high = b.reduce(length, ("min", "max"), lambda j: (index(j), index(j)))
            note(w, status, low, high, depth)
            with b.lane(length) as j:
                target = place("out", inside(w, index(j), depth), j)
                value = w.load(values, place("values", k, j))
                if update != "assign":
                    value = getattr(b, COMBINE[update])(w.load(out, target), value)
                w.store(out, target, value)
    grain = grain_of(min(width, columns) * (shape[dim] + given[dim]))
    return w.finish(rows * blocks, grain, node.op.name, Check(node.op.name, dim, shape[dim]))


def _moved(bases: Steps, start: Value, steps: Steps) -> Steps:
    return {key: plus(bases.get(key, 0), times(start, step)) for key, step in steps.items()}
