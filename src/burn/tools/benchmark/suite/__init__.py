"""The benchmarks of `burn-bench`."""

from __future__ import annotations

from burn.tools.benchmark.benchmark import Benchmark
from burn.tools.benchmark.suite import (
    convolution,
    elementwise,
    imported,
    inference,
    matrix,
    movement,
    normalization,
    training,
)


def benchmarks() -> list[Benchmark]:
    """All of them, in the order in which they run."""
    modules = (elementwise, matrix, normalization, convolution, movement, training, inference, imported)
    return [each for module in modules for each in module.benchmarks()]
