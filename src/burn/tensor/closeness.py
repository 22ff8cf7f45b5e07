"""Closeness: how much of a tensor agrees with another one, at eight tolerances.

    check_closeness(output, expected)

prints, for each tolerance from 1e-1 to 1e-8, the share of elements with
`|output - expected| <= eps + eps * |expected|`. NaN is close to nothing, an infinity to itself.
The labels are green, yellow and red unless the environment variable NO_COLOR is set.
"""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

import numpy as np

from burn.errors import ShapeError
from burn.tensor.data import TensorData

Label = Literal["PASS", "WARN", "FAIL"]

EPSILONS = tuple(10.0**-power for power in range(1, 9))
WARN_FROM = 90.0
"""The percentage of close elements from which a tolerance only warns."""

_COLOURS = {"PASS": "32", "WARN": "33", "FAIL": "31"}
_BOLD = "1"


class Closeness(NamedTuple):
    """How many elements are close at one tolerance: `close` of `total` at `epsilon`.

    >>> from burn.tensor.closeness import Closeness
    >>> Closeness(0.1, 9, 10).percentage, Closeness(0.1, 9, 10).label
    (90.0, 'WARN')
    """

    epsilon: float
    close: int
    total: int

    @property
    def percentage(self) -> float:
        """The share of close elements, in percent; 100 where there are none at all."""
        return 100.0 * self.close / self.total if self.total else 100.0

    @property
    def label(self) -> Label:
        """`PASS` when all are close, `WARN` from 90 percent, otherwise `FAIL`."""
        if self.close == self.total:
            return "PASS"
        return "WARN" if self.percentage >= WARN_FROM else "FAIL"


def measure_closeness(output: Any, expected: Any) -> list[Closeness]:
    """Count the close elements at each of the eight tolerances."""
    left, right = TensorData(output), TensorData(expected)
    if left.shape != right.shape:
        raise ShapeError(f"check_closeness: the output is {left.shape} and {right.shape} was expected")
    x, y = left.numpy().astype(np.float64), right.numpy().astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(x) & np.isfinite(y)
        distance, size, equal = np.abs(x - y), np.abs(y), x == y
        counts = [np.count_nonzero((finite & (distance <= eps + eps * size)) | equal) for eps in EPSILONS]
    return [Closeness(eps, int(count), x.size) for eps, count in zip(EPSILONS, counts, strict=True)]


def closeness_report(results: list[Closeness], colour: bool = True) -> str:
    """The printed report: a header, one line per tolerance, a footer."""

    def paint(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colour else text

    lines = [paint(_BOLD, "Closeness of output and expected"), paint(_BOLD, "=" * 56)]
    width = max((len(str(each.total)) for each in results), default=1)
    for each in results:
        label = paint(_COLOURS[each.label], f"[{each.label}]")
        share = f"{each.close:>{width}}/{each.total} elements within tolerance"
        lines.append(f"{label} epsilon {each.epsilon:.0e}: {share} ({each.percentage:.2f}%)")
    lines.append(paint(_BOLD, "=" * 56))
    return "\n".join(lines)


def check_closeness(output: Any, expected: Any) -> list[Closeness]:
    """Print how close two tensors are at eight tolerances, the `output` and what was `expected`, and return the counts.

    >>> from burn.tensor import check_closeness
    >>> results = check_closeness(burn.tensor([1.0, 2.0]), burn.tensor([1.0, 2.001]))
    Closeness...
    >>> results[0].label, results[7].percentage
    ('PASS', 50.0)
    """
    results = measure_closeness(output, expected)
    print(closeness_report(results, colour=not os.environ.get("NO_COLOR")))
    return results
