"""Random draws: each block of the generator gives four words, for four elements of f32 or two of f64.

Seed, offset and the parameters of the distribution are run-time numbers. Uniform and Bernoulli draws are
bit for bit those of `burn.ops.philox`; normal ones differ by the rounding of log, sin and cos.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from burn.cube.ir import Value
from burn.cube.random import philox, unit_f32, unit_f64
from burn.dtype import DType, bool_, f32, f64, i32, i64, u32, u64
from burn.engine.lower.draws_last import draw_last
from burn.engine.lower.loop import Routine
from burn.engine.lower.writer import KernelWriter
from burn.engine.schedule.images import is_last
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes, tile_sizes
from burn.program.program import Node, Program

Transform = Callable[[list[Value]], list[Value]]
"""From the unit numbers of a block to its elements."""


def lower_uniform(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """From `low` up to, but not including, `high`."""
    dtype = program.values[node.results[0]].dtype
    if dtype not in (f32, f64) or not computes(dtype):
        return None
    w = KernelWriter(program, schedule)
    low, high = (w.b.cast(w.given(each, f64), dtype) for each in node.operands[2:])
    span = high - low
    largest = _just_below(w, high)
    reachable = largest >= low

    def transform(units: list[Value]) -> list[Value]:
        values = [each * span + low for each in units]
        return [w.b.select((each >= high) & reachable, largest, each) for each in values]

    return _lowered(w, node, dtype, transform)


def lower_bernoulli(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """1 with a probability, else 0."""
    dtype = program.values[node.results[0]].dtype
    if dtype not in (f32, f64, i32, i64, bool_) or not computes(dtype):
        return None
    wide = f64 if dtype is f64 else f32
    w = KernelWriter(program, schedule)
    probability = w.b.cast(w.given(node.operands[2], f64), wide)
    return _lowered(w, node, wide, lambda units: [w.b.cast(each < probability, dtype) for each in units])


def lower_normal(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Box-Muller in double precision: a pair of unit numbers gives a pair of elements."""
    dtype = program.values[node.results[0]].dtype
    if dtype is not f32 or not computes(dtype):
        return None
    w = KernelWriter(program, schedule)
    b = w.b
    mean, deviation = (w.given(each, f64) for each in node.operands[2:])

    def transform(units: list[Value]) -> list[Value]:
        found = []
        for first, second in zip(units[::2], units[1::2], strict=True):
            radius = b.sqrt(b.log(b.sub(1.0, b.cast(first, f64))) * -2.0)
            angle = b.cast(second, f64) * (2.0 * math.pi)
            found += [b.cast(radius * each * deviation + mean, f32) for each in (b.cos(angle), b.sin(angle))]
        return found

    return _lowered(w, node, f32, transform)


def _just_below(w: KernelWriter, x: Value) -> Value:
    """The next number towards minus infinity."""
    b = w.b
    words, sign = (u32, 1 << 31) if x.dtype is f32 else (u64, 1 << 63)
    bits = b.bitcast(x, words)
    moved = b.select(b.sign_bit(x), bits + 1, bits - 1)
    return b.bitcast(b.select(b.eq(x, 0.0), b.const(words, sign + 1), moved), x.dtype)


def _lowered(w: KernelWriter, node: Node, wide: DType, transform: Transform) -> Routine:
    """Whole blocks side by side; the last one, if it is not needed whole, by itself."""
    if is_last(node):
        return draw_last(w, node, transform)
    b, result = w.b, node.results[0]
    out = w.target(result)
    seed, offset = (w.given(each, u64) for each in node.operands[:2])
    elements = 2 if wide is f64 else 4
    count = w.program.values[result].shape.num_elements()
    whole, rest = divmod(count, elements)
    taken = tile_sizes().drawn
    chunks = -(-whole // taken)
    extent = chunks + (1 if rest else 0)
    total, whole_size, chunk_size = w.size(extent), w.size(whole), w.size(chunks)

    def drawn(block: Value) -> list[Value]:
        words = philox(b, seed, offset + b.cast(block, u64))
        if wide is f64:
            return transform([unit_f64(b, words[0], words[1]), unit_f64(b, words[2], words[3])])
        return transform([unit_f32(b, word) for word in words])

    with b.grid(total) as i:
        with b.when(i < chunk_size):
            start = i * taken
            with b.lane(b.min(whole_size - start, taken)) as j:
                block = start + j
                for position, value in enumerate(drawn(block)):
                    w.store(out, block * elements + position, value)
        if rest:
            with b.when(b.eq(i, chunk_size)):
                for position, value in enumerate(drawn(whole_size)[:rest]):
                    w.store(out, whole_size * elements + position, value)
    return w.finish(extent, tile_sizes().drawn_grain, node.op.name)
