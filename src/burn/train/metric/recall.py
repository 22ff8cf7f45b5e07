"""How much of what is true was predicted."""

from __future__ import annotations

from burn.train.metric.classification import ClassReduction, ConfusionStatsMetric, DecisionRule, ratio
from burn.train.metric.host import Array


class RecallMetric(ConfusionStatsMetric):
    """True positives of all that is true, in percent. Make one with `binary`, `multiclass` or `multilabel`."""

    @classmethod
    def binary(cls, threshold: float = 0.5, *, sigmoid: bool = False) -> RecallMetric:
        """One score for each item; `sigmoid` where they are logits."""
        return cls("Recall", DecisionRule.Threshold(threshold), ClassReduction.Macro, False, sigmoid)

    @classmethod
    def multiclass(cls, top_k: int = 1, class_reduction: ClassReduction = ClassReduction.Macro) -> RecallMetric:
        """The `top_k` highest scores of an item are its predictions."""
        return cls("Recall", DecisionRule.TopK(top_k), class_reduction, False)

    @classmethod
    def multilabel(
        cls,
        threshold: float = 0.5,
        class_reduction: ClassReduction = ClassReduction.Macro,
        *,
        sigmoid: bool = False,
    ) -> RecallMetric:
        """Every score above the threshold is a prediction; `sigmoid` where scores are logits."""
        return cls("Recall", DecisionRule.Threshold(threshold), class_reduction, True, sigmoid)

    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """tp / (tp + fn)."""
        return ratio(tp, tp + fn)
