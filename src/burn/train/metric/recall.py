"""How much of what is true was predicted."""

from __future__ import annotations

from burn.train.metric.classification import RatioMetric, ratio
from burn.train.metric.host import Array


class RecallMetric(RatioMetric):
    """True positives of all that is true, in percent. Make one with `binary`, `multiclass` or `multilabel`."""

    title = "Recall"

    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """tp / (tp + fn)."""
        return ratio(tp, tp + fn)
