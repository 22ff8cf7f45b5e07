"""One request on its way through the engine room."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from furnace.datatypes import Array

Key = tuple[Any, ...]


class Job:
    """Inputs in the order of the signature, and a place for what comes of them.

    `done` is called once, on the worker's thread, when `outputs` or `error` is set; the front puts a hop to its own
    event loop there. It is None for a job that never leaves the loop. Setting `cancelled` lets the worker skip a job
    that nobody waits for any more.
    """

    __slots__ = (
        "batch_rows", "cancelled", "compute_seconds", "deadline", "done", "enqueued", "error", "inputs", "key",
        "outputs", "queue_seconds", "rows",
    )  # fmt: skip

    def __init__(
        self,
        inputs: Sequence[Array | None],
        rows: int,
        key: Key,
        done: Callable[[Job], None] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.inputs = inputs
        self.rows = rows
        self.key = key
        self.done = done
        self.deadline = deadline
        self.enqueued = time.perf_counter()
        self.cancelled = False
        self.outputs: list[Any] | None = None
        self.error: BaseException | None = None
        self.queue_seconds = 0.0
        self.compute_seconds = 0.0
        self.batch_rows = 0

    def expired(self, now: float) -> bool:
        """Whether the client's time is over."""
        return self.deadline is not None and now >= self.deadline
