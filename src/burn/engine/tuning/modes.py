"""Whether answers are used, and whether unknown ones are found out: `BURN_TUNE`, or `using(...)` for a while."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from burn.errors import ArgumentError
from burn.scoped import Scoped

OFF, REMEMBERED, ON = "off", "remembered", "on"
MODES = (OFF, REMEMBERED, ON)
VARIABLE = "BURN_TUNE"


_chosen: Scoped[str | None] = Scoped(None)


def mode() -> str:
    """The mode of this thread: the one it is `using`, else what the environment says."""
    return _chosen.value or checked(os.environ.get(VARIABLE) or REMEMBERED, VARIABLE)


def checked(name: str, where: str) -> str:
    """A mode that exists."""
    if name not in MODES:
        raise ArgumentError(f"{where}: {name!r} is not a mode; write one of {', '.join(MODES)}")
    return name


def using(name: str) -> AbstractContextManager[object]:
    """Another mode in this thread, for plans that are made inside a `with` block."""
    return _chosen.holds(checked(name, "tuning"))
