"""How many of the predictions are right."""

from __future__ import annotations

from burn.train.metric.classification import RatioMetric, ratio
from burn.train.metric.host import Array


class PrecisionMetric(RatioMetric):
    """True positives of all that was predicted, in percent. Make one with `binary`, `multiclass` or `multilabel`."""

    title = "Precision"

    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """tp / (tp + fp)."""
        return ratio(tp, tp + fp)
