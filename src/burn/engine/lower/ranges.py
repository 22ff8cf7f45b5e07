"""`arange`: numbers in even steps. Start and step are arguments, so all of one dtype share a kernel."""

from __future__ import annotations

from burn.cube.ir import Value
from burn.dtype import f32, f64, i64
from burn.engine.lower.loop import Routine
from burn.engine.lower.writer import KernelWriter, Steps, at
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes
from burn.program.program import Constant, Node, Program
from burn.symbolic import index


def lower_arange(program: Program, schedule: Schedule, node: Node) -> Routine | None:
    """Whole numbers count in i64, others in f64, as NumPy does."""
    result = node.results[0]
    dtype = program.values[result].dtype
    if not all(isinstance(each, Constant) for each in node.operands):
        return None
    start, step, *_ = (each.value for each in node.operands if isinstance(each, Constant))
    whole = not isinstance(start, float) and not isinstance(step, float)
    if not computes(dtype) or not (dtype in (f32, f64) or (whole and dtype.is_int)):
        return None
    if whole and any(abs(index(each)) >= 1 << 62 for each in (start, step, step * program.values[result].shape[0])):
        return None
    carrier = i64 if whole else f64
    w = KernelWriter(program, schedule)
    out = w.target(result)
    first, apart = w.number(start, carrier), w.number(step, carrier)

    def body(bases: Steps, steps: Steps, length: Value) -> None:
        with w.b.lane(length) as j:
            place = at(bases, steps, "out", j)
            w.store(out, place, w.b.cast(w.b.cast(place, carrier) * apart + first, dtype))

    extent, grain = w.walk([(program.values[result].shape[0], {"out": 1})], body)
    return w.finish(extent, grain, "arange")
