"""How many cores this process may use: those of its affinity mask, within the quota of its container."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def usable_cores() -> int:
    """The cores that this process may keep busy at once; at least 1."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(os.getpid()))
    else:
        cores = os.cpu_count() or 1
    return max(1, min([cores, *_quotas()]))


def _quotas() -> Iterator[int]:
    """The limits of the control groups of this process, and of those that they are in, in whole cores rounded up."""
    try:
        lines = MEMBERSHIP.read_text("ascii").splitlines()
    except (OSError, ValueError):  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            for folder in _upwards(CGROUPS, path):
                yield from _limit(_numbers(folder / "cpu.max"))
        elif "cpu" in controllers.split(","):
            for folder in _upwards(CGROUPS / controllers, path):
                quota, period = (_numbers(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))
                yield from _limit(quota + period)


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """The folder of a group and those above it. A container may see its own group as the root."""
    inside = PurePosixPath(path.lstrip("/"))
    for each in (inside, *inside.parents):
        yield root / each


def _numbers(file: Path) -> list[int]:
    """The numbers in a file; none where it is missing or says `max`."""
    try:
        return [int(word) for word in file.read_text("ascii").split()]
    except (OSError, ValueError):
        return []


def _limit(found: list[int]) -> Iterator[int]:
    if len(found) == 2 and found[0] > 0 and found[1] > 0:
        yield math.ceil(found[0] / found[1])
