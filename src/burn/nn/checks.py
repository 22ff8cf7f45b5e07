"""Checks that configs share: every fault is gathered, then raised as one error before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from burn.errors import ArgumentError


def too_small(least: int, **sizes: int | Sequence[int] | None) -> list[str]:
    """A sentence for each size (or sequence of sizes) that is below `least`."""
    found = []
    for name, size in sizes.items():
        values: Sequence[int] = [size] if isinstance(size, int) else size or []
        if any(value < least for value in values):
            found.append(f"{name} must be {least} or more, got {shown(size)}")
    return found


def shown(value: Any) -> str:
    """Sizes as their author writes them."""
    return str(list(value)) if isinstance(value, Sequence) else str(value)


def refuse(config: object, faults: Iterable[str]) -> None:
    """Raise one error that lists the faults, if there are any."""
    listed = list(faults)
    if listed:
        raise ArgumentError(f"{type(config).__name__}: {'; '.join(listed)}")
