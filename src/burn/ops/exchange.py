"""What moved to `burn_import`, found where it is asked for: the only place in which the framework knows that package.

Files that were generated earlier import `quantized` and others from `burn.tensor`, and stored programs name rows that
exist for exchange formats only. Neither costs anything where nobody asks.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from burn.ops.op import TABLE, Op

MOVED = frozenset(
    "classical host normalization optimisation quantized runtime_attention text transformer trees".split()
)
"""The modules of `burn.tensor` that are modules of `burn_import.functions` now."""


def moved_module(name: str) -> ModuleType:
    """The module that was `burn.tensor.<name>`."""
    try:
        package: Any = import_module("burn_import.functions")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "burn_import":
            raise
        raise ImportError(
            f"burn.tensor.{name} is burn_import.functions.{name} now, and burn_import is not installed; "
            "install all of burn-dl, or write the model to a file again with burn-import"
        ) from None
    return import_module(f"{package.__name__}.{name}")


def find_row(name: str) -> Op | None:
    """The row of that name; None where there is none, in `burn_import` neither."""
    found = TABLE.get(name)
    if found is None:
        try:
            import burn_import.rows  # noqa: F401
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "burn_import":
                raise
        found = TABLE.get(name)
    return found
