"""Generators: one list of outputs after the other, each made off the event loop and only when the last one was taken.

A stream has a place in the model's queue until it ends, so their number is bounded as that of all requests is. The
steps of several streams take turns on one thread, and with the runs of other models. A stream that nobody reads makes
no steps; one whose client has gone is closed after the step under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakKeyDictionary

from furnace.datatypes import Array
from furnace.engine.worker import GATE, Worker, failure
from furnace.errors import BadRequest, FurnaceError

_THREADS: WeakKeyDictionary[Worker, ThreadPoolExecutor] = WeakKeyDictionary()
_END = object()


class Stream:
    """The outputs of one request, step by step.

    Overloaded when the model's queue is full, BadRequest for models that do not stream. Ends by itself, by `aclose`, or
    when nobody holds it any more.
    """

    def __init__(self, worker: Worker, inputs: Sequence[Array | None]) -> None:
        self._open = False
        if worker.model.stream is None:
            raise BadRequest(f"model {worker.model.name!r} gives its outputs at once and does not stream; use /predict")
        self._worker = worker
        self._inputs = inputs
        self._thread = _thread(worker)
        self._steps: Iterator[Any] | None = None
        worker.reserve()
        self._open = True

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> list[Any]:
        if not self._open:
            raise StopAsyncIteration
        try:
            outputs = await asyncio.get_running_loop().run_in_executor(self._thread, self._step)
        except FurnaceError as error:
            self._end(error.code)
            raise
        if outputs is _END:
            self._end("success")
            raise StopAsyncIteration
        return list(outputs)

    async def aclose(self) -> None:
        """Make no more steps."""
        self._end("CANCELLED")

    def _step(self) -> Any:
        try:
            with GATE:
                if self._steps is None:
                    assert self._worker.model.stream is not None
                    self._steps = iter(self._worker.model.stream(self._inputs))
                return next(self._steps, _END)
        except Exception as error:
            raise failure(error) from error

    def _end(self, outcome: str) -> None:
        if self._open:
            self._open = False
            self._worker.give_back(outcome)
            self._thread.submit(self._close)

    def _close(self) -> None:
        if self._steps is not None and hasattr(self._steps, "close"):
            self._steps.close()

    def __del__(self) -> None:
        if self._open:
            self._open = False
            self._worker.give_back("CANCELLED")


def _thread(worker: Worker) -> ThreadPoolExecutor:
    found = _THREADS.get(worker)
    if found is None:
        name = f"furnace-{worker.model.name}-stream"
        found = _THREADS[worker] = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
    return found
