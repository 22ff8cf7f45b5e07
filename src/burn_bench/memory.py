"""Peak memory of a training step and of inference: `burn-bench memory`.

Each number comes from a fresh process that notes its resident memory, works, and reports by how much the peak was
above. For the step, the guide's CNN and its data are prepared before. The first steps also load code and compile; so
each engine is measured twice, as it comes (`first`) and after a step with a batch of one, which loads the same code
(`loaded`). For inference, ResNet-18 with its weights counts too, and whatever an engine makes of them: some pack
them when they load a model, others in the first call. Its `loaded` comes after a tiny network has run.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from burn_bench.benchmark import Missing, Setting, Work
from burn_bench.engines import DEVICES, PEERS, Engine, chosen_workloads, environment, set_threads
from burn_bench.spread import Spread, limit_verdict, spread
from burn_bench.worker import end_with_parent, one_line

MODULE = "burn_bench.memory"
STEPS = 5
PHASES = ("first", "loaded")


class Workload(NamedTuple):
    """What is run, and the peer whose memory is the measure."""

    summary: str
    engines: tuple[str, ...]
    peer: str
    limit: float
    """How many times the memory of the peer may be used."""


WORKLOADS = {
    "cnn_train": Workload(
        "a step of the guide's CNN, batch {batch}",
        ("cpu", "cpu-captured", "libtorch", "torch", "torch-fused-adam", "jax"), "torch", 1.0,
    ),
    "resnet18": Workload("ResNet-18, one image", ("cpu-captured", "onnxruntime", "torch"), "onnxruntime", 1.5),
}  # fmt: skip


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


def measure_here(workload: str, engine: Engine, phase: str, batch: int, setting: Setting) -> dict[str, Any]:
    """Measure in this process, which must be fresh."""
    measured = _inference if workload == "resnet18" else _step
    return measured(engine, phase, batch, setting)


def _step(engine: Engine, phase: str, batch: int, setting: Setting) -> dict[str, Any]:
    from burn_bench.suite.training import cnn_train

    if phase == "loaded":
        _repeat(cnn_train(1).builders[engine.family](setting))
    work = cnn_train(batch).builders[engine.family](setting)
    forget_peak()
    baseline = resident()
    _repeat(work)
    return {"baseline": baseline, "peak": peak() - baseline}


def _inference(engine: Engine, phase: str, batch: int, setting: Setting) -> dict[str, Any]:
    from burn_bench.suite.inference import exported_file, inference

    for name in engine.packages:
        importlib.import_module(name)
    image = (1, 3, 224, 224)
    if engine.family == "onnxruntime":
        exported_file(setting, "resnet18", image)
    if phase == "loaded":
        _repeat(inference("tiny_mlp", "tiny_mlp", (1, 16), ()).builders[engine.family](setting))
        gc.collect()
    forget_peak()
    baseline = resident()
    _repeat(inference("resnet18", "resnet18", image, ()).builders[engine.family](setting))
    return {"baseline": baseline, "peak": peak() - baseline}


def _repeat(work: Work) -> None:
    for _ in range(STEPS):
        work.run()


def measure(workload: str, engine: Engine, phase: str, batch: int, threads: int, processes: int) -> Usage:
    """Measure in `processes` fresh processes."""
    absent = engine.absent()
    if absent:
        return Usage(engine.name, phase, failure=absent)
    peaks, baselines = [], []
    for _ in range(processes):
        command = [sys.executable, "-m", MODULE, workload, engine.name, phase, str(batch), str(threads)]
        changed = environment(engine, threads)
        done = subprocess.run(command, env=changed, capture_output=True, text=True, check=False)
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


def report(usages: Sequence[Usage], peer: str = "torch", limit: float = 1.0) -> str:
    """The table; what has to be met is `limit` times the peer's."""
    lines = [f"{'engine':<18} {'phase':<8} {'above the baseline':>20}  {'quartiles':<18} {'baseline':>10}  verdict"]
    measures = {each.phase: each.peak for each in usages if each.engine == peer}
    for each in usages:
        if each.peak is None:
            lines.append(f"{each.engine:<18} {each.phase:<8} {each.failure}")
            continue
        measure, verdict = measures.get(each.phase), ""
        if measure is not None and each.engine.startswith("cpu"):
            said = limit_verdict(each.peak, limit * measure.median, each.processes)
            verdict = f"{said}: {each.peak.median / measure.median:.2f} of {peer}'s"
            verdict += f" (at most {limit:g})" if limit != 1.0 else ""
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
    threads, processes = arguments.threads, 1 if arguments.quick else arguments.processes
    for name in chosen_workloads(arguments.workloads, WORKLOADS):
        workload = WORKLOADS[name]
        engines = [{**DEVICES, **PEERS}[each] for each in workload.engines]
        usages = [
            measure(name, engine, phase, arguments.batch, threads, processes) for phase in PHASES for engine in engines
        ]
        said = workload.summary.format(batch=arguments.batch)
        print(f"peak resident memory: {STEPS} times {said}, {processes} processes\n")
        print(report(usages, workload.peer, workload.limit))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """One fresh process."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description="One measurement of memory.")
    parser.add_argument("workload", choices=WORKLOADS)
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
            answer = measure_here(options.workload, engine, options.phase, options.batch, setting)
        except Missing as error:
            answer = {"failure": str(error)}
        except Exception as error:
            answer = {"failure": one_line(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
