"""Epochs for tests of metrics: the same items as a whole and in batches of different sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import burn
from burn import Device, NdArray
from burn.train.metric import Metric, MetricMetadata
from burn.train.progress import Progress

SIZES = (7, 1, 20, 3, 12, 5)
TOTAL = sum(SIZES)


def parts(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """The arrays cut into batches."""
    begin = 0
    for size in SIZES:
        yield tuple(array[begin : begin + size] for array in arrays)
        begin += size


def epoch(metric: Metric[Any], make: Callable[..., Any], *arrays: Any, device: Device | None = None) -> Any:
    """The value of a metric after an epoch of batches; the arrays as tensors of a device."""
    done = 0
    metric.clear()
    for part in parts(*arrays):
        done += len(part[0])
        tensors = (
            burn.tensor(each, device=device or NdArray()) if isinstance(each, np.ndarray) else each for each in part
        )
        metric.update(make(*tensors), MetricMetadata(Progress(done, TOTAL)))
    return metric.running_value()  # type: ignore[attr-defined]


def once(metric: Metric[Any], item: Any) -> float:
    """The value of a metric for one batch."""
    metric.update(item, MetricMetadata.fake())
    return metric.value()  # type: ignore[attr-defined, no-any-return]


def scores(classes: int, seed: int = 0, digits: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Logits (items, classes) and classes (items,); few digits give equal scores."""
    random = np.random.default_rng(seed)
    targets = random.integers(0, classes, TOTAL)
    logits = random.normal(0, 1, (TOTAL, classes)) + 1.2 * (targets[:, None] == np.arange(classes))
    return (logits if digits is None else logits.round(digits)).astype(np.float32), targets


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax in float64."""
    powers = np.exp(logits.astype(np.float64))
    return powers / powers.sum(1, keepdims=True)
