"""A captured function that tells the learner that it is captured, or why it is not, in place of a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.capture import Compiled, compile

Notice = Callable[[str], None]


def captured(function: Callable[..., Any], what: str, capture: bool, notice: Notice) -> Callable[..., Any]:
    """The function, captured if wanted. Each thing is told once."""
    if not capture:
        return function
    # Batches have one size, and the last of an epoch another one: each has a capture of its own.
    made: Compiled[..., Any] = compile(function, notice=lambda reason: notice(f"the {what} {reason}"), dynamic=False)
    made.on_first_replay = lambda call: notice(f"the {what} is captured: replayed from step {call} on")
    return made


def once(notice: Notice) -> Notice:
    """A notice that passes each line on once, whoever says it."""
    said: set[str] = set()

    def tell(line: str) -> None:
        if line not in said:
            said.add(line)
            notice(line)

    return tell
