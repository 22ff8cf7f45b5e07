"""Answers on disk: one file of JSON in the folder of the kernel cache.

    {"format": 1, "machines": {"<processor and kernels>": {"<question>": "<answer>"}}}

Answers are read as data and compared with what a lowering offers, so a file that somebody else wrote can at worst make
a plan slower. Processes that write at once wait for each other, and each adds its answers to what it finds. A file
that cannot be read is ignored with a notice, and replaced by the next answers.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

NAME, LOCK = "tuning.json", "tuning.lock"
FORMAT = 1

MOST_MACHINES = 16
"""Processors and versions of kernels of which a file keeps answers; those that were written longest ago go first."""

LARGEST = 16 << 20

Machines = dict[str, dict[str, str]]


class TuningWarning(UserWarning):
    """Answers on disk that are not used, and why."""


class Store:
    """The answers of one machine in a file; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, machine: str) -> None:
        self.folder, self.machine = folder, machine

    @property
    def path(self) -> Path | None:
        """The file."""
        return None if self.folder is None else self.folder / NAME

    def load(self) -> dict[str, str]:
        """What is known of this machine."""
        return dict(self._machines().get(self.machine, {}))

    def add(self, found: Mapping[str, str]) -> None:
        """Keep answers. Failing to is no error: the next process measures again."""
        if found:
            self._change(lambda known: {**known, **found})

    def forget(self) -> None:
        """Drop what is known of this machine."""
        self._change(lambda known: {})

    def _change(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self.folder / LOCK):
                machines = self._machines()
                machines[self.machine] = change(machines.pop(self.machine, {}))
                for name in list(machines)[:-MOST_MACHINES]:
                    del machines[name]
                self._write({"format": FORMAT, "machines": machines})
        except OSError as error:
            _warn(
                f"{self.folder / NAME} cannot be written ({error.strerror or error}); its answers hold for this process"
            )

    def _machines(self) -> Machines:
        path = self.path
        if path is None:
            return {}
        try:
            if path.stat().st_size > LARGEST:
                raise ValueError(f"it has more than {LARGEST >> 20} MiB")
            return _checked(json.loads(path.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, RecursionError) as error:
            _warn(f"{path} is not used: {error}; the next answers replace it")
            return {}

    def _write(self, contents: Any) -> None:
        assert self.folder is not None
        unfinished = self.folder / f".unfinished-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            unfinished.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")
            os.replace(unfinished, self.folder / NAME)
        finally:
            with contextlib.suppress(FileNotFoundError):
                unfinished.unlink()


def _checked(contents: Any) -> Machines:
    """The machines of a file, if it is one of these."""
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise ValueError(f"it does not have the format {FORMAT}")
    machines = contents.get("machines")
    if not isinstance(machines, dict) or not all(isinstance(each, dict) for each in machines.values()):
        raise ValueError("it has no answers by machine")
    if not all(isinstance(text, str) for each in machines.values() for text in each.values()):
        raise ValueError("an answer is not a text")
    return machines


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait for other processes that write; where the system has no such locks, the last one wins."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        yield
        return
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _warn(what: str) -> None:
    warnings.warn(f"tuning: {what}", TuningWarning, stacklevel=4)
