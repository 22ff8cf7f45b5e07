"""Things that Python code does inside of a captured function, each as plain code that runs with and without capture.

A habit is a function that gives the function to be captured, what changes before each call (`between`), and what can
be seen from outside (`seen`). `replays` says that captures must be replayed; `notice` is what a notice must say
where it runs plainly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CALLS = 9


@dataclass
class Habit:
    """One thing that code does."""

    name: str
    make: Callable[[], Any]
    replays: bool
    notice: str


HABITS: dict[str, Habit] = {}


def habit(replays: bool = True, notice: str = "") -> Callable[[Any], Any]:
    """Add a function to the table; its name is what it shows."""

    def add(make: Callable[[], Any]) -> Any:
        assert make.__name__ not in HABITS, make.__name__
        HABITS[make.__name__] = Habit(make.__name__, make, replays and not notice, notice)
        return make

    return add


def nothing(call: int) -> None:
    """Nothing changes between calls."""


def at(*calls: int) -> Callable[[Callable[[], Any]], Callable[[int], None]]:
    """Something that is done before some calls."""

    def wrap(function: Callable[[], Any]) -> Callable[[int], None]:
        def between(call: int) -> None:
            if call in calls:
                function()

        return between

    return wrap
