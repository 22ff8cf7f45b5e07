"""Benchmarks that do almost nothing, well or badly: for the tests of the runner."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_bench.benchmark import Benchmark, Missing, Setting, Target, Work, finished

VALUES = np.arange(8, dtype=np.float32)


def ours(setting: Setting) -> Work:
    from burn.tensor.methods.creation import tensor

    x = tensor(VALUES, device=setting.device)
    return finished(setting.device, lambda: x * 2.0)


def working(factor: float) -> Callable[[Setting], Work]:
    return lambda setting: Work(lambda: VALUES * factor, lambda: [VALUES * factor])


def dying(setting: Setting) -> Work:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def sleeping(setting: Setting) -> Work:
    time.sleep(60)
    raise AssertionError("unreachable")


def raising(setting: Setting) -> Work:
    raise ValueError("no such luck\nand more")


def missing(setting: Setting) -> Work:
    raise Missing("needs a tool that is not here")


def doubled(setting: Setting) -> list[Any]:
    return [VALUES.astype(np.float64) * 2]


def unavailable(setting: Setting) -> list[Any]:
    raise Missing("nobody knows the answer")


def benchmarks() -> list[Benchmark]:
    target = (Target("ndarray", ("numpy",), 0.001, 1000.0),)
    return [
        Benchmark("double", "8", {"burn": ours, "numpy": working(2.0)}, doubled, "twice as much", targets=target),
        Benchmark("wrong", "8", {"burn": ours, "numpy": working(3.0)}, doubled),
        Benchmark("dying", "8", {"burn": ours, "numpy": dying}, doubled),
        Benchmark("raising", "8", {"burn": raising, "numpy": missing}, doubled),
        Benchmark("unknown", "8", {"burn": ours}, unavailable),
        Benchmark("sleeping", "8", {"numpy": sleeping}, doubled),
    ]
