"""`burn-bench tune resnet18`: measure which kernels are fastest for the networks of benchmarks, and remember it.

Runs that follow use what was found (see `burn.backend.cpu.tuning`). Nothing is compared with peers here.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burn_bench.benchmark import Benchmark, Setting
from burn_bench.engines import DEVICES, set_threads
from burn_bench.report import duration

if TYPE_CHECKING:
    from burn.engine.tuning import Report

ENGINE = DEVICES["cpu-captured"]
CALLS = 3
"""A captured function is recorded twice; the plan of the third call is the one that is measured."""


def command(options: Any, benchmarks: Sequence[Benchmark]) -> int:
    """Tune every benchmark that has a captured form."""
    from burn.backend.cpu import tuning
    from burn.backend.cpu.pool import set_num_threads

    set_threads(ENGINE, options.threads)
    set_num_threads(options.threads)  # the environment was read when the pool was made
    if options.forget:
        tuning.answers().forget()
    for benchmark in benchmarks:
        if ENGINE.family not in benchmark.builders:
            continue
        start = time.perf_counter()
        found = tune(benchmark, options.threads)
        print(f"{benchmark.title}, {duration(time.perf_counter() - start)}")
        for report in found:
            print(report)
        if not found:
            print("nothing to measure: every answer is known, or the plan leaves no choice")
        print(flush=True)
    return 0


def tune(benchmark: Benchmark, threads: int) -> list[Report]:
    """What was measured while the plans of a benchmark were made."""
    from burn.backend.cpu import tuning

    found: list[Report] = []
    with tempfile.TemporaryDirectory() as folder, tuning.using(tuning.ON), tuning.listening(found.append):
        work = benchmark.builders[ENGINE.family](Setting(threads, Path(folder), ENGINE.device))
        for _ in range(CALLS):
            work.run()
    return found
