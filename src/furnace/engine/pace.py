"""How long runs take, by the shapes of their rows and the batch size: which ones are short enough for the event loop.

A pace is known only for shapes that have run before, so a plan is never made on the loop. It follows what it sees:
a run that takes long sends the next ones of its kind to the worker's thread, whose short runs bring them back. A
shorter time counts at once and a longer one in part: others that take the core make runs longer, never shorter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence

from furnace.engine.job import Key

SHORT_SECONDS = 0.0015
"""What the event loop may be away for."""
KINDS = 256
SHARE = 0.05
"""How much of a longer time goes into a pace."""


class Pace:
    """Seconds by kind of run; the least recently noted kinds are forgotten."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[tuple[Key, int], float] = OrderedDict()

    def note(self, key: Key, rows: int, seconds: float, sizes: Sequence[int]) -> None:
        """Take one run in; those in pieces say nothing about a size."""
        place = bisect_left(sizes, rows)
        if place == len(sizes):
            return
        kind = (key, sizes[place])
        before = self._seconds.get(kind)
        if before is not None and seconds > before:
            seconds = before + SHARE * (seconds - before)
        self._seconds[kind] = seconds
        if before is None and len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)

    def restart(self, key: Key, size: int, seconds: float) -> None:
        """Begin with a time that was measured apart."""
        self._seconds[key, size] = seconds

    def known(self, key: Key, size: int) -> float | None:
        """The seconds of a kind; None when it has not run."""
        return self._seconds.get((key, size))

    def short_rows(self, key: Key, sizes: Sequence[int]) -> int:
        """The most rows of a key whose run is short; 0 when none is, or when they have not run before."""
        found = 0
        for size in sizes:
            if self._seconds.get((key, size), SHORT_SECONDS) >= SHORT_SECONDS:
                break
            found = size
        return found
