"""A run of benchmarks as if it had been measured."""

from __future__ import annotations

from burn_bench.benchmark import Target
from burn_bench.results import Measurement, Outcome, Run


def a_run(ours: float = 1.0, date: str = "2026-01-02T03:04:05Z", commit: str = "abc1234") -> Run:
    """A run with seven blocks in which `cpu` takes `ours` milliseconds and torch 3."""
    target = Target("cpu", ("torch", "jax"), 2.0, 4.0)
    outcome = Outcome("softmax", "64x64", "softmax/64x64", "over rows", 8192, [target])
    steady = [ours * 1e-3 * factor for factor in (1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0)]
    outcome.engines["cpu"] = Measurement(steady, 1e-7)
    outcome.engines["torch"] = Measurement([3e-3] * 7, 1e-7, faults=1000.0)
    outcome.engines["jax"] = Measurement(failure="not installed (jax)", kind="absent")
    outcome.engines["numpy"] = Measurement(failure="result 0 is off by 2.0e-01", kind="wrong")
    outcome.engines["copy"] = Measurement([0.5e-3] * 7)
    outcome.again["cpu"] = list(reversed(steady))
    place = {"processor": "a processor", "cores": 2, "threads": 2, "python": "3.11.0"}
    settings = {"blocks": 7, "seconds": 0.3}
    versions = {"cpu": "0.1.0", "torch": "2.0", "jax": "not installed (jax)"}
    return Run(date, commit, "0.1.0", place, settings, ["cpu"], versions, [outcome], {"others": 0.3, "stolen": 0.0})
