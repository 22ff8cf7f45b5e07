"""Who computes on how many threads.

A run of a plan has the threads of its caller's share: all that the process uses, or fewer inside of `share`. It hires
workers of the one team (`team.py`) while it runs; a run that finds none free computes on its own thread, with the same
result. So any thread may run plans, several at once, and none waits for another.

In a forked child there are no workers: plans run on their callers until `set_num_threads` asks for more.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from functools import cache
from time import monotonic

from burn.backend.cpu.cores import usable_cores
from burn.backend.cpu.native import Context
from burn.backend.cpu.team import MOST_THREADS, Team
from burn.backend.cpu.team_code import has_threads
from burn.errors import ArgumentError
from burn.scoped import Scoped

LOOK_AGAIN_SECONDS = 1.0
"""How long an answer about the cores of this process holds."""


def _asked() -> int | None:
    """The number of threads that the environment asks for."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(first), MOST_THREADS) if first.isdecimal() and int(first) > 0 else None


def default_threads() -> int:
    """`OMP_NUM_THREADS`, or as many threads as there are cores that this process may use."""
    return _asked() or min(usable_cores(), MOST_THREADS)


class Pool:
    """The threads of `Cpu()`. There is one a process: `pool()`."""

    def __init__(self) -> None:
        self._threads = default_threads()
        self._given = MOST_THREADS
        self._look_again = float("inf") if _asked() else monotonic() + LOOK_AGAIN_SECONDS
        self._share = Scoped(0)
        """The threads of the calling thread's runs; 0 for all."""
        self._starting = threading.Lock()
        self._context: Context | None = None
        self._team: Team | None = None
        self.forked = False
        """Whether this process was forked from one that had this pool and has not asked for threads since."""
        _pools.add(self)

    @property
    def threads(self) -> int:
        """How many threads a plan of the calling thread is made for."""
        return self._share.value or self._threads

    @threads.setter
    def threads(self, count: int) -> None:
        _check("set_num_threads", count)
        with self._starting:
            self._threads, self._given, self._look_again, self.forked = count, MOST_THREADS, float("inf"), False
            if self._context is not None:
                self._grow(self._context)

    @contextlib.contextmanager
    def share(self, threads: int) -> Iterator[None]:
        """Let the plans that the calling thread runs inside have so many threads, whatever others have."""
        _check("share", threads)
        with self._share.holds(threads):
            if threads > self._threads and not self.forked:
                with self._starting:
                    if self._context is not None:
                        self._grow(self._context, threads)
            yield

    def running(self) -> int:
        """How many threads a run of the calling thread may have now."""
        if monotonic() > self._look_again:
            self._look_again = monotonic() + LOOK_AGAIN_SECONDS
            self._given = usable_cores()
        return min(self._share.value or self._threads, self._given)

    @property
    def kind(self) -> str:
        """What runs the threads: `own`, or `serial` where there is nobody but the caller."""
        return "own" if self.context().team else "serial"

    def context(self) -> Context:
        """What native code finds the team by; starts it on first use."""
        if self._context is None:
            with self._starting:
                if self._context is None:
                    context = Context()
                    self._grow(context, max(self._threads, self._share.value))
                    self._context = context
        return self._context

    def _grow(self, context: Context, threads: int = 0) -> None:
        """Have threads enough, where the system gives them. The caller holds the lock."""
        if not has_threads():
            self._threads = 1
        elif not self.forked:
            if self._team is None:
                self._team = Team()
            self._team.grow(max(self._threads, threads))
            context.team = self._team.address

    def _after_fork_in_child(self) -> None:
        """The workers stayed behind in the parent, and somebody may have held the lock there."""
        self._starting = threading.Lock()
        self._team, self.forked = None, True
        if self._context is not None:
            self._context.team = None


def _check(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise ArgumentError(f"{name}: {count!r} is not a number of threads; write 1 to {MOST_THREADS}")


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in _pools:
        each._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


@cache
def pool() -> Pool:
    """The pool of this process."""
    return Pool()


def set_num_threads(count: int) -> None:
    """Run kernels of `Cpu()` on `count` threads. Runs that are under way keep those that they have.

    >>> before = burn.get_num_threads()
    >>> burn.set_num_threads(1)
    >>> burn.get_num_threads()
    1
    >>> burn.set_num_threads(before)
    """
    pool().threads = count


def get_num_threads() -> int:
    """How many threads `Cpu()` computes on.

    >>> burn.get_num_threads() >= 1
    True
    """
    return pool().threads


def share(threads: int) -> contextlib.AbstractContextManager[None]:
    """A `with` block in which the calling thread runs plans on so many threads: a server's model has its own share."""
    return pool().share(threads)


def describe() -> dict[str, str]:
    """What the engine runs on, for `burn env` and bug reports."""
    from burn.backend.cpu.cache import default_cache
    from burn.backend.cpu.features import host_features
    from burn.backend.cpu.settings import settings

    current, host, told = pool(), host_features(), settings()
    features = told.target
    lacking = f", and {', '.join(features.lacking)} is not here" if features.lacking else ""
    alone = ", forked: one until set_num_threads" if current.forked else ""
    return {
        "cpu": f"{host.name}, {host.level}, {host.vector_bits}-bit vectors",
        "instruction sets": f"{told.features}: {features.level}, {features.vector_bits}-bit vectors{lacking}",
        "threads": f"{current.threads} ({current.kind}{alone})",
        "kernel cache": str(default_cache().directory or "off"),
    }
