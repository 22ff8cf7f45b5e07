"""Where and when a run took place: the machine, the commit, the load."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple


def now() -> str:
    """The date and time, to the second, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit() -> str:
    """The commit of the checkout this package runs from, with `+` where files differ; `unknown` when installed."""
    folder = Path(__file__).resolve().parent
    try:
        found = _git(folder, "rev-parse", "--short", "HEAD")
        return f"{found}+" if _git(folder, "status", "--porcelain") else found
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()


def describe(threads: int) -> dict[str, Any]:
    """The machine in the words of a report."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads,
        "memory_bytes": memory_bytes(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def processor() -> str:
    """The name of the processor and its widest vectors."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    flags = named.get("flags", "").split()
    widest = next((name for flag, name in VECTORS if flag in flags), "")
    return " ".join(filter(None, (named.get("model name") or platform.machine(), widest)))


VECTORS = (("avx512f", "(AVX-512)"), ("avx2", "(AVX2)"), ("avx", "(AVX)"))


def memory_bytes() -> int:
    """The size of the main memory, 0 where it is not told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


class Disturbance(NamedTuple):
    """The shares of the machine's time that other processes took, and other machines on the same host."""

    others: float
    stolen: float


class Watch:
    """Looks at the machine's time from its making on."""

    def __init__(self) -> None:
        self._start = _times()

    def disturbance(self, own: float) -> Disturbance:
        """Who else was busy, where we ourselves took `own` seconds of processor time."""
        now = [after - before for before, after in zip(self._start, _times(), strict=True)]
        total = sum(now)
        if not total:
            return Disturbance(0.0, 0.0)
        others = max(0.0, sum(now[:3]) - own)
        return Disturbance(round(others / total, 4), round(now[7] / total if len(now) > 7 else 0.0, 4))


def busy_share(seconds: float) -> float:
    """The share of the machine that was busy during the next `seconds`; who asks sleeps."""
    before = _times()
    time.sleep(seconds)
    now = [after - earlier for earlier, after in zip(before, _times(), strict=True)]
    return sum(now[:3]) / sum(now) if sum(now) else 0.0


def own_time() -> float:
    """Seconds of processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _times() -> list[float]:
    """Seconds that all cores spent: for users, nice ones, the system, idle, waiting, interrupts, stolen."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return [int(each) / os.sysconf("SC_CLK_TCK") for each in file.readline().split()[1:9]]
    except OSError:
        return [0.0]
