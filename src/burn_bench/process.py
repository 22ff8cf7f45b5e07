"""One engine's process, seen from outside: asked by lines of JSON, and stopped while it has nothing to do.

Idle engines are stopped with SIGSTOP, because the threads of an OpenMP pool spin for a while after
their work and would take the cores of the engine whose turn it is. A stopped process that loses its
parent would stay for ever, so each asks the system to be killed with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burn_bench.engines import Engine

CAN_STOP = hasattr(signal, "SIGSTOP")
PATIENCE = 5.0
"""Seconds that a process gets to end by itself."""


class WorkerError(Exception):
    """A process ended, or did not answer in time; the message says why."""


class Process:
    """A running engine. `ask` wakes it, waits for its answer and stops it again."""

    def __init__(self, label: str, module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path):
        self.label = label
        self.log = folder / f"{self.label.replace(' ', '-')}.log"
        with open(self.log, "wb") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches us alone, and signals reach its helpers too
            )
        self._pending = b""
        self.is_stopped = False

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs, stopped or not."""
        return self._child.poll() is None

    # Stopping and waking

    def stop(self) -> None:
        """Take the process off the cores; returns when it has stopped."""
        if CAN_STOP and self.is_alive and not self.is_stopped:
            self._signal(signal.SIGSTOP)
            # Leaves the child waitable: its end is still for `Popen` to see.
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self.is_stopped = True

    def wake(self) -> None:
        """Let the process go on."""
        if self.is_stopped:
            self._signal(signal.SIGCONT)
            self.is_stopped = False

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    # Questions

    def ask(self, limit: float, **message: Any) -> dict[str, Any]:
        """Send a message and wait at most `limit` seconds for its answer; the process is stopped afterwards."""
        assert self._child.stdin is not None
        self.wake()
        try:
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(self._obituary()) from None
        return self.hear(limit)

    def hear(self, limit: float) -> dict[str, Any]:
        """Wait at most `limit` seconds for a message that nobody asked for; the process is stopped afterwards."""
        answer = self._line(limit)
        self.stop()
        return json.loads(answer)  # type: ignore[no-any-return]

    def _line(self, limit: float) -> bytes:
        assert self._child.stdout is not None
        channel = self._child.stdout.fileno()
        end = time.monotonic() + limit
        while b"\n" not in self._pending:
            readable, _, _ = select.select([channel], [], [], max(0.0, end - time.monotonic()))
            if not readable:
                self.kill()
                raise WorkerError(f"no answer within {limit:.0f} s")
            received = os.read(channel, 1 << 16)
            if not received:
                raise WorkerError(self._obituary())
            self._pending += received
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(PATIENCE)
        code = self._child.poll()
        with contextlib.suppress(ValueError):
            if code is not None and code < 0:
                return f"the process was ended by {signal.Signals(-code).name}{self._last_words()}"
        return f"the process ended with code {code}{self._last_words()}"

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f": {lines[-1].strip()[:200]}" if lines else ""

    # The end

    def close(self) -> None:
        """End the process: by closing its input, and by force where that does not help."""
        self.wake()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        try:
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process and its helpers at once."""
        self._signal(signal.SIGKILL if CAN_STOP else signal.SIGTERM)
        self._child.wait()
        self.is_stopped = False


def of_engine(
    engine: Engine, environment: Mapping[str, str], *, threads: int, folder: Path, suite: str, label: str = ""
) -> Process:
    """The process of an engine that runs benchmarks of a suite."""
    arguments = [engine.name, "--threads", str(threads), "--folder", str(folder), "--suite", suite]
    return Process(label or engine.name, "burn_bench.worker", arguments, environment, folder)
