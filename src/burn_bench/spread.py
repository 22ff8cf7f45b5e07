"""Medians, quartiles and verdicts.

A ratio compares two engines in the same block, so a slow second of the machine touches both. It is
*met* when the median over the blocks reaches the target and the lower quartile 95 % of it. What two
copies of one engine differ by in the same run is the noise: a ratio short of its target by less reads
*level*.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LEAST_BLOCKS = 7
"""Fewer blocks give times, but no verdict."""

MOST_NOISE = 0.25
"""An engine that strays further from itself was not measured."""

SLACK = 0.95
"""How much of the target the lower quartile must reach."""


class Spread(NamedTuple):
    """Lower quartile, median and upper quartile."""

    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """The quartiles of at least one value."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(low, median, high)


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Block by block, how many times faster we are."""
    return [other / own for own, other in zip(ours, theirs, strict=True)]


def noise_of(first: Sequence[float], second: Sequence[float]) -> float:
    """How far the ratio of an engine to itself strays from 1."""
    found = spread(ratios(first, second))
    return max(abs(value - 1) for value in found)


def best_of(peers: Mapping[str, Sequence[float]]) -> str:
    """The peer with the smallest median time."""
    return min(peers, key=lambda name: statistics.median(peers[name]))


def verdict(values: Sequence[float], at_least: float, aim: float | None = None, noise: float = 0.0) -> str:
    """`aim`, `met`, `level` or `missed`; `unsure` where there were too few blocks or too much noise to say."""
    if len(values) < LEAST_BLOCKS or noise > MOST_NOISE:
        return "unsure"
    found = spread(values)
    for name, target in (("aim", aim), ("met", at_least), ("level", at_least * (1 - noise))):
        if target is not None and found.median >= target and found.low >= SLACK * target:
            return name
    return "missed"


def limit_verdict(value: Spread, limit: float, processes: int) -> str:
    """Whether something that must stay small does: `met`, `MISSED`, or `unsure` after too few processes."""
    if processes < LEAST_BLOCKS:
        return f"unsure (fewer than {LEAST_BLOCKS} processes)"
    return "met" if value.median <= limit and value.high <= limit / SLACK else "MISSED"


def direction(values: Sequence[float], noise: float) -> str:
    """`faster`, `slower` or `level`, for ratios without a target."""
    found = spread(values)
    if abs(found.median - 1) <= noise or found.low <= 1 <= found.high:
        return "level"
    return "faster" if found.median > 1 else "slower"
