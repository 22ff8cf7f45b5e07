"""One engine's process, from inside: `python -m burn_bench.worker ENGINE`.

Reads one message a line and answers each with one line. Nothing else may write to the pipe, so the
standard output of the engine goes to its log.

    {"do": "prepare", "benchmark": "softmax/64x12x128x128"}   builds, checks the result, warms up
    {"do": "block", "samples": 20, "batch": 5, "settle": 2}   times of `samples` batches, in seconds a call
    {"do": "forget"}                                          drops what was built
    {"do": "reference", "benchmark": "…"}                     computes the right answer and writes it to a file
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from burn_bench.benchmark import Benchmark, Missing, Setting, Work, WrongResult, difference
from burn_bench.engines import DEVICES, PEERS, Engine, set_threads

REFERENCE = Engine("reference", "reference")
"""The engine that computes what the others are compared with."""

WARM_SECONDS = 0.2
MOST_WARM_CALLS = 200


def reference_file(folder: Path, benchmark: Benchmark) -> Path:
    """Where the right answer of a benchmark lies."""
    return folder / f"{benchmark.title.replace('/', '-')}.npz"


def load_suite(name: str) -> dict[str, Benchmark]:
    """The benchmarks of a module: what its function `benchmarks` gives, by title."""
    found: list[Benchmark] = importlib.import_module(name).benchmarks()
    return {each.title: each for each in found}


class Worker:
    """Answers the messages to one engine."""

    def __init__(self, engine: Engine, setting: Setting, suite: dict[str, Benchmark]) -> None:
        self.engine = engine
        self.setting = setting
        self.suite = suite
        self.work: Work | None = None

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one message; what goes wrong is an answer too."""
        actions: dict[str, Callable[..., dict[str, Any]]] = {
            "prepare": self.prepare, "block": self.block, "forget": self.forget, "reference": self.reference,
        }  # fmt: skip
        action = actions[message.pop("do")]
        try:
            return action(**message)
        except Missing as error:
            return {"failure": str(error), "kind": "absent"}
        except WrongResult as error:
            return {"failure": str(error), "kind": "wrong"}
        except Exception as error:
            traceback.print_exc()
            return {"failure": one_line(error), "kind": "failed"}

    def prepare(self, benchmark: str) -> dict[str, Any]:
        """Build, compare the result with the reference, and run until caches and compilers have settled."""
        self.forget()
        chosen = self.suite[benchmark]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            warnings.simplefilter("always", UserWarning)
            self.work = chosen.builders[self.engine.family](self.setting)
            error = self._error(chosen, self.work)
            seconds = warm_up(self.work.run) / self.work.repeats
        notes = [f"{each.message}" for each in caught if self.engine.is_ours]
        return {"seconds": seconds, "error": error, "notes": list(dict.fromkeys(notes))[:3]}

    def _error(self, benchmark: Benchmark, work: Work) -> float:
        if work.result is None:
            return 0.0
        with np.load(reference_file(self.setting.folder, benchmark)) as file:
            references = [file[name] for name in file.files]
        return difference(work.result(), references, benchmark.tolerance)

    def block(self, samples: int, batch: int, settle: int) -> dict[str, Any]:
        """Time `samples` batches of calls, after a few that are not timed."""
        assert self.work is not None
        begin = time.process_time()
        run, clock, count = self.work.run, time.perf_counter, self.work.repeats
        batch, settle = math.ceil(batch / count), math.ceil(settle / count)
        for _ in range(settle):
            run()
        times = []
        calls = range(batch)
        faults = page_faults()
        for _ in range(samples):
            start = clock()
            for _ in calls:
                run()
            times.append((clock() - start) / (batch * count))
        own = time.process_time() - begin
        return {"times": times, "faults": (page_faults() - faults) / (samples * batch * count), "own": own}

    def forget(self) -> dict[str, Any]:
        """Drop what was prepared."""
        self.work = None
        gc.collect()
        return {}

    def reference(self, benchmark: str) -> dict[str, Any]:
        """Compute the right answer and keep it in a file."""
        chosen = self.suite[benchmark]
        arrays = [np.asarray(each) for each in chosen.reference(self.setting)]
        np.savez(reference_file(self.setting.folder, chosen), *arrays)
        return {}


def page_faults() -> int:
    """How often this process was given a page of memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def warm_up(run: Callable[[], object]) -> float:
    """Run for a while; the seconds of a call at the end of it."""
    times: list[float] = []
    while len(times) < 2 or (sum(times) < WARM_SECONDS and len(times) < MOST_WARM_CALLS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times[len(times) // 2 :]))


def one_line(error: BaseException) -> str:
    """An exception as one line of a report."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].strip()[:200] if lines else ''}"


def end_with_parent() -> None:
    """Ask the system to kill this process when its parent ends, even while it is stopped."""
    if sys.platform == "linux":
        parent = os.getppid()
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the request
            sys.exit(1)


def serve(worker: Worker, questions: IO[str], answers: IO[str]) -> None:
    """Answer until the questions end."""
    for line in questions:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Be one engine until the input ends."""
    parser = argparse.ArgumentParser(prog="python -m burn_bench.worker", description="One engine of burn-bench.")
    parser.add_argument("engine", choices=[*DEVICES, *PEERS, REFERENCE.name])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--suite", required=True)
    options = parser.parse_args(arguments)
    end_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine = {**DEVICES, **PEERS, REFERENCE.name: REFERENCE}[options.engine]
    set_threads(engine, options.threads)
    setting = Setting(options.threads, options.folder, engine.device)
    serve(Worker(engine, setting, load_suite(options.suite)), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
