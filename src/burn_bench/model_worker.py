"""One engine with one ONNX file, in a process of its own: `burn-bench models` asks it by lines of JSON.

The first line that it prints says how long importing, loading and the first result took since the process began; the
ones after it answer {"seconds": s} with the seconds of each call. Results lie in a file, for who compares them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Run = Callable[[], Sequence[Any]]


def since_the_start() -> float:
    """Seconds since this process began, the interpreter's own start included where the system tells."""
    try:
        with open("/proc/self/stat", encoding="ascii") as file:
            began = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        with open("/proc/uptime", encoding="ascii") as file:
            return float(file.read().split()[0]) - began
    except (OSError, ValueError, IndexError):
        return time.perf_counter() - BEGAN


BEGAN = time.perf_counter()


def burn_run(path: Path, inputs: Mapping[str, Any], threads: int) -> Run:
    """What runs a model on `Cpu()`, NumPy in and out."""
    from burn.backend import Cpu
    from burn_import.onnx import load

    model = load(path, Cpu())
    given = {name: inputs[name] for name in model.input_names if name in inputs}
    return lambda: list(model.run(given).values())


def onnxruntime_run(path: Path, inputs: Mapping[str, Any], threads: int) -> Run:
    """What runs a model on ONNX Runtime, as it is without options but the number of threads."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = {each.name for each in session.get_inputs()}
    given = {name: value for name, value in inputs.items() if name in names}
    return lambda: session.run(None, given)


def write_inputs(path: Path, place: Path, shapes: Mapping[str, Sequence[int]] | None, sizes: Mapping[str, int]) -> None:
    """Random inputs for a model, as an .npz file."""
    import numpy as np
    import onnxruntime

    from burn_bench.model_inputs import inputs_for, shapes_of

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    made = inputs_for(session, shapes or shapes_of(session, sizes))
    np.savez(place, **{name: each.astype(str) if each.dtype == object else each for name, each in made.items()})


RUNS = {"burn": burn_run, "onnxruntime": onnxruntime_run}


def host_calls() -> int:
    """Operations that ran on NumPy, between native ones, since the process began."""
    found = sys.modules.get("burn.backend.cpu.hosted")
    return 0 if found is None else sum(found.HOST_CALLS.values())


def native_seconds(inputs: Sequence[Any]) -> float:
    """How long the native call takes that a call of a model is, if it is one; 0 where it is several, or none."""
    found = sys.modules.get("burn.backend.cpu.frozen.running")
    runners = [] if found is None else list(found.RUNNERS)
    if len(runners) != 1 or len(runners[0].form.given) != len(inputs):
        return 0.0
    return float(runners[0].native_seconds(list(inputs)))


def peak_bytes() -> int:
    """The most memory that this process held."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=[*RUNS, "inputs"])
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path, help="an .npz file with an array for each input")
    parser.add_argument("--results", type=Path, help="where the results go, as .npz")
    parser.add_argument("--shapes", type=json.loads, help="of inputs to make, as JSON")
    parser.add_argument("--sizes", type=json.loads, default={}, help="of names in shapes, as JSON")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.engine == "inputs":
        write_inputs(options.model, options.inputs, options.shapes, options.sizes)
        return 0
    import numpy as np

    with np.load(options.inputs) as file:
        inputs = {name: file[name].astype(object) if file[name].dtype.kind == "U" else file[name] for name in file}
    run = RUNS[options.engine](options.model, inputs, options.threads)
    found = run()
    first = since_the_start()
    arrays = [np.asarray(each) for each in found]
    kept: dict[str, Any] = {f"r{number}": each for number, each in enumerate(arrays) if each.dtype.kind in "fiubc"}
    np.savez(options.results, **kept)
    from burn_bench.worker import end_with_parent

    end_with_parent()
    _answer({"first": first, "results": len(arrays)})
    for line in sys.stdin:
        limit = json.loads(line)["seconds"]
        before, end = host_calls(), time.perf_counter() + limit
        times: list[float] = []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        calls = (host_calls() - before) / len(times)
        native = native_seconds([*inputs.values()]) if options.engine == "burn" else 0.0
        _answer({"times": times[-20000:], "host_calls": calls, "peak": peak_bytes(), "native": native})
    return 0


def _answer(message: Mapping[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    sys.exit(main())
