"""The memory that plans keep for their next runs, all plans of a device together.

An instance of a plan (its arena, its packed weights) stays after a run, since the next one will likely want it.
Programs of a hundred shapes would keep a hundred arenas, so there is a limit: where it is passed, those that waited
longest go. The few that were used last stay however large they are, or a step of two large plans would make them anew
again and again.
"""

from __future__ import annotations

import itertools
import os
import weakref
from typing import Protocol

FEW = 8
"""Instances that stay whatever they take: those that were taken or given back last."""

MOST_BYTES = 1 << 29


def default_limit() -> int:
    """A thirty-second of the machine's memory, and at most half a gibibyte."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        physical = 4 << 30
    return min(physical // 32, MOST_BYTES)


class Instance(Protocol):
    """Memory that a plan keeps to run again."""

    used: int
    """When it was taken or given back last, by the clock of `KeptMemory`."""

    @property
    def bytes(self) -> int:
        """What it takes."""

    def let_go(self) -> bool:
        """Have nobody keep it for a next run; False where nobody does."""


class KeptMemory:
    """The instances of a device's plans, and when each was used."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = default_limit() if limit is None else limit
        self._instances: dict[int, weakref.ref[Instance]] = {}
        self.clock = itertools.count().__next__

    def add(self, instance: Instance) -> None:
        """Count a new instance in, and let go of others where there is no room for it."""
        number = id(instance)

        def gone(reference: weakref.ref[Instance]) -> None:
            if self._instances.get(number) is reference:
                del self._instances[number]

        self._instances[number] = weakref.ref(instance, gone)
        instance.used = self.clock()
        found = self.instances()
        total = sum(each.bytes for each in found)
        for each in found[:-FEW]:
            if total <= self.limit:
                return
            if each.let_go():
                total -= each.bytes

    def instances(self) -> list[Instance]:
        """Those there are, the one used longest ago first."""
        found = [each for each in (reference() for reference in list(self._instances.values())) if each is not None]
        return sorted(found, key=lambda each: each.used)

    def bytes(self) -> int:
        """What they take."""
        return sum(each.bytes for each in self.instances())
