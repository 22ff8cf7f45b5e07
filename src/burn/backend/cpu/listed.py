"""What the system says of its processors."""

from __future__ import annotations

import platform
from functools import cache


@cache
def _listed() -> tuple[str, ...]:
    """The system's list of processors; of several on x86, the first, since the others are the same."""
    lines: list[str] = []
    alone = platform.machine() in ("x86_64", "i686")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if alone and not line.strip():
                    break
                lines.append(line.strip())
    except OSError:
        pass
    return tuple(lines)


def described(*wanted: str) -> dict[str, None]:
    """The lines of the system's list of processors that begin with one of the words, each once, in its order."""
    return {line: None for line in _listed() if line.partition(":")[0].strip() in wanted}
