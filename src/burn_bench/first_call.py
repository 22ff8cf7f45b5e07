"""How long the first call takes: `burn-bench first-call`.

Fresh processes make the first steps of the MLP's training, or send the first images through ResNet-18, with a cache
on disk that is empty (`cold`) or was filled by the process before (`warm`). Importing and loading weights are not
counted. The column `third` is the time until the third step has finished: a captured function records twice before it
replays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from burn_bench.benchmark import Missing, Setting
from burn_bench.engines import DEVICES, PEERS, Engine, chosen_workloads, environment, set_threads
from burn_bench.report import duration
from burn_bench.spread import Spread, limit_verdict, spread
from burn_bench.worker import end_with_parent, one_line

MODULE = "burn_bench.first_call"
STEPS = 3


class Workload(NamedTuple):
    """What is called, by whom, and the seconds that the first call of `cpu-captured` may take with either cache."""

    summary: str
    engines: tuple[str, ...]
    budgets: dict[str, float]


WORKLOADS = {
    "mlp_train": Workload(
        "the MLP's training step", ("cpu", "cpu-captured", "torch", "torch-compile", "jax"), {"cold": 2.0, "warm": 0.4}
    ),
    "resnet18": Workload(
        "ResNet-18 on one image", ("cpu-captured", "onnxruntime", "torch"), {"cold": 10.0, "warm": 0.5}
    ),
}


class Latency(NamedTuple):
    """Seconds of the first call and until the third has ended, or why there are none."""

    engine: str
    cache: str
    processes: int = 0
    first: Spread | None = None
    third: Spread | None = None
    failure: str = ""


def measure_here(workload: str, engine: Engine, setting: Setting) -> dict[str, Any]:
    """Measure in this process, which must be fresh."""
    from burn_bench.suite.inference import inference
    from burn_bench.suite.training import mlp_train

    image = (1, 3, 224, 224)
    chosen = inference("resnet18", "resnet18", image, ()) if workload == "resnet18" else mlp_train()
    work = chosen.builders[engine.family](setting)
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        work.run()
        times.append(time.perf_counter() - start)
    return {"times": times}


def _process(workload: str, engine: Engine, threads: int, cache: str) -> dict[str, Any]:
    folders = {"BURN_CACHE": cache, "TORCHINDUCTOR_CACHE_DIR": f"{cache}-torch"}
    changed = {**environment(engine, threads), **folders}
    command = [sys.executable, "-m", MODULE, workload, engine.name, str(threads)]
    done = subprocess.run(command, env=changed, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"failure": last or f"ended with code {done.returncode}"}
    return json.loads(lines[-1])  # type: ignore[no-any-return]


def measure(workload: str, engine: Engine, threads: int, processes: int) -> list[Latency]:
    """Measure with empty and with filled caches."""
    absent = engine.absent()
    if absent:
        return [Latency(engine.name, "cold", failure=absent)]
    times: dict[str, list[list[float]]] = {"cold": [], "warm": []}
    for _ in range(processes):
        with tempfile.TemporaryDirectory() as folder:
            for cache in times:
                answer = _process(workload, engine, threads, os.path.join(folder, "kernels"))
                if "failure" in answer:
                    return [Latency(engine.name, cache, failure=answer["failure"])]
                times[cache].append(answer["times"])
    return [
        Latency(
            engine.name, cache, processes, spread([each[0] for each in found]), spread([sum(each) for each in found])
        )
        for cache, found in times.items()
    ]


def report(latencies: Sequence[Latency], budgets: Mapping[str, float]) -> str:
    """The table; budgets are for `cpu-captured`, by the state of the cache."""
    lines = [f"{'engine':<18} {'cache':<6} {'first':>8}  {'quartiles':<19} {'third':>8}  budget"]
    for each in latencies:
        if each.first is None or each.third is None:
            lines.append(f"{each.engine:<18} {each.cache:<6} {each.failure}")
            continue
        budget, verdict = budgets.get(each.cache) if each.engine == "cpu-captured" else None, ""
        if budget is not None:
            verdict = f"{budget:g} s: {limit_verdict(each.first, budget, each.processes)}"
        quartiles = f"{duration(each.first.low)} – {duration(each.first.high)}"
        lines.append(
            f"{each.engine:<18} {each.cache:<6} {duration(each.first.median):>8}  {quartiles:<19} "
            f"{duration(each.third.median):>8}  {verdict}".rstrip()
        )
    return "\n".join(lines) + "\n"


def command(arguments: Any) -> int:
    """`burn-bench first-call`."""
    processes = 1 if arguments.quick else arguments.processes
    for name in chosen_workloads(arguments.workloads, WORKLOADS):
        workload = WORKLOADS[name]
        engines = [{**DEVICES, **PEERS}[each] for each in workload.engines]
        latencies = [each for engine in engines for each in measure(name, engine, arguments.threads, processes)]
        print(f"the first call of {workload.summary}, {processes} fresh processes\n")
        print(report(latencies, workload.budgets))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """One fresh process."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description="One measurement of a first call.")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("engine", choices=[*DEVICES, *PEERS])
    parser.add_argument("threads", type=int)
    options = parser.parse_args(arguments)
    end_with_parent()
    engine = {**DEVICES, **PEERS}[options.engine]
    set_threads(engine, options.threads)
    try:
        with tempfile.TemporaryDirectory() as folder:
            answer = measure_here(options.workload, engine, Setting(options.threads, Path(folder), engine.device))
    except Missing as error:
        answer = {"failure": str(error)}
    except Exception as error:
        answer = {"failure": one_line(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
