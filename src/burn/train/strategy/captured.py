"""A captured function that tells the learner why it is not captured, in place of a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.capture import Compiled

Notice = Callable[[str], None]


class Captured(Compiled[Any]):
    """`burn.compile` with the notices of a learner."""

    def __init__(self, function: Callable[..., Any], what: str, notice: Notice) -> None:
        super().__init__(function, (), 0)
        self._what, self._tell = what, notice

    def _notice(self, reason: str) -> None:
        if reason not in self.warned:
            self.warned.add(reason)
            self._tell(f"the {self._what} runs without capture: {reason}")


def captured(function: Callable[..., Any], what: str, capture: bool, notice: Notice) -> Callable[..., Any]:
    """The function, captured if wanted."""
    return Captured(function, what, notice) if capture else function
