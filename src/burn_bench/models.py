"""ONNX files of a folder against ONNX Runtime: `burn-bench models FOLDER`.

Two processes for each file, which take turns and are stopped while the other one has its turn. The first result of a
fresh process is timed twice for us: with an empty cache of kernels (`cold`) and with the one that this left (`warm`).
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from burn.errors import ArgumentError
from burn_bench.chart import Bar, svg_bars
from burn_bench.engines import DEVICES, PEERS, environment
from burn_bench.model_inputs import shapes_in
from burn_bench.process import Process, WorkerError
from burn_bench.report import duration
from burn_bench.spread import Spread, ratios, spread

WORKER = "burn_bench.model_worker"
ENDINGS = (".onnx", ".ort")
CLOSE = 1e-3
"""Of the largest element of a result: further away is said."""


@dataclasses.dataclass
class Outcome:
    """What was found for one file; times in seconds, memory in bytes."""

    model: str
    ours: float = 0.0
    theirs: float = 0.0
    ratio: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cold: float = 0.0
    warm: float = 0.0
    their_first: float = 0.0
    memory: float = 0.0
    their_memory: float = 0.0
    host_calls: float = 0.0
    difference: float = 0.0
    fault: str = ""
    native: float = 0.0
    """Of our time, what the one native call takes; 0 where there are several, or host calls."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How to measure."""

    threads: int
    blocks: int
    seconds: float
    patience: float
    sizes: Mapping[str, int]
    shapes: Mapping[str, dict[str, list[int]]]
    only: Sequence[str] = ()


def found_models(folder: Path, only: Sequence[str]) -> list[Path]:
    """The files to measure, in order."""
    if not folder.exists():
        raise ArgumentError(f"burn-bench models: there is no {folder}")
    every = [folder] if folder.is_file() else sorted(each for each in folder.rglob("*") if each.suffix in ENDINGS)
    chosen = [each for each in every if not only or any(word in str(each) for word in only)]
    if not chosen:
        wanted = f" with {' or '.join(only)} in the name" if only else ""
        raise ArgumentError(f"burn-bench models: {folder} holds no {' or '.join(ENDINGS)} file{wanted}")
    return chosen


def measure_all(folder: Path, plan: Plan) -> Iterator[Outcome]:
    """An outcome for each file."""
    root = folder.parent if folder.is_file() else folder
    for path in found_models(folder, plan.only):
        outcome = Outcome(path.relative_to(root).as_posix())
        with tempfile.TemporaryDirectory() as place:
            try:
                _measure(path, plan, Path(place), outcome)
            except WorkerError as error:
                outcome.fault = str(error)
        yield outcome


def _measure(path: Path, plan: Plan, place: Path, outcome: Outcome) -> None:
    shapes = shapes_in(plan.shapes, path)
    command = [sys.executable, "-m", WORKER, "inputs", str(path), str(place / "inputs.npz")]
    command += ["--shapes", json.dumps(shapes), "--sizes", json.dumps(dict(plan.sizes))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=plan.patience)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no inputs could be made"])[-1]
        raise WorkerError(f"ONNX Runtime: {last[:300]}")

    def start(engine: str) -> tuple[Process, float]:
        number = str(plan.threads)
        changed = environment({**DEVICES, **PEERS}.get(engine, DEVICES["cpu"]), plan.threads)
        changed["BURN_CACHE"] = str(place / "kernels")
        arguments = [engine, str(path), str(place / "inputs.npz"), "--threads", number]
        process = Process(engine, WORKER, [*arguments, "--results", str(place / f"{engine}.npz")], changed, place)
        running.append(process)
        try:
            return process, process.hear(plan.patience)["first"]
        except WorkerError as error:
            raise WorkerError(f"{engine}: {error}") from None

    running: list[Process] = []
    try:
        cold, outcome.cold = start("burn")
        cold.close()
        theirs, outcome.their_first = start("onnxruntime")
        ours, outcome.warm = start("burn")
        outcome.difference = _difference(place / "burn.npz", place / "onnxruntime.npz")
        _take_turns(ours, theirs, plan, outcome)
    finally:
        for each in running:
            each.close()


def _take_turns(ours: Process, theirs: Process, plan: Plan, outcome: Outcome) -> None:
    times: dict[Process, list[float]] = {ours: [], theirs: []}
    limit = plan.patience + plan.seconds
    for each in times:
        each.ask(limit, seconds=plan.seconds)  # a captured function records before it replays
    for block in range(plan.blocks):
        for each in (ours, theirs) if block % 2 else (theirs, ours):
            answer = each.ask(limit, seconds=plan.seconds)
            times[each].append(statistics.median(answer["times"]))
            if each is ours:
                outcome.memory, outcome.host_calls = answer["peak"], answer["host_calls"]
                outcome.native = answer.get("native", 0.0)
            else:
                outcome.their_memory = answer["peak"]
    outcome.ours, outcome.theirs = (statistics.median(found) for found in times.values())
    found = spread(ratios(times[ours], times[theirs]))
    outcome.ratio = (found.low, found.median, found.high)


