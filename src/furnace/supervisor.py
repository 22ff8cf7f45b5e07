"""Several processes behind one port: started, replaced when they die, exchanged one by one on SIGHUP, ended together.

The parent opens the socket and never touches a request. Workers accept from the same socket, so connections that wait
when one dies go to the others. Records are mapped by every worker from the same files: the system keeps one copy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from furnace.errors import ModelError
from furnace.http.listener import ListenError
from furnace.settings import Settings

log = logging.getLogger("furnace")

START_SECONDS = 600.0
PAUSE_SECONDS = 0.5


class Supervisor:
    """The parent of the workers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.socket = open_socket(settings.host, settings.port)
        self._grpc_place: socket.socket | None = None
        if settings.grpc_port is not None:
            try:
                self._grpc_place = _reserved(settings.host, settings.grpc_port)
            except ListenError:
                self.socket.close()
                raise
            self.settings = settings.with_values({"grpc_port": self._grpc_place.getsockname()[1]})
        self.folder = tempfile.TemporaryDirectory(prefix="furnace-")
        self.workers: list[_Process] = []
        self._ending = False
        self._exchange = False

    def run(self) -> int:
        """Serve until a signal; 1 when the first workers cannot start."""
        if not hasattr(signal, "SIGHUP"):
            raise ModelError("--workers: several processes need Linux or macOS; write --workers 1")
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._on_end)
        signal.signal(signal.SIGHUP, self._on_exchange)
        try:
            self.workers = [self._started() for _ in range(self.settings.workers)]
            if not all(each.wait_ready(START_SECONDS) for each in self.workers):
                return 1
            log.info("%d workers serve on %s:%d", len(self.workers), *self.socket.getsockname()[:2])
            if self._grpc_place is not None:
                log.info("they serve gRPC on %s:%d", *self._grpc_place.getsockname()[:2])
            while not self._ending:
                self._look_after()
                time.sleep(0.05)
            return 0
        finally:
            self.socket.close()  # first: else clients could connect to a socket that nobody accepts from any more
            self._end_all()
            if self._grpc_place is not None:
                self._grpc_place.close()
            self.folder.cleanup()

    def _look_after(self) -> None:
        for place, process in enumerate(self.workers):
            code = process.popen.poll()
            if code is not None:
                log.error("worker %d ended with %s; another takes its place", process.popen.pid, _ending_of(code))
                if time.monotonic() - process.begun < PAUSE_SECONDS:
                    time.sleep(PAUSE_SECONDS)
                self.workers[place] = self._started()
        if self._exchange:
            self._exchange = False
            self._exchanged()

    def _exchanged(self) -> None:
        """New workers with the files of now; each old one ends when its successor is ready."""
        for place, old in enumerate(self.workers):
            new = self._started()
            if not new.wait_ready(START_SECONDS):
                log.error("a new worker cannot start; the old ones go on")
                return
            self.workers[place] = new
            old.popen.send_signal(signal.SIGTERM)
            log.info("worker %d takes the place of %d", new.popen.pid, old.popen.pid)

    def _started(self) -> _Process:
        ready, told = os.pipe()
        given = json.dumps(
            {"settings": dataclasses.asdict(self.settings), "socket": self.socket.fileno(), "ready": told,
             "folder": self.folder.name}
        )  # fmt: skip
        popen = subprocess.Popen(
            [sys.executable, "-m", "furnace.worker_process", given], pass_fds=(self.socket.fileno(), told)
        )
        os.close(told)
        return _Process(popen, ready)

    def _end_all(self) -> None:
        for process in self.workers:
            with contextlib.suppress(ProcessLookupError):
                process.popen.send_signal(signal.SIGTERM)
        end = time.monotonic() + self.settings.drain_seconds + 5
        for process in self.workers:
            try:
                process.popen.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.popen.kill()

    def _on_end(self, *_: Any) -> None:
        self._ending = True

    def _on_exchange(self, *_: Any) -> None:
        self._exchange = True


class _Process:
    def __init__(self, popen: subprocess.Popen[bytes], ready: int) -> None:
        self.popen = popen
        self.begun = time.monotonic()
        self._ready = ready

    def wait_ready(self, seconds: float) -> bool:
        """Whether the worker said that it serves; False when it ended before."""
        os.set_blocking(self._ready, False)
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                try:
                    return os.read(self._ready, 1) == b"1"
                except BlockingIOError:
                    time.sleep(0.01)
            return False
        finally:
            os.close(self._ready)


def supervise(settings: Settings) -> int:
    """Run workers until a signal; the exit code of the command."""
    missing = [path for path in settings.model_path if not Path(path).exists()]
    if missing:
        raise ModelError(f"model: there is no file {', '.join(map(repr, missing))}")
    return Supervisor(settings).run()


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket that workers can take over."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(1024)
    except OSError as error:
        opened.close()
        raise ListenError(f"cannot listen on {host}:{port} ({error.strerror}); give another with --port") from error
    opened.set_inheritable(True)
    return opened


def _reserved(host: str, port: int) -> socket.socket:
    """A port that the workers share, each with a socket of its own; this one only keeps it for them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as alone:  # says when another server has it
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, port))
            chosen: int = alone.getsockname()[1]
        kept = socket.socket(family, socket.SOCK_STREAM)
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        kept.bind((host, chosen))
    except OSError as error:
        raise ListenError(
            f"gRPC cannot listen on {host}:{port} ({error.strerror}); give another with --grpc-port"
        ) from error
    return kept


def _ending_of(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
