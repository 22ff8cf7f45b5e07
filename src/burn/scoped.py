"""A value that code further down asks for: one for each thread, another one inside of a `with` block."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Scoped(threading.local, Generic[T]):
    """`value` is the same in every thread to begin with."""

    def __init__(self, value: T) -> None:
        self.value = value

    @contextlib.contextmanager
    def holds(self, value: T) -> Iterator[Any]:
        """Another value in this thread, inside of the block."""
        before, self.value = self.value, value
        try:
            yield value
        finally:
            self.value = before
