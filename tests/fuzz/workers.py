"""Processes that try seeds: one that crashes or hangs is a failure of its seed and of nothing else.

A worker reads seeds from its input, one a line, and answers each with a line of JSON. It is renewed now and then, so
that what thousands of networks leave behind does not add up.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.fuzz.results import ROOT, Result, code_version

KINDS = {
    "networks": "tests.fuzz.networks.seeds",
    "programs": "tests.fuzz.programs.seeds",
    "layers": "tests.fuzz.layers",
    "onnx": "tests.fuzz.graphs.seeds",
    "stored": "tests.fuzz.stored",
    "sizes": "tests.fuzz.sizes",
}
RENEWED = 200
"""Seeds a process tries before it is replaced."""


@dataclass(frozen=True)
class Settings:
    """How seeds are tried."""

    kind: str
    features: str = "best"
    sanitize: bool = False
    threads: int = 2
    patience: float = 300.0

    def environment(self) -> dict[str, str]:
        """The environment of a worker: our instruction set, and libraries held to one thread."""
        found = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        found.setdefault("BURN_CACHE", "off")
        found["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        if self.features != "best":
            found["BURN_FEATURES"] = self.features
        if self.sanitize:
            found["BURN_SANITIZE"] = "1"
        return found


def serve(kind: str, threads: int) -> None:
    """The life of a worker."""
    import torch

    import burn

    warnings.filterwarnings("ignore", message="reduction: 'mean' divides")  # PyTorch on its own kl_div
    torch.set_num_threads(1)
    burn.set_num_threads(threads)
    check = importlib.import_module(KINDS.get(kind, kind)).check
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a tested library prints is no answer
    answers.write("ready\n")
    for line in sys.stdin:
        try:
            failure = check(int(line)) or ""
        except Exception:
            failure = traceback.format_exc()
        answers.write(json.dumps(failure) + "\n")


class _Worker:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: subprocess.Popen[str] | None = None
        self.tried = 0

    def ask(self, seed: int) -> str:
        """The failure of a seed, or nothing."""
        if self.tried >= RENEWED:
            self.close()
        process = self.process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        self.tried += 1
        hung = threading.Event()

        def give_up() -> None:
            hung.set()
            process.kill()

        timer = threading.Timer(self.settings.patience, give_up)
        timer.start()
        try:
            process.stdin.write(f"{seed}\n")
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            timer.cancel()
        if answer:
            return str(json.loads(answer))
        code = self.close()
        if hung.is_set():
            return f"no answer within {self.settings.patience:.0f} s"
        return f"the process ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"

    def _started(self) -> subprocess.Popen[str]:
        """A process that has loaded what it needs, so that waiting for an answer is waiting for the seed alone."""
        command = [sys.executable, "-m", "tests.fuzz", "worker", self.settings.kind, str(self.settings.threads)]
        process = self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=ROOT,
            env=self.settings.environment(),
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        self.tried = 0
        return process

    def close(self) -> int:
        """End the process, and give its exit code."""
        process, self.process = self.process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        return process.wait()


def try_seeds(settings: Settings, seeds: Iterable[int], jobs: int, tell: Callable[[Result], None]) -> None:
    """Try seeds in `jobs` processes, and tell each result as it comes."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    lock = threading.Lock()
    code = code_version()
    stop = threading.Event()

    def work() -> None:
        worker = _Worker(settings)
        try:
            while not stop.is_set():
                try:
                    seed = waiting.get_nowait()
                except queue.Empty:
                    return
                begun = time.monotonic()
                failure = worker.ask(seed)
                seconds = round(time.monotonic() - begun, 4)
                with lock:
                    tell(Result(settings.kind, seed, settings.features, code, seconds, failure))
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
    finally:
        stop.set()
