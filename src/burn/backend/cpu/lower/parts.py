"""Sums that were computed in parts.

Where a sum is cut so that threads can share it, how many parts there are follows from sizes alone, and they are added
in order: the result is the same for any number of threads.
"""

from __future__ import annotations

from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Value


def sum_of_parts(b: KernelBuilder, source: Buffer, place: Value, count: Value, size: Value) -> Value:
    """The sum of the elements at `place` of `count` parts, each `size` elements behind the one before."""
    total: Value = b.loop(
        count - 1,
        b.load(source, place),
        lambda part, held: held + b.load(source, place + (part + 1) * size),
    )
    return total
