"""Kernels of single operations: those that are neither element by element nor a library's business.

A function gives the work of a node, or None where the dtype or the shape is none of its own; NumPy then
does it.
"""

from __future__ import annotations

from collections.abc import Callable

from burn.engine.lower.argmax import lower_argmax, lower_argmin
from burn.engine.lower.draws import lower_bernoulli, lower_normal, lower_uniform
from burn.engine.lower.gathers import lower_gather, lower_select
from burn.engine.lower.loop import Loop
from burn.engine.lower.moves import lower_cat, lower_slice_assign, lower_unfold
from burn.engine.lower.ranges import lower_arange
from burn.engine.lower.scans import lower_cummax, lower_cummin, lower_cumprod, lower_cumsum
from burn.engine.lower.scatters import lower_scatter, lower_select_assign
from burn.engine.schedule.units import Schedule
from burn.program.program import Node, Program

Lowering = Callable[[Program, Schedule, Node], Loop | None]

KERNELS: dict[str, Lowering] = {
    "arange": lower_arange,
    "argmax": lower_argmax,
    "argmin": lower_argmin,
    "cat": lower_cat,
    "cummax": lower_cummax,
    "cummin": lower_cummin,
    "cumprod": lower_cumprod,
    "cumsum": lower_cumsum,
    "gather": lower_gather,
    "random_bernoulli": lower_bernoulli,
    "random_normal": lower_normal,
    "random_uniform": lower_uniform,
    "scatter": lower_scatter,
    "select": lower_select,
    "select_assign": lower_select_assign,
    "slice_assign": lower_slice_assign,
    "unfold": lower_unfold,
}
"""From the name of a row to the kernel that computes it."""


def lower_kernel(program: Program, schedule: Schedule, node: Node) -> Loop | None:
    """The kernel of a node, or None."""
    lowering = KERNELS.get(node.op.name)
    return None if lowering is None else lowering(program, schedule, node)
