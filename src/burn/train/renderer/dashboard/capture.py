"""Stray output: what the program prints while the dashboard has the terminal goes to the log pane, and is kept.

The file descriptors are turned, not `sys.stdout`, so C libraries, warnings, logging handlers made earlier and worker
processes are caught too. What was caught is written to where it was meant for when the dashboard closes.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import tempfile
import threading
from collections.abc import Callable

BLOCK = 65536


class OutputCapture:
    """Turns descriptors 1 and 2, those of them that are terminals, into a pipe, from `start` to `stop`."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._saved: dict[int, int] = {}
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._read = self._write = -1
        self._wake: tuple[int, int] = (-1, -1)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to catch."""
        self._read, self._write = os.pipe()
        self._wake = os.pipe()
        _flush()
        for descriptor in (1, 2):
            if os.isatty(descriptor):
                self._saved[descriptor] = os.dup(descriptor)
                os.dup2(self._write, descriptor)
        self._thread = threading.Thread(target=self._pump, name="dashboard-output", daemon=True)
        self._thread.start()

    def terminal(self) -> int:
        """The descriptor of the terminal behind the pipe."""
        return next(iter(self._saved.values()), 2)

    def stop(self) -> None:
        """Give the descriptors back and write what was caught to the terminal."""
        if self._thread is None:
            return
        _flush()
        target = 1 if 1 in self._saved else 2
        for descriptor, saved in self._saved.items():
            os.dup2(saved, descriptor)
            os.close(saved)
        self._saved.clear()
        os.close(self._write)
        os.write(self._wake[1], b"x")
        self._thread.join()
        self._thread = None
        for descriptor in (self._read, *self._wake):
            os.close(descriptor)
        self._kept.seek(0)
        while block := self._kept.read(BLOCK):
            _write_all(target, block)
        self._kept.close()

    def _pump(self) -> None:
        rest = b""
        woken = False
        while True:
            # A worker process may hold the pipe open for long, so its end is not waited for.
            ready, _, _ = select.select([self._read, self._wake[0]], [], [], 0 if woken else None)
            woken = woken or self._wake[0] in ready
            if self._read not in ready:
                if woken:
                    break
                continue
            block = os.read(self._read, BLOCK)
            if not block:
                break
            self._kept.write(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._on_line(line.decode("utf-8", "replace"))
        if rest:
            self._on_line(rest.decode("utf-8", "replace"))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _write_all(descriptor: int, block: bytes) -> None:
    with contextlib.suppress(OSError):
        while block:
            block = block[os.write(descriptor, block) :]
