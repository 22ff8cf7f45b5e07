"""How much of what is true was predicted."""

from __future__ import annotations

from burn.train.metric.classification import RatioMetric, ratio
from burn.train.metric.host import Array


class RecallMetric(RatioMetric):
    """True positives of all that is true, in percent. Make one with `binary`, `multiclass` or `multilabel`.

    `threshold` or `top_k` say what counts as a prediction, `class_reduction` is a `ClassReduction` (Macro). The
    class itself takes a `title`, a `rule`, a `reduction`, and whether there are several `labels` and a `sigmoid`.

    >>> from burn.train.metric import ConfusionStatsInput, MetricMetadata, RecallMetric
    >>> metric = RecallMetric.binary(threshold=0.5)
    >>> metric.update(ConfusionStatsInput([0.9, 0.8, 0.3], [1, 0, 1]), MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """

    title = "Recall"

    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """True positives by all that is true: `tp / (tp + fn)`."""
        return ratio(tp, tp + fn)
