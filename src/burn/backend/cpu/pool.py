"""One pool of threads for everything that computes on the CPU.

Kernels run on libgomp's team; without libgomp on a team of our own (`team.py`);
without POSIX threads one after the other. The pool decides who may use the team:

- one plan at a time: a plan that finds the team taken runs on its own thread, with the same result;
- only from the main thread and from threads that declare themselves by `serving_thread()`, because
  libgomp keeps a team for every thread that starts one;
- never from a thread that a fork carried over, whose team stayed behind in the parent: libgomp
  would wait for it for ever.

    BURN_POOL=own        threads of our own, even where libgomp is present
    BURN_POOL=libgomp    libgomp's where it is present (this is what happens anyway)
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import weakref
from collections.abc import Iterator
from functools import cache
from threading import get_ident
from typing import TYPE_CHECKING

from burn.backend.cpu import libgomp
from burn.backend.cpu.native import Context
from burn.errors import ArgumentError

if TYPE_CHECKING:
    from burn.backend.cpu.team import Team

MOST_THREADS = 1024
CHOICE = "BURN_POOL"


def _quota() -> int | None:
    """The cores that a container may use at once, rounded up; None where no limit is set."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # not Linux, an older hierarchy, or `max`
        return None


def default_threads() -> int:
    """`OMP_NUM_THREADS`, or as many threads as there are cores that this process may use."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), MOST_THREADS)
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = _quota()
    return max(1, min(cores, quota or cores, MOST_THREADS))


class Pool:
    """Who may run in parallel, on which threads. There is one a process: `pool()`.

    `use_libgomp=False` makes a pool with threads of its own even where libgomp is present.
    """

    def __init__(self, use_libgomp: bool = True) -> None:
        self._use_libgomp = use_libgomp
        self._threads = default_threads()
        # Reentrant: a plan cut short by Ctrl-C between two lines must not lock its own thread out.
        self._admission = threading.RLock()
        self._starting = threading.Lock()
        main = threading.main_thread().ident
        self._allowed: set[int] = set() if main is None else {main}
        self._inherited: int | None = None
        self._context: Context | None = None
        self.gomp: libgomp.Libgomp | None = None
        self._team: Team | None = None
        _pools.add(self)

    # The threads

    @property
    def threads(self) -> int:
        """How many threads an admitted plan runs on."""
        return self._threads

    @threads.setter
    def threads(self, count: int) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
            raise ArgumentError(f"set_num_threads: {count!r} is not a number of threads; write 1 to {MOST_THREADS}")
        with self._admission:  # no plan is under way
            if self._team is not None and self._inherited is None:
                self._team.grow(count)
            self._threads = count

    @property
    def kind(self) -> str:
        """What runs the threads: `libgomp`, `own` or `serial`."""
        self.context()
        if self.gomp is not None:
            return "libgomp"
        return "serial" if self._team is None else "own"

    def context(self) -> Context:
        """The functions that native code calls to run on the team; loads them on first use."""
        if self._context is None:
            with self._starting:
                if self._context is None:
                    self._context = self._start()
        return self._context

    def _start(self) -> Context:
        self.gomp = libgomp.load() if self._use_libgomp else None
        if self.gomp is not None:
            at = self.gomp.addresses
            return Context(
                gomp_parallel=at["GOMP_parallel"],
                omp_get_thread_num=at["omp_get_thread_num"],
                omp_get_num_threads=at["omp_get_num_threads"],
                omp_get_max_threads=at["omp_get_max_threads"],
                omp_set_num_threads=at["omp_set_num_threads"],
            )
        from burn.backend.cpu import team

        if not team.supported() or self._inherited is not None:
            self._threads = 1
            return Context()
        self._team = team.Team()
        self._team.grow(self._threads)
        return Context(launch=self._team.launch, team=self._team.address)

    # Admission

    def admit(self) -> int:
        """Take the team for the calling thread: the number of threads, or 1 where it may not have it.

        After an answer above 1 the caller must call `leave`.
        """
        threads = self._threads
        if threads == 1 or get_ident() not in self._allowed or not self._admission.acquire(False):
            return 1
        return threads

    def leave(self) -> None:
        """Give the team back."""
        self._admission.release()

    def serving_thread(self) -> contextlib.AbstractContextManager[None]:
        """Let the calling thread use the team inside a `with` block: for threads that serve requests."""
        thread = get_ident()
        if thread in self._allowed or thread == self._inherited or (self._inherited and self._team is not None):
            return _UNCHANGED
        return self._declared(thread)

    @contextlib.contextmanager
    def _declared(self, thread: int) -> Iterator[None]:
        self._allowed.add(thread)
        try:
            yield
        finally:
            self._allowed.discard(thread)

    def _after_fork_in_child(self) -> None:
        self._admission = threading.RLock()
        self._starting = threading.Lock()
        self._allowed = set()
        self._inherited = get_ident()
        if self.gomp is not None:
            self.gomp.forbid_teams()  # libraries that start regions by themselves would wait for ever too

    @property
    def forked(self) -> bool:
        """Whether this process was forked from one that had this pool."""
        return self._inherited is not None


_UNCHANGED = contextlib.nullcontext()
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in _pools:
        each._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


@cache
def pool() -> Pool:
    """The pool of this process."""
    chosen = os.environ.get(CHOICE) or "libgomp"
    if chosen not in ("libgomp", "own"):
        raise ArgumentError(f"{CHOICE}: {chosen!r} is no pool of threads; write {CHOICE}=own or {CHOICE}=libgomp")
    return Pool(use_libgomp=chosen == "libgomp")


def set_num_threads(count: int) -> None:
    """Run kernels of `Cpu()` on `count` threads."""
    pool().threads = count


def get_num_threads() -> int:
    """How many threads `Cpu()` computes on."""
    return pool().threads


def serving_thread() -> contextlib.AbstractContextManager[None]:
    """A `with` block in which the calling thread may run plans in parallel."""
    return pool().serving_thread()


def describe() -> dict[str, str]:
    """What the engine runs on, for `burn env` and bug reports."""
    from burn.backend.cpu.cache import default_cache
    from burn.backend.cpu.features import host_features
    from burn.backend.cpu.settings import settings

    current, host, told = pool(), host_features(), settings()
    features = told.target
    lacking = f", and {', '.join(features.lacking)} is not here" if features.lacking else ""
    facts = {
        "cpu": f"{host.name}, {host.level}, {host.vector_bits}-bit vectors",
        "instruction sets": f"{told.features}: {features.level}, {features.vector_bits}-bit vectors{lacking}",
        "threads": f"{current.threads} ({current.kind})" + (", forked: serial" if current.forked else ""),
        "libgomp": "not found" if current.gomp is None else current.gomp.path,
        "kernel cache": str(default_cache().directory or "off"),
    }
    others = [path for path in libgomp.mapped() if current.gomp is not None and path != current.gomp.path]
    if others:
        facts["other libgomp"] = f"{', '.join(others)}: its threads compete with ours"
    return facts
