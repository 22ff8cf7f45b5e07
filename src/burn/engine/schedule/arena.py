"""Arena planning: where each temporary of a plan lies in one block of memory.

Two temporaries may share bytes if they are never alive at the same step. Finding the smallest block
is a hard problem; placing the largest first, each into the tightest gap that it fits, comes within a
few per cent of the bound in practice. Orders are tried until one meets the bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from burn.errors import ArgumentError

ALIGNMENT = 64

Lifetime = tuple[int, int, int]
"""Size in bytes, the first step that uses it, the last step that uses it."""


def plan_arena(lifetimes: Sequence[Lifetime], alignment: int = ALIGNMENT) -> tuple[list[int], int]:
    """Offsets of the temporaries, in the order given, and the size of the arena.

    Both ends of a lifetime belong to it, so a step never reads and writes the same bytes through two
    temporaries; to compute in place, give both values one lifetime.
    """
    if not lifetimes:
        return [], 0
    table = np.array(lifetimes, np.int64).reshape(-1, 3)
    size, first, last = table.T
    for index in np.flatnonzero((size < 0) | (first > last)):
        raise ArgumentError(
            f"plan_arena: temporary {index} has size {size[index]} and lives from step {first[index]} to "
            f"{last[index]}; a size is at least 0 and a life ends after it began"
        )
    size = -(-size // alignment) * alignment
    bound = lower_bound(lifetimes, alignment)
    duration = last - first + 1
    orders = (
        np.lexsort((first, -duration, -size)),  # large ones first
        np.lexsort((-size, -duration)),  # long-lived ones first
        np.lexsort((-size, first)),  # as time goes by
    )
    best: NDArray[np.int64] | None = None
    total = 0
    for order in orders:
        offset = _place(order, size, first, last)
        needed = int((offset + size).max())
        if best is None or needed < total:
            best, total = offset, needed
        if total == bound:
            break
    assert best is not None
    return [int(each) for each in best], total


def lower_bound(lifetimes: Sequence[Lifetime], alignment: int = ALIGNMENT) -> int:
    """The most bytes alive at one step: no arena is smaller."""
    if not lifetimes:
        return 0
    size, first, last = np.array(lifetimes, np.int64).reshape(-1, 3).T
    size = -(-size // alignment) * alignment
    times = np.concatenate((first, last + 1))
    changes = np.concatenate((size, -size))
    # At equal times what ends goes before what begins.
    order = np.lexsort((changes, times))
    return int(max(0, np.cumsum(changes[order]).max()))


def _place(
    order: NDArray[np.int64], size: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Offsets by best fit: each temporary takes the smallest gap among those alive with it, or the end."""
    offset = np.zeros(len(size), np.int64)
    placed = np.zeros(len(size), bool)
    for index in order:
        if size[index] == 0:
            continue
        alive = np.flatnonzero(placed & (first <= last[index]) & (last >= first[index]))
        starts = offset[alive]
        arranged = np.argsort(starts, kind="stable")
        starts = starts[arranged]
        # The end of everything up to each neighbour: ranges of neighbours may overlap one another.
        ends = np.maximum.accumulate(starts + size[alive][arranged])
        gaps = starts - np.concatenate(([0], ends[:-1])) if len(starts) else starts
        fitting = np.flatnonzero(gaps >= size[index])
        if len(fitting):
            chosen = fitting[np.argmin(gaps[fitting])]
            offset[index] = 0 if chosen == 0 else ends[chosen - 1]
        else:
            offset[index] = ends[-1] if len(ends) else 0
        placed[index] = True
    return offset
