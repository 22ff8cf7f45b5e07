"""`Ignored`: a field that module operations leave alone."""

from __future__ import annotations

from typing import Any


class Ignored:
    """Anything inside a module that is neither visited, moved nor recorded. `value` reads it.

    >>> from burn.module import Ignored
    >>> class Counter(burn.Module):
    ...     seen: Ignored
    >>> Counter(Ignored(["a", "b"])).seen.value
    ['a', 'b']
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ignored({self.value!r})"
