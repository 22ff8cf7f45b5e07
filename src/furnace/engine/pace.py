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
ALONE_SECONDS = 0.01
"""What it may be away for while there is one client, who waits for just this run."""
KINDS = 256
SHARE = 0.05
"""How much of a longer time goes into a pace."""


class Pace:
    """Seconds by kind of run; the least recently noted kinds are forgotten."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[tuple[Key, int], float] = OrderedDict()
        self._short: dict[Key, tuple[Sequence[int], int, int]] = {}  # what `short_rows` found, until a pace changes

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
        if before is None or (before < SHORT_SECONDS) != (seconds < SHORT_SECONDS) or seconds >= SHORT_SECONDS:
            self._short.pop(key, None)
        if before is None and len(self._seconds) > KINDS:
            forgotten, _ = self._seconds.popitem(last=False)
            self._short.pop(forgotten[0], None)

    def restart(self, key: Key, size: int, seconds: float) -> None:
        """Begin with a time that was measured apart."""
        self._seconds[key, size] = seconds
        self._short.pop(key, None)

    def known(self, key: Key, size: int) -> float | None:
        """The seconds of a kind; None when it has not run."""
        return self._seconds.get((key, size))

    def short_rows(self, key: Key, sizes: Sequence[int], alone: bool = False) -> int:
        """The most rows of a key whose run is short; 0 when none is, or when they have not run before.

        More is short for a client who is alone.
        """
        known = self._short.get(key)
        if known is None or known[0] is not sizes:
            known = (sizes, self._rows(key, sizes, SHORT_SECONDS), self._rows(key, sizes, ALONE_SECONDS))
            if known[2]:  # kinds that have run are bounded, those that have not are what clients write
                self._short[key] = known
        return known[2] if alone else known[1]

    def _rows(self, key: Key, sizes: Sequence[int], limit: float) -> int:
        found = 0
        for size in sizes:
            if self._seconds.get((key, size), limit) >= limit:
                break
            found = size
        return found
