"""How often the class with the highest score is the right one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from burn.errors import ArgumentError
from burn.train.metric.host import Array, Values, scores_and_classes
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class AccuracyInput:
    """Scores (`outputs`: items, classes) and the right classes (`targets`: items); both may have a dim of length.

    >>> from burn.train.metric import AccuracyInput, AccuracyMetric, MetricMetadata
    >>> batch = AccuracyInput([[0.1, 0.9], [0.8, 0.2]], [1, 1])
    >>> AccuracyMetric().update(batch, MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """

    outputs: Values
    targets: Values


@dataclass(frozen=True)
class TopKAccuracyInput(AccuracyInput):
    """What `AccuracyInput` is, for the top-k accuracy: scores (`outputs`) and the right classes (`targets`).

    >>> from burn.train.metric import MetricMetadata, TopKAccuracyInput, TopKAccuracyMetric
    >>> batch = TopKAccuracyInput([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1]], [2, 2])
    >>> TopKAccuracyMetric(2).update(batch, MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """


class AccuracyMetric(StateMetric[AccuracyInput]):
    """The share of items whose highest score is that of the right class, in percent.

    Items whose target is `pad_token` are left out. In a training nobody calls `update`: the learner does.

    `name` is how it is shown and logged. `with_pad_token` takes the index of a class.

    >>> from burn.train.metric import AccuracyInput, AccuracyMetric, MetricMetadata
    >>> metric = AccuracyMetric(pad_token=0)
    >>> batch = AccuracyInput([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0], [0.3, 0.3, 0.4]], [1, 0, 1])
    >>> metric.update(batch, MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """

    input_type: ClassVar[type | None] = AccuracyInput
    unit = "%"

    def __init__(self, pad_token: int | None = None, *, name: str = "Accuracy") -> None:
        super().__init__(name)
        self.pad_token = pad_token

    def with_pad_token(self, index: int) -> Self:
        """Leave out items whose target is this class."""
        self.pad_token = index
        return self

    def update(self, item: AccuracyInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        scores, classes = scores_and_classes(self._name, item.outputs, item.targets)
        right = self.right(scores, classes)
        if self.pad_token is not None:
            right = right[classes != self.pad_token]
        count = right.size
        return self.mean(100.0 * int(np.count_nonzero(right)) / count if count else math.nan, count)

    def right(self, scores: Array, classes: Array) -> Array:
        """Which items are right, of `scores` (items, classes) and the right `classes`."""
        found: Array = scores.argmax(1) == classes
        return found


class TopKAccuracyMetric(AccuracyMetric):
    """The share of items whose right class is among the `k` highest scores, in percent.

    Items whose target is `pad_token` are left out.

    >>> from burn.train.metric import MetricMetadata, TopKAccuracyInput, TopKAccuracyMetric
    >>> metric = TopKAccuracyMetric(k=2)
    >>> batch = TopKAccuracyInput([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1]], [2, 0])
    >>> metric.update(batch, MetricMetadata.fake()).formatted
    'epoch 100.00 % - batch 100.00 %'
    """

    input_type: ClassVar[type | None] = TopKAccuracyInput

    def __init__(self, k: int, pad_token: int | None = None) -> None:
        if k < 1:
            raise ArgumentError(
                f"TopKAccuracyMetric: k = {k}, the number of classes that count as found, is at least 1"
            )
        super().__init__(pad_token, name=f"Top-K Accuracy @ TopK({k})")
        self.k = k

    def right(self, scores: Array, classes: Array) -> Array:
        """Which items have their class among the first `k`."""
        found: Array = places(scores, classes) < self.k
        return found


def places(scores: Array, classes: Array) -> Array:
    """How many classes come before the right one. Of equal scores the first class is ahead; NaN is ahead of all.

    A class that has no score, such as the index of padding, comes after all of them.
    """
    count = scores.shape[1]
    known = (classes >= 0) & (classes < count)
    column = np.where(known, classes, 0)[:, None]
    own = np.take_along_axis(scores, column, 1)
    ahead = ~(scores <= own)
    ahead |= (scores == own) & (np.arange(count) < column)
    found: Array = np.where(known, ahead.sum(1), count)
    return found
