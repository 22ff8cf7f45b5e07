"""How long it still takes: the time so far, carried on at the same pace.

Nothing is said (`---`) before 10 items and 10 seconds, or 30 seconds: the first batches compile and fill caches, and
an estimate from them would frighten.
"""

from __future__ import annotations

import time
from collections.abc import Callable

UNITS = (("day", 86400), ("hour", 3600), ("min", 60), ("sec", 1))


class Estimate:
    """The time that is left of some work of `total` items, of which `done` were done before it began."""

    def __init__(self, total: int, done: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self._clock = clock
        self._first = done
        self._begin = clock()

    def seconds_left(self, done: int) -> float | None:
        """Seconds that are left when `done` items are done; None while it is too early to tell."""
        elapsed, items = self._clock() - self._begin, done - self._first
        if items <= 0 or not (elapsed >= 30 or (items >= 10 and elapsed >= 10)):
            return None
        return elapsed / items * max(0, self.total - done)

    def text(self, done: int) -> str:
        """As a gauge shows it: `(12 mins)`, or `---`."""
        left = self.seconds_left(done)
        return "---" if left is None else f"({duration(left)})"


def duration(seconds: float) -> str:
    """A time in its largest unit: `2 hours`, `1 min`, `0 secs`."""
    whole = int(seconds)
    for name, size in UNITS:
        if whole >= size or size == 1:
            count = whole // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    raise AssertionError("the last unit takes every time")