def _difference(ours: Path, theirs: Path) -> float:
    """The largest difference of a result, relative to its largest element; infinite where results do not fit."""
    largest = 0.0
    with np.load(ours) as one, np.load(theirs) as other:
        if set(one) != set(other) or any(one[name].shape != other[name].shape for name in other):
            return float("inf")
        for name in other:
            mine, expected = one[name].astype(np.complex128), other[name].astype(np.complex128)
            if not np.array_equal(np.isfinite(mine), np.isfinite(expected)):
                return float("inf")
            finite = np.isfinite(expected)
            scale = np.abs(expected[finite]).max(initial=0.0) or 1.0
            largest = max(largest, float(np.abs(mine[finite] - expected[finite]).max(initial=0.0) / scale))
    return largest


HEADING = (
    "× ORT   ours        ORT         cold     warm     ORT      memory        host  difference  model\n"
    "                                first result              MB, ORT's     calls"
)


def line(outcome: Outcome) -> str:
    """One row of the table."""
    if outcome.fault:
        return f"-       {outcome.fault}  {outcome.model}"
    first = "".join(f"{duration(each):<9}" for each in (outcome.cold, outcome.warm, outcome.their_first))
    memory = f"{outcome.memory / 1e6:.0f}, {outcome.their_memory / 1e6:.0f}"
    apart = f"{outcome.difference:.0e}" + (" !" if outcome.difference > CLOSE else "")
    return (
        f"{outcome.ratio[1]:<8.3g}{duration(outcome.ours):<12}{duration(outcome.theirs):<12}{first}{memory:<14}"
        f"{outcome.host_calls:<6.0f}{apart:<12}{outcome.model}"
    )


def summary(outcomes: Sequence[Outcome]) -> str:
    """What the table says in a few lines."""
    measured = [each for each in outcomes if not each.fault]
    if not measured:
        return f"none of {len(outcomes)} models could be measured"
    speed, middle = sorted(each.ratio[1] for each in measured), statistics.median
    warm, cold = (middle(getattr(each, name) / each.their_first for each in measured) for name in ("warm", "cold"))
    memory = middle(each.memory / each.their_memory for each in measured)
    hosted, apart = sum(each.host_calls > 0 for each in measured), sum(each.difference > CLOSE for each in measured)
    tenth, slower = speed[len(speed) // 10], sum(each < 0.9 for each in speed)
    known = [each for each in measured if each.native]
    light = sum(each.ours - each.native <= 1e-5 + 0.02 * each.native for each in known)
    lines = (
        f"{len(measured)} of {len(outcomes)} models measured; times are those of a call, NumPy in and out",
        f"speed: median {middle(speed):.3g} ×, a tenth below {tenth:.3g} ×, {slower} below 0.9 ×",
        f"first result, warm: median {warm:.3g} × ONNX Runtime's time; cold: {cold:.3g} ×",
        f"{light} of {len(known)} models that are one native call take at most 10 µs and 2 % beside it",
        f"peak memory: median {memory:.3g} × ONNX Runtime's",
        f"host calls: {hosted} models have some; results: {apart} further than {CLOSE:g} apart",
    )
    return "\n".join(lines)


def save(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write the outcomes as JSON."""
    path.write_text(json.dumps([dataclasses.asdict(each) for each in outcomes], indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> list[Outcome]:
    """Outcomes that `save` wrote."""
    try:
        return [Outcome(**{**row, "ratio": tuple(row["ratio"])}) for row in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ArgumentError(f"burn-bench models: {path} is not what --json writes: {error}") from None


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """A bar for each model, the slowest on top."""
    if path.suffix != ".svg":
        raise ArgumentError(f"--plot: {path} must end in .svg")
    if all(each.fault for each in outcomes):
        raise ArgumentError(f"--plot: nothing to draw in {path}: no model was measured")
    bars = [Bar("", each.model[-44:], Spread(*each.ratio), None) for each in by_ratio(outcomes) if not each.fault]
    path.write_text(svg_bars(bars, "how many times faster than ONNX Runtime (logarithmic)", ""), encoding="utf-8")


def by_ratio(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Faults first, then the slowest."""
    return sorted(outcomes, key=lambda each: (not each.fault, each.ratio[1]))


def changes(earlier: Sequence[Outcome], later: Sequence[Outcome]) -> list[str]:
    """How the time of each model changed between two runs, the worst first."""
    known = {each.model: each for each in earlier if not each.fault}
    pairs = [(known[each.model], each) for each in later if each.model in known and not each.fault]
    pairs.sort(key=lambda pair: pair[1].ratio[1] / pair[0].ratio[1])
    return [
        f"{new.ratio[1] / old.ratio[1]:<8.3g}{old.ratio[1]:.3g} → {new.ratio[1]:.3g} ×  {new.model}"
        for old, new in pairs
    ]
