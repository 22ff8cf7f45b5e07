"""Work done by several threads, results in the order of the work.

Inputs are taken as results are wanted, at most `ahead` of them, so memory stays bounded. When the caller
stops, whether by leaving, by an error or by Ctrl-C, the threads are ended before control goes on.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def ordered(work: Callable[[A], R], inputs: Iterable[A], pool: ThreadPoolExecutor, ahead: int) -> Iterator[R]:
    """`map(work, inputs)` with the threads of `pool`, in the context of the caller."""
    context = contextvars.copy_context()
    pending: deque[Future[R]] = deque()
    try:
        for each in inputs:
            pending.append(pool.submit(context.copy().run, work, each))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
