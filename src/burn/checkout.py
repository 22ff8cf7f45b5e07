"""The state of our own files: what was made by one state of the code is not taken for what another would make."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


@functools.cache
def state_of(folder: Path) -> str:
    """A hash of the state of the modules of a folder: the version of the package does not tell checkouts apart."""
    try:
        lines = sorted(_states(str(folder), ""))
    except OSError:
        return ""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _states(folder: str, inside: str) -> Iterator[str]:
    """A line for each module, with its size and the time of its last change."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                state = entry.stat()
                yield f"{inside}{entry.name} {state.st_size} {state.st_mtime_ns}"
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _states(entry.path, f"{inside}{entry.name}/")
