"""Who waits for an answer, as far as the engine has to know."""

from __future__ import annotations

from collections.abc import Callable


class Caller:
    """Whether nobody else can ask beside this one (`alone`), and whether it still waits."""

    __slots__ = ("_left", "alone", "gone")

    def __init__(self) -> None:
        self.gone = False
        self.alone = False
        self._left: list[Callable[[], None]] = []

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call this when it leaves before it has its answer."""
        self._left.append(call)

    def leave(self) -> None:
        """Tell everyone who asked that it is gone."""
        self.gone = True
        for call in self._left:
            call()
