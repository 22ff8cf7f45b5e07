"""What a step takes on an idle machine, and while another process keeps one of its cores busy.

    python -m benches.busy_core                              # idle and busy, and the ratio
    python -m benches.busy_core --against ../other/src       # the same for another checkout, block by block
    python -m benches.busy_core --only cnn_train --blocks 15

Each checkout has a process of its own for each workload. They take turns, and idle blocks take turns with busy ones, so
that whatever else the machine does meets all alike. A block gives the mean of its steps, slow ones included, and the
fastest. Before each block the workload runs for a while that is not counted (`--settle`): a team needs some spells of
work to notice that it has to share a core, and more to notice that it does not any more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

WORKLOADS = {"cnn_train": "guide batch 64", "mobilenet_v2": "batch 1", "resnet18": "batch 1"}
HERE = Path(__file__).resolve().parents[1] / "src"
SPIN = "while True: pass"


class Subject:
    """A process that runs one workload with the sources of one checkout."""

    def __init__(self, name: str, source: Path, threads: int) -> None:
        self.source = source
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{source.parent}"}
        environment.pop("OMP_NUM_THREADS", None)
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        command = [sys.executable, str(Path(__file__).resolve()), "--serve", name]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=source.parent
        )
        self.times: dict[bool, list[float]] = {False: [], True: []}
        self.fastest = {False: float("inf"), True: float("inf")}

    def measure(self, busy: bool, seconds: float, settle: float) -> None:
        """A block of steps: the mean milliseconds of one, and the fewest."""
        if settle:
            self.block(settle)
        mean, fastest = self.block(seconds)
        self.times[busy].append(mean)
        self.fastest[busy] = min(self.fastest[busy], fastest)

    def block(self, seconds: float) -> tuple[float, float]:
        """The mean and the fewest milliseconds of a step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        mean, fastest = json.loads(self.process.stdout.readline())
        return mean * 1e3, fastest * 1e3


def serve(name: str) -> None:
    """Run blocks of steps as the parent asks for them."""
    from burn_bench.benchmark import Setting
    from burn_bench.suite import benchmarks

    found = next(each for each in benchmarks() if each.name == name and each.shapes == WORKLOADS[name])
    with tempfile.TemporaryDirectory() as folder:
        work = found.builders["captured"](Setting(0, Path(folder), "Cpu()"))
        for _ in range(20):
            work.run()
        for line in sys.stdin:
            times = [time.perf_counter()]
            while times[-1] - times[0] < float(line):
                work.run()
                times.append(time.perf_counter())
            steps = [after - before for before, after in itertools.pairwise(times)]
            print(json.dumps((statistics.fmean(steps), min(steps))), flush=True)


@contextmanager
def busy_core(core: int) -> Iterator[None]:
    """Another process that never rests, on one core."""
    process = subprocess.Popen([sys.executable, "-c", SPIN])
    os.sched_setaffinity(process.pid, {core})
    time.sleep(0.1)
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def quartiles(values: list[float]) -> str:
    """The median and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return f"{middle:8.2f} [{low:.2f} to {high:.2f}]"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, help="the `src` folder of another checkout")
    parser.add_argument("--only", choices=WORKLOADS, action="append")
    parser.add_argument("--blocks", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--settle", type=float, default=0.7, help="seconds before a block that do not count")
    parser.add_argument("--threads", type=int, default=0, help="threads of each process; 0 for its default")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    core = max(os.sched_getaffinity(0))
    for name in options.only or WORKLOADS:
        sources = [HERE, *([options.against.resolve()] if options.against else [])]
        subjects = [Subject(name, source, options.threads) for source in sources]
        for each in subjects:
            each.block(options.seconds)
        for _ in range(options.blocks):
            for busy in (False, True):
                for each in subjects:
                    with busy_core(core) if busy else nullcontext():
                        each.measure(busy, options.seconds, options.settle)
        print(f"{name}: milliseconds a step, median [quartiles] of {options.blocks} blocks")
        for each in subjects:
            idle, busy_times = each.times[False], each.times[True]
            ratio = [b / i for b, i in zip(busy_times, idle, strict=True)]
            print(f"  idle {quartiles(idle)}  busy {quartiles(busy_times)}  ratio {quartiles(ratio)}  {each.source}")
            print(f"  fastest step: idle {each.fastest[False]:.2f}, busy {each.fastest[True]:.2f}")
        if len(subjects) == 2:
            ours, theirs = (each.times[False] for each in subjects)
            print(f"  idle, here / there: {quartiles([a / b for a, b in zip(ours, theirs, strict=True)])}")
        for each in subjects:
            each.process.kill()


if __name__ == "__main__":
    main()
