"""Reading the items of a batch, here or in processes of their own.

Processes are spawned, never forked: a forked child inherits locks and threads in a state that nobody can
repair. Each gets the dataset once; afterwards only numbers go there, and items come back.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Any

from burn.data.dataloader.errors import LoadingError, batch_error, described, item_error
from burn.data.dataset.dataset import Dataset
from burn.errors import ArgumentError


def worker_name() -> str:
    """Who is at work: a process, a thread of a loader, or the caller."""
    if multiprocessing.parent_process() is not None and _dataset is not None:
        return f"worker process {os.getpid()}"
    name = threading.current_thread().name
    return f"worker {name.rpartition('_')[2]}" if name.startswith("burn-loader") else "the calling thread"


def fetch(dataset: Dataset[Any], indices: Sequence[int]) -> list[Any]:
    """The items of `indices`. An error names the item it belongs to."""
    if type(dataset).get_many is not Dataset.get_many:
        try:
            items = dataset.get_many(indices)
            return items if isinstance(items, list) else list(items)
        except Exception as error:
            failed = error
        # Which of them it was is found by asking for each alone.
        for index in indices:
            try:
                dataset.get(index)
            except Exception as error:
                raise item_error(index, worker_name(), error) from error
        raise batch_error(indices, worker_name(), failed) from failed
    found = []
    for index in indices:
        try:
            found.append(dataset.get(index))
        except Exception as error:
            raise item_error(index, worker_name(), error) from error
    return found


# In a worker process

_dataset: Dataset[Any] | None = None
_epochs: dict[int, Dataset[Any]] = {}


def _begin(payload: bytes) -> None:
    global _dataset
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent ends us
    _dataset = pickle.loads(payload)


def _fetch_there(epoch: int, indices: Sequence[int]) -> list[Any]:
    assert _dataset is not None
    if epoch not in _epochs:
        _epochs.clear()
        _epochs[epoch] = _dataset.epoch(epoch)
    return fetch(_epochs[epoch], indices)


# In the parent


@contextlib.contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here do not hear Ctrl-C, not even before they run code of ours: they inherit the mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would undo the mask when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Processes:
    """Worker processes that hold a dataset. They are started when the first items are asked for."""

    def __init__(self, dataset: Dataset[Any], count: int) -> None:
        self.count = count
        try:
            self._payload = pickle.dumps(dataset, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise ArgumentError(
                f"dataloader: the dataset cannot be sent to processes ({error}); mappers must be functions of a "
                "module, not lambdas or inner functions; or leave out use_processes()"
            ) from error
        self._lock = threading.Lock()
        self._executor: ProcessPoolExecutor | None = None

    def fetch(self, epoch: int, indices: Sequence[int]) -> list[Any]:
        """Items from one of the processes."""
        with self._lock:
            if self._executor is None:
                context = multiprocessing.get_context("spawn")
                self._executor = ProcessPoolExecutor(self.count, context, _begin, (self._payload,))
            executor = self._executor
        try:
            with _deaf_children():
                future = executor.submit(_fetch_there, epoch, list(indices))
            return future.result()
        except BrokenProcessPool as error:
            self.close()
            raise LoadingError(
                "dataloader: a worker process ended before its items were there; a program that starts processes "
                'needs `if __name__ == "__main__":` around what it runs'
            ) from error
        except LoadingError:
            raise
        except Exception as error:
            raise LoadingError(
                f"dataloader: items could not be brought back from a worker process: {described(error)}"
            ) from error

    def close(self) -> None:
        """End the processes, after the items they are reading."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
