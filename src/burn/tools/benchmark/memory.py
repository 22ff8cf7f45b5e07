"""Peak memory of a training step: `burn-bench memory`.

Each number comes from a fresh process that prepares the guide's CNN and its data, notes its resident
memory, takes a few steps, and reports by how much the peak was above. The first steps also load code
and compile; so each engine is measured twice, as it comes (`first`) and after a step with a batch of
one, which loads the same code (`loaded`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from burn.tools.benchmark.benchmark import Missing, Setting
from burn.tools.benchmark.engines import DEVICES, PEERS, Engine, environment, set_threads
from burn.tools.benchmark.spread import Spread, limit_verdict, spread
from burn.tools.benchmark.worker import end_with_parent, one_line

MODULE = "burn.tools.benchmark.memory"
STEPS = 5
PHASES = ("first", "loaded")


class Usage(NamedTuple):
    """Bytes above the baseline, in several processes, or why there are none."""

    engine: str
    phase: str
    processes: int = 0
    peak: Spread | None = None
    baseline: float = 0.0
    failure: str = ""


def resident() -> int:
    """The resident memory of this process, in bytes."""
    return _status("VmRSS")


def peak() -> int:
    """The largest resident memory since the last `forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    """Let the peak start from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(each for each in file if each.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def measure_here(engine: Engine, phase: str, batch: int, setting: Setting) -> dict[str, Any]:
    """Measure in this process, which must be fresh."""
    from burn.tools.benchmark.suite.training import cnn_train

    if phase == "loaded":
        small = cnn_train(1).builders[engine.family](setting)
        for _ in range(STEPS):
            small.run()
    work = cnn_train(batch).builders[engine.family](setting)
    forget_peak()
    baseline = resident()
    for _ in range(STEPS):
        work.run()
    return {"baseline": baseline, "peak": peak() - baseline}


def measure(engine: Engine, phase: str, batch: int, threads: int, processes: int) -> Usage:
    """Measure in `processes` fresh processes."""
    absent = engine.absent()
    if absent:
        return Usage(engine.name, phase, failure=absent)
    peaks, baselines = [], []
    for _ in range(processes):
        command = [sys.executable, "-m", MODULE, engine.name, phase, str(batch), str(threads)]
        done = subprocess.run(command, env=environment(engine, threads), capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            return Usage(engine.name, phase, failure=last or f"ended with code {done.returncode}")
        answer = json.loads(lines[-1])
        if "failure" in answer:
            return Usage(engine.name, phase, failure=answer["failure"])
        peaks.append(answer["peak"])
        baselines.append(answer["baseline"])
    return Usage(engine.name, phase, processes, spread(peaks), spread(baselines).median)


def report(usages: Sequence[Usage]) -> str:
    """The table; what has to be met is torch's."""
    lines = [f"{'engine':<18} {'phase':<8} {'above the baseline':>20}  {'quartiles':<18} {'baseline':>10}  verdict"]
    torch = {each.phase: each.peak for each in usages if each.engine == "torch"}
    for each in usages:
        if each.peak is None:
            lines.append(f"{each.engine:<18} {each.phase:<8} {each.failure}")
            continue
        limit, verdict = torch.get(each.phase), ""
        if limit is not None and each.engine.startswith("cpu"):
            said = limit_verdict(each.peak, limit.median, each.processes)
            verdict = f"{said}: {each.peak.median / limit.median:.2f} of torch's"
        quartiles = f"{each.peak.low / 2**20:.1f} – {each.peak.high / 2**20:.1f}"
        lines.append(
            f"{each.engine:<18} {each.phase:<8} {each.peak.median / 2**20:>16.1f} MiB  {quartiles:<18} "
            f"{each.baseline / 2**20:>6.0f} MiB  {verdict}".rstrip()
        )
    return "\n".join(lines) + "\n"


def command(arguments: Any) -> int:
    """`burn-bench memory`."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        print("burn-bench memory: needs /proc/self/clear_refs, which only Linux has", file=sys.stderr)
        return 1
    engines = [DEVICES[name] for name in ("cpu", "cpu-captured", "libtorch")]
    engines += [PEERS[name] for name in ("torch", "torch-fused-adam", "jax")]
    threads, processes = arguments.threads, 1 if arguments.quick else arguments.processes
    usages = [measure(e, phase, arguments.batch, threads, processes) for phase in PHASES for e in engines]
    print(f"peak resident memory: {STEPS} steps of the guide's CNN, batch {arguments.batch}, {processes} processes\n")
    print(report(usages), end="")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """One fresh process."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description="One measurement of memory.")
    parser.add_argument("engine", choices=[*DEVICES, *PEERS])
    parser.add_argument("phase", choices=PHASES)
    parser.add_argument("batch", type=int)
    parser.add_argument("threads", type=int)
    options = parser.parse_args(arguments)
    end_with_parent()
    engine = {**DEVICES, **PEERS}[options.engine]
    set_threads(engine, options.threads)
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(options.threads, Path(folder), engine.device)
        try:
            answer = measure_here(engine, options.phase, options.batch, setting)
        except Missing as error:
            answer = {"failure": str(error)}
        except Exception as error:
            answer = {"failure": one_line(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
