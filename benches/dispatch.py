"""What a call costs above NumPy's own: `python -m benches.dispatch`.

Each line compares one call of ours with the NumPy call it ends in. The two are timed in turns, in
blocks of a few milliseconds, so both see the same machine; the figure is the median over the blocks
of the difference of neighbours, with its quartiles. The last column times our call against itself
in the same way: differences smaller than that are noise.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from burn.backend import Autodiff, NdArray
from burn.tensor import Tensor

Call = Callable[[], object]


class Case(NamedTuple):
    """One of our calls, NumPy's call under it, and how much more it may cost, in nanoseconds."""

    name: str
    ours: Call
    numpy: Call
    budget: float


class Spread(NamedTuple):
    """Median and quartiles."""

    low: float
    median: float
    high: float


def spread(values: list[float]) -> Spread:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(low, median, high)


def nanoseconds(call: Call, repeats: int) -> float:
    """The time of one call, over `repeats` calls."""
    turns = range(repeats)
    start = time.perf_counter_ns()
    for _ in turns:
        call()
    return (time.perf_counter_ns() - start) / repeats


def interleaved(first: Call, second: Call, blocks: int, repeats: int) -> tuple[list[float], list[float]]:
    """Time two calls in turns; the order within a block alternates."""
    for call in (first, second):
        nanoseconds(call, repeats)
    times: tuple[list[float], list[float]] = ([], [])
    for block in range(blocks):
        for index in (0, 1) if block % 2 else (1, 0):
            times[index].append(nanoseconds((first, second)[index], repeats))
    return times


def differences(times: tuple[list[float], list[float]]) -> list[float]:
    return [ours - other for ours, other in zip(*times, strict=True)]


def cases() -> list[Case]:
    """The calls with a budget, on four floats."""
    values = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    device, recording = NdArray(), Autodiff(NdArray())
    x, y = Tensor.from_data(values, device), Tensor.from_data(values, device)
    untracked = Tensor.from_data(values, recording)
    tracked = Tensor.from_data(values, recording).require_grad()
    other = Tensor.from_data(values, recording).require_grad()
    exp, add = np.exp, np.add
    return [
        Case("x.exp()", lambda: x.exp(), lambda: exp(values), 800),
        Case("x + y", lambda: x + y, lambda: add(values, values), 1000),
        Case("x + 0.5", lambda: x + 0.5, lambda: add(values, 0.5), 1000),
        Case("x.exp(), untracked", lambda: untracked.exp(), lambda: exp(values), 1600),
        Case("x.exp(), tracked", lambda: tracked.exp(), lambda: exp(values), 1600),
        Case("x + y, tracked", lambda: tracked + other, lambda: add(values, values), 1600),
        Case("x + 0.5, tracked", lambda: tracked + 0.5, lambda: add(values, 0.5), 1600),
    ]


def verdict(difference: Spread, budget: float) -> str:
    """Met when the median is within the budget and the upper quartile within 5 % of it."""
    return "met" if difference.median <= budget and difference.high <= 1.05 * budget else "MISSED"


def measure_calls(blocks: int, repeats: int) -> None:
    print(f"dispatch: nanoseconds a call above NumPy's, median of {blocks} interleaved blocks of {repeats} calls\n")
    print(f"{'call':<20} {'numpy':>7} {'ours':>7} {'above':>7}  {'quartiles':<16} {'budget':>7}  {'':<7} us against us")
    for case in cases():
        times = interleaved(case.ours, case.numpy, blocks, repeats)
        above = spread(differences(times))
        level = spread(differences(interleaved(case.ours, case.ours, blocks, repeats)))
        ours, numpy = (statistics.median(each) for each in times)
        quartiles = f"{above.low:+.0f} to {above.high:+.0f}"
        print(
            f"{case.name:<20} {numpy:>7.0f} {ours:>7.0f} {above.median:>+7.0f}  {quartiles:<16} {case.budget:>+7.0f}  "
            f"{verdict(above, case.budget):<7} {level.median:+.0f} ({level.low:+.0f} to {level.high:+.0f})"
        )


def milliseconds_to_import(module: str, cache: str) -> float:
    """The time a fresh interpreter needs to import `module`, with its bytecode in `cache`."""
    program = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = cache
    command = [sys.executable, "-c", program]
    return 1e3 * float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def measure_imports(blocks: int) -> None:
    budget = 100.0
    names = ("burn", "numpy", "burn")
    times: list[list[float]] = [[], [], []]
    with tempfile.TemporaryDirectory() as cache:
        milliseconds_to_import("burn", cache)  # compiles both packages
        for block in range(blocks):
            for index in (0, 1, 2) if block % 2 else (2, 1, 0):
                times[index].append(milliseconds_to_import(names[index], cache))
    above = spread(differences((times[0], times[1])))
    level = spread(differences((times[0], times[2])))
    print(f"\nimport: milliseconds in fresh processes, median of {blocks} interleaved blocks\n")
    print(
        f"import burn {statistics.median(times[0]):.1f}, import numpy {statistics.median(times[1]):.1f}: "
        f"{above.median:+.1f} ({above.low:+.1f} to {above.high:+.1f}), budget +{budget:.0f}: {verdict(above, budget)}; "
        f"us against us {level.median:+.1f} ({level.low:+.1f} to {level.high:+.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.dispatch", description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=15, help="interleaved blocks, at least 7 (default 15)")
    parser.add_argument("--repeats", type=int, default=20_000, help="calls in a block (default 20000)")
    options = parser.parse_args()
    blocks = max(7, options.blocks)
    measure_calls(blocks, options.repeats)
    measure_imports(blocks)


if __name__ == "__main__":
    main()
