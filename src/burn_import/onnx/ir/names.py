"""Names that are used once: the supply that a graph shares with its bodies."""

from __future__ import annotations


class Names:
    """The names taken so far, and new ones made from a hint."""

    __slots__ = ("_taken", "_counts")

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def take(self, name: str) -> str:
        """Note that `name` is used, as a file wrote it."""
        self._taken.add(name)
        return name

    def fresh(self, hint: str) -> str:
        """`hint` itself when it is free, else `hint_1`, `hint_2`, ..."""
        hint = hint or "value"
        name = hint
        count = self._counts.get(hint, 0)
        while name in self._taken:
            count += 1
            name = f"{hint}_{count}"
        self._counts[hint] = count
        self._taken.add(name)
        return name
