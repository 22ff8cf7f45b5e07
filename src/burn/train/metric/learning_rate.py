"""The learning rate of each step."""

from __future__ import annotations

import math
from typing import Any

from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


class LearningRateMetric(StateMetric[Any]):
    """The learning rate, as the metadata of the step gives it. There is none in validation.

    >>> from burn.train.metric import LearningRateMetric, MetricMetadata
    >>> from burn.train import Progress
    >>> LearningRateMetric().update(None, MetricMetadata(Progress(32, 128), lr=1e-3)).formatted
    'epoch 0.001000 - batch 0.001000'
    """

    higher_is_better = None
    significant = 4

    def __init__(self) -> None:
        super().__init__("Learning Rate")

    def update(self, item: Any, metadata: MetricMetadata) -> MetricEntry:
        """Take in the rate of a step."""
        if metadata.lr is None:
            return self.mean(math.nan, 0)
        return self.mean(float(metadata.lr), 1)
