"""Coroutines without tasks: the first step is taken at once, the next ones as soon as what was awaited is there.

A task begins in the next turn of the loop and costs as much as a small request. What is driven here may await futures
and tasks; it has no task of its own, so `asyncio.timeout` and `asyncio.current_task` are not for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Driven:
    """Drives one coroutine to its end, then calls `done` with its value, or None and the error."""

    __slots__ = ("_coroutine", "_done", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Any, BaseException | None], None],
    ) -> None:
        self._loop = loop
        self._coroutine = coroutine
        self._done = done
        self.step()

    def step(self, _: Any = None) -> None:
        """To the next await."""
        try:
            awaited = self._coroutine.send(None)
        except StopIteration as end:
            self._done(end.value, None)
        except BaseException as error:
            self._done(None, error)
        else:
            if awaited is None:  # a bare `yield`, as in `asyncio.sleep(0)`
                self._loop.call_soon(self.step)
            else:
                awaited._asyncio_future_blocking = False
                awaited.add_done_callback(self.step)
