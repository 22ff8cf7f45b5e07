"""Several kernels compiled at once: Python writes the next one while LLVM compiles the one before.

LLVM works outside of the interpreter's lock, one kernel at a time (llvmlite has a lock of its own), so the time of the
two overlaps. On a terminal a line tells how far it is, once it takes longer than people like to wait.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from burn.collecting import collector_waits

if TYPE_CHECKING:
    from concurrent.futures import Future

PATIENCE = 2.0
"""Seconds without a word."""

AHEAD = 8
"""Kernels that may wait for LLVM: their text takes memory."""

Write = Callable[[], str]
Assemble = Callable[[str], bytes]


def compile_together(
    kernels: Mapping[str, Write], assemble: Assemble, keep: Callable[[str, bytes], Any]
) -> dict[str, bytes]:
    """The object of each kernel, by the name it is given under; each is given to `keep` as soon as it is there."""
    made: dict[str, bytes] = {}
    waiting: list[tuple[str, Future[bytes]]] = []
    progress = _Progress(len(kernels))

    def finish(most: int) -> None:
        while len(waiting) > most or (waiting and waiting[0][1].done()):
            name, future = waiting.pop(0)
            made[name] = future.result()
            keep(name, made[name])
            progress.tell(len(made))

    if len(kernels) == 1:
        return {name: _kept(keep, name, assemble(write())) for name, write in kernels.items()}
    from concurrent.futures import ThreadPoolExecutor

    with collector_waits(), ThreadPoolExecutor(1, thread_name_prefix="burn-compile") as llvm:
        try:
            for name, write in kernels.items():
                waiting.append((name, llvm.submit(assemble, write())))
                finish(AHEAD)
            finish(0)
        except BaseException:
            llvm.shutdown(wait=True, cancel_futures=True)
            raise
        finally:
            progress.end()
    return made


def _kept(keep: Callable[[str, bytes], Any], name: str, data: bytes) -> bytes:
    keep(name, data)
    return data


class _Progress:
    """A line on a terminal, from `PATIENCE` on."""

    def __init__(self, count: int) -> None:
        self._count, self._begun, self._shown = count, time.monotonic(), False

    def tell(self, done: int) -> None:
        if time.monotonic() - self._begun < PATIENCE or sys.stderr is None or not sys.stderr.isatty():
            return
        self._shown = True
        sys.stderr.write(f"\rburn: compiling kernels, {done} of {self._count} ")
        sys.stderr.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
            sys.stderr.flush()
