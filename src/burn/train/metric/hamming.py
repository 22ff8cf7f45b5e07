"""How many labels of a multi-label task are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from burn.train.metric.host import Values, same_shape, sigmoid
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class HammingScoreInput:
    """Scores (`outputs`) and what is true (`targets`), both (items, labels).

    >>> from burn.train.metric import HammingScore, HammingScoreInput, MetricMetadata
    >>> batch = HammingScoreInput([[0.9, 0.1, 0.6]], [[1, 0, 0]])
    >>> HammingScore().update(batch, MetricMetadata.fake()).formatted
    'epoch 66.67 % - batch 66.67 %'
    """

    outputs: Values
    targets: Values


class HammingScore(StateMetric[HammingScoreInput]):
    """The share of labels on whose presence the prediction and the target agree, in percent.

    A label is predicted where its score is above `threshold`; say `sigmoid=True` where scores are logits.

    >>> from burn.train.metric import HammingScore, HammingScoreInput, MetricMetadata
    >>> metric = HammingScore(threshold=0.5, sigmoid=True)
    >>> metric.update(HammingScoreInput([[2.0, -2.0], [0.5, 0.5]], [[1, 0], [1, 0]]), MetricMetadata.fake()).formatted
    'epoch 75.00 % - batch 75.00 %'
    """

    input_type: ClassVar[type | None] = HammingScoreInput
    unit = "%"

    def __init__(self, threshold: float = 0.5, sigmoid: bool = False) -> None:
        super().__init__(f"Hamming Score @ Threshold({threshold})")
        self.threshold = threshold
        self.sigmoid = sigmoid

    def with_threshold(self, threshold: float) -> Self:
        """The score above which a label counts as predicted."""
        self.threshold = threshold
        return self.with_name(f"Hamming Score @ Threshold({threshold})")

    def with_sigmoid(self, sigmoid: bool) -> Self:
        """Whether scores are logits."""
        self.sigmoid = sigmoid
        return self

    def update(self, item: HammingScoreInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        scores, targets = same_shape(self._name, item.outputs, item.targets)
        predicted = (sigmoid(scores) if self.sigmoid else scores) > self.threshold
        right = int(np.count_nonzero(predicted == targets.astype(bool)))
        return self.mean(100.0 * right / max(1, targets.size), targets.size)
