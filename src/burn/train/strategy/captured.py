"""A captured function that tells the learner why it is not captured, in place of a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.capture import compile

Notice = Callable[[str], None]


def captured(function: Callable[..., Any], what: str, capture: bool, notice: Notice) -> Callable[..., Any]:
    """The function, captured if wanted."""
    if not capture:
        return function
    made: Callable[..., Any] = compile(function, notice=lambda reason: notice(f"the {what} {reason}"))
    return made
