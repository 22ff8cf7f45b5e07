"""Precision and recall in one number."""

from __future__ import annotations

from burn.errors import ArgumentError
from burn.train.metric.classification import ClassReduction, ConfusionStatsMetric, DecisionRule, ratio
from burn.train.metric.host import Array


class FBetaScoreMetric(ConfusionStatsMetric):
    """The weighted harmonic mean of precision and recall, in percent; recall weighs `beta` times as much.

    Make one with `binary`, `multiclass` or `multilabel`.

    `threshold` and `top_k` are what counts as a prediction (`rule`), `class_reduction` (`reduction`) is Macro if
    nothing is said; `labels` says that several may be true of an item, `sigmoid` that scores are logits.

    >>> from burn.train.metric import ConfusionStatsInput, FBetaScoreMetric, MetricMetadata
    >>> metric = FBetaScoreMetric.multiclass(beta=1.0)
    >>> batch = ConfusionStatsInput([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1])
    >>> metric.update(batch, MetricMetadata.fake()).formatted, metric.name()
    ('epoch 66.67 % - batch 66.67 %', 'FBetaScore (1.0) @ TopK(1) [Macro]')
    """

    def __init__(
        self, beta: float, rule: DecisionRule, reduction: ClassReduction, labels: bool, sigmoid: bool = False
    ) -> None:
        if beta <= 0:
            raise ArgumentError(f"FBetaScoreMetric: beta = {beta}, how much recall weighs, is above 0")
        super().__init__(f"FBetaScore ({beta})", rule, reduction, labels, sigmoid)
        self.beta = beta

    @classmethod
    def binary(cls, beta: float = 1.0, threshold: float = 0.5, *, sigmoid: bool = False) -> FBetaScoreMetric:
        """One score for each item; `sigmoid` where they are logits."""
        return cls(beta, DecisionRule.Threshold(threshold), ClassReduction.Macro, False, sigmoid)

    @classmethod
    def multiclass(
        cls, beta: float = 1.0, top_k: int = 1, class_reduction: ClassReduction = ClassReduction.Macro
    ) -> FBetaScoreMetric:
        """The `top_k` highest scores of an item are its predictions."""
        return cls(beta, DecisionRule.TopK(top_k), class_reduction, False)

    @classmethod
    def multilabel(
        cls,
        beta: float = 1.0,
        threshold: float = 0.5,
        class_reduction: ClassReduction = ClassReduction.Macro,
        *,
        sigmoid: bool = False,
    ) -> FBetaScoreMetric:
        """Every score above the threshold is a prediction; `sigmoid` where scores are logits."""
        return cls(beta, DecisionRule.Threshold(threshold), class_reduction, True, sigmoid)

    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """(1 + β²) tp / ((1 + β²) tp + β² fn + fp)."""
        square = self.beta * self.beta
        right = (1 + square) * tp
        return ratio(right, right + square * fn + fp)
