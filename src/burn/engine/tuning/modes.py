"""Whether answers are used, and whether unknown ones are found out: `BURN_TUNE`, or `using(...)` for a while."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from burn.errors import ArgumentError

OFF, REMEMBERED, ON = "off", "remembered", "on"
MODES = (OFF, REMEMBERED, ON)
VARIABLE = "BURN_TUNE"


class _Chosen(threading.local):
    mode: str | None = None


_chosen = _Chosen()


def mode() -> str:
    """The mode of this thread: the one it is `using`, else what the environment says."""
    return _chosen.mode or checked(os.environ.get(VARIABLE) or REMEMBERED, VARIABLE)


def checked(name: str, where: str) -> str:
    """A mode that exists."""
    if name not in MODES:
        raise ArgumentError(f"{where}: {name!r} is not a mode; write one of {', '.join(MODES)}")
    return name


@contextlib.contextmanager
def using(name: str) -> Iterator[None]:
    """Another mode in this thread, for plans that are made inside."""
    before, _chosen.mode = _chosen.mode, checked(name, "tuning")
    try:
        yield
    finally:
        _chosen.mode = before
