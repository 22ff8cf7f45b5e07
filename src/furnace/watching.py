"""`--reload`: files of models are looked at every second, and a model whose file has changed is loaded again.

A new file is loaded and warmed beside the old model, then takes its place. While a file is being written it keeps
changing, so it is taken when it has been the same twice. A file that cannot be loaded is reported; the old model stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

log = logging.getLogger("furnace")

SECONDS = 1.0
Mark = tuple[int, int]


def watch(
    files: Callable[[], dict[str, Path]], changed: Callable[[str, Path], Awaitable[None]]
) -> Coroutine[Any, Any, None]:
    """Call `changed` for each file that is new or not as it was at this call; `files` is asked each time."""
    return _watched(files, changed, {key: _mark(path) for key, path in files().items()})


async def _watched(
    files: Callable[[], dict[str, Path]],
    changed: Callable[[str, Path], Awaitable[None]],
    known: dict[str, Mark | None],
) -> None:
    pending: dict[str, Mark | None] = {}
    while True:
        await asyncio.sleep(SECONDS)
        for key, path in files().items():
            mark = _mark(path)
            if mark is None or mark == known.get(key):
                pending.pop(key, None)
                continue
            if pending.get(key) != mark:
                pending[key] = mark
                continue
            known[key] = mark
            pending.pop(key)
            log.info("%s has changed", path)
            await changed(key, path)


def _mark(path: Path) -> Mark | None:
    marks = [_state(path), _state(path.with_suffix(".json"))]
    return None if marks[0] is None else (hash(marks[0]), hash(marks[1]))


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
