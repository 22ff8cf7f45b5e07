"""How many cores a run takes.

A run that takes every core is the fastest for a large model on a quiet machine. For a small one it is the slowest: the
threads wait for each other longer than they compute, and as soon as the front or another process has a core, every run
waits for that core. So a process that serves nothing but small models computes on one thread. An only client leaves
the other cores idle while it waits: its runs may take them all (`spreading.py`).

The number is one for the whole process, except for the share of a thread inside of `all_cores`. It is chosen only in
processes that belong to the server (`own_process`), never in a program that has a server as a part.
"""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager, nullcontext

from furnace.models.served import ServedModel

SMALL_SECONDS = 0.0005
"""A run of one row that takes less than this on one thread is small."""


class _Choice:
    allowed = 0
    """The threads that this process may use; 0 when others decide."""
    large = False
    """Whether a large model has been served."""


def own_process(workers: int = 1) -> None:
    """This process is the server's: threads are chosen by its models, with a share of the cores for each worker."""
    from burn.backend.cpu.pool import default_threads, set_num_threads

    _Choice.allowed = max(1, default_threads() // workers)
    set_num_threads(_Choice.allowed)


def measured_alone(model: ServedModel) -> bool:
    """Whether a model is measured on one thread first: not when threads are not ours to choose, or others need all."""
    if not model.steady:
        _Choice.large = True
    return _Choice.allowed == 1 or (_Choice.allowed > 1 and not _Choice.large)


def changes() -> bool:
    """Whether there is more than one number of threads to choose from."""
    return _Choice.allowed > 1


def most() -> int:
    """How many threads a run may take."""
    return max(1, _Choice.allowed)


def give_back_memory() -> None:
    """What warming has used and let go of goes back to the system, in processes that belong to the server."""
    if not _Choice.allowed:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def use_one() -> None:
    """Compute on one thread until `settle`."""
    if not changes():
        return
    from burn.backend.cpu.pool import set_num_threads

    set_num_threads(1)


def all_cores() -> AbstractContextManager[None]:
    """A `with` block for a run that may take every core; it changes nothing where all runs do."""
    if _Choice.large or not changes():
        return nullcontext()
    from burn.backend.cpu.pool import share

    return share(_Choice.allowed)


def settle(seconds: float | None) -> bool:
    """Whether one thread is enough, by the time that a run of one row took on it; else all are used from now on."""
    from burn.backend.cpu.pool import set_num_threads

    if seconds is not None and seconds < SMALL_SECONDS:
        return True
    _Choice.large = True
    if changes():
        set_num_threads(_Choice.allowed)
    return False
