"""The worker threads: POSIX threads that run a loop written in LLVM IR (`team_code.py`) and never touch Python.

They live as long as the process, asleep while there is nothing to do. A run of a plan hires those that are free, so
several runs go on at once, each with threads of its own.
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from functools import cache

from burn.backend.cpu.native import keep_for_ever, native

MOST_THREADS = 1024

BRIEF = 3e-5
"""Seconds that a worker which has to share its core looks for work before it sleeps."""
PATIENT = 1.2e-3
"""Seconds that others look: small kernels come in between, and the Python between two plans."""
CALLER = 60e-6
"""Seconds that a caller looks for the end of chunks that others have begun. While it sleeps they may have its core."""

QUICK = 2e-4
"""Seconds that chunks which are taken together may last; with slower ones fewer are taken."""
TURN = 1e-3
"""Seconds of work after which a worker looks whether it lost its core meanwhile."""

_LINE = 64
_LOCK_BYTES = 256
"""More than a mutex or a condition variable takes on any system."""


class _Share(ctypes.Structure):
    _fields_ = (
        ("ticket", ctypes.c_int64),
        ("sleeps", ctypes.c_int64),
        ("_padding", ctypes.c_int64 * 6),
        ("job", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("next", ctypes.c_void_p),
        ("worker", ctypes.c_int64),
        ("team", ctypes.c_void_p),
        ("_more_padding", ctypes.c_int64 * 3),
        ("resting", ctypes.c_int64 * 16),
    )


class _Job(ctypes.Structure):
    _fields_ = (
        ("kernel", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("extent", ctypes.c_int64),
        ("chunks", ctypes.c_int64),
        ("shares", ctypes.c_int64),
        ("_padding", ctypes.c_int64 * 3),
        ("finished", ctypes.c_int64),
        ("_more_padding", ctypes.c_int64 * 7),
        ("share", _Share),
    )


class _Place(ctypes.Structure):
    _fields_ = (("share", _Share), ("job", _Job))


class _Team(ctypes.Structure):
    _fields_ = (
        ("free", ctypes.c_int64 * 16),
        ("words", ctypes.c_int64),
        ("lock", ctypes.c_void_p),
        ("condition", ctypes.c_void_p),
        ("brief", ctypes.c_int64),
        ("patient", ctypes.c_int64),
        ("caller", ctypes.c_int64),
        ("quick", ctypes.c_int64),
        ("turn", ctypes.c_int64),
        ("_padding", ctypes.c_int64 * 8),
        ("places", _Place * MOST_THREADS),
    )


@cache
def _pace() -> tuple[float, float]:
    """How often a thread can look for work in a second, and how far the clock of native code goes in one."""
    look = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(native().loaded.addresses["look"])
    times = []
    for _ in range(7):
        before = time.perf_counter()
        ticks = look(1000)
        times.append((time.perf_counter() - before, ticks))
    seconds, ticks = min(times)
    return 1000 / seconds, ticks / seconds


class Team:
    """Worker threads and the memory that they share with those who hire them."""

    def __init__(self) -> None:
        self._addresses = native().loaded.addresses
        self._system = ctypes.CDLL(None)
        self._growing = threading.Lock()
        memory = ctypes.create_string_buffer(ctypes.sizeof(_Team) + _LINE + 2 * _LOCK_BYTES)
        keep_for_ever(memory)
        start = -(-ctypes.addressof(memory) // _LINE) * _LINE
        self._team = _Team.from_address(start)
        lock = start + ctypes.sizeof(_Team)
        self._team.lock, self._team.condition = lock, lock + _LOCK_BYTES
        self._system.pthread_mutex_init(ctypes.c_void_p(lock), None)
        self._system.pthread_cond_init(ctypes.c_void_p(lock + _LOCK_BYTES), None)
        looks, ticks = _pace()
        self._team.brief, self._team.patient = int(looks * BRIEF), int(looks * PATIENT)
        self._team.caller = int(looks * CALLER)
        self._team.quick, self._team.turn = int(ticks * QUICK), int(ticks * TURN)
        self._workers = 0

    @property
    def address(self) -> int:
        """The address of the team, for native code."""
        return ctypes.addressof(self._team)

    @property
    def size(self) -> int:
        """The number of threads, with a caller."""
        return self._workers + 1

    def grow(self, threads: int) -> int:
        """Have at least `threads` threads, with a caller; says how many there are. Runs may be under way."""
        with self._growing:
            # Signals belong to the interpreter's threads: workers inherit a mask that blocks them all.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                while self.size < threads and self._start(self._workers):
                    self._workers += 1
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return self.size

    def _start(self, number: int) -> bool:
        """Start a worker and offer it; False where the system gives no more threads."""
        share = self._team.places[number].share
        share.worker, share.team = number, self.address
        handle, where = ctypes.c_void_p(), ctypes.c_void_p(ctypes.addressof(share))
        work = ctypes.c_void_p(self._addresses["work"])
        if self._system.pthread_create(ctypes.byref(handle), None, work, where) != 0:
            return False
        self._system.pthread_detach(handle)
        self._team.words = number // 64 + 1
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._addresses["offer"])(self.address, where)
        return True
