"""Long work that makes many objects and drops few: the collector of cycles waits until it has ended.

It looks through all objects again and again while their number grows, which takes a sixth of the time of compiling a
network. What becomes garbage meanwhile is collected afterwards.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0
_was_on = False


@contextmanager
def collector_waits() -> Iterator[None]:
    """A block in which no cycles are collected, in any thread."""
    global _waiting, _was_on
    with _lock:
        if not _waiting:
            _was_on = gc.isenabled()
            gc.disable()
        _waiting += 1
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1
            if not _waiting and _was_on:
                gc.enable()
