"""Precision, recall and their relatives: what counts as a prediction, and how classes are brought together.

A *decision rule* makes predictions of scores: those above a threshold, or the k highest. True and false positives and
negatives are counted for each class over the whole epoch, so the last value of an epoch is that of all its items at
once. `Micro` adds the counts of all classes first, `Macro` takes the mean of the classes' values.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.train.metric.host import Array, Values, host, sigmoid
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


class ClassReduction(Enum):
    """How the values of several classes become one: `Macro` lets every class weigh the same, `Micro` every decision.

    >>> from burn.train.metric import ClassReduction, ConfusionStatsInput, MetricMetadata, PrecisionMetric
    >>> batch = ConfusionStatsInput([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]], [0, 0, 1, 1])
    >>> for reduction in ClassReduction:
    ...     metric = PrecisionMetric.multiclass(class_reduction=reduction)
    ...     print(metric.name(), metric.update(batch, MetricMetadata.fake()).formatted)
    Precision @ TopK(1) [Micro] epoch 75.00 % - batch 75.00 %
    Precision @ TopK(1) [Macro] epoch 83.33 % - batch 83.33 %
    """

    Micro = "Micro"
    """Every decision weighs the same: counts are added before the ratio is taken."""
    Macro = "Macro"
    """Every class weighs the same: the mean of the classes' values."""


@dataclass(frozen=True)
class DecisionRule:
    """What counts as a prediction: `DecisionRule.Threshold(0.5)` or `DecisionRule.TopK(1)`, a `kind` with its `number`.

    >>> from burn.train.metric import ClassReduction, DecisionRule, FBetaScoreMetric
    >>> FBetaScoreMetric(2.0, DecisionRule.TopK(1), ClassReduction.Micro, labels=False).name()
    'FBetaScore (2.0) @ TopK(1) [Micro]'
    """

    kind: str
    number: float

    @staticmethod
    def Threshold(threshold: float) -> DecisionRule:
        """Each score above the threshold."""
        return DecisionRule("Threshold", threshold)

    @staticmethod
    def TopK(k: int) -> DecisionRule:
        """The k highest scores of an item."""
        if k < 1:
            raise ArgumentError(f"TopK: k = {k}, the number of classes that are predicted, is at least 1")
        return DecisionRule("TopK", k)

    def __str__(self) -> str:
        return f"{self.kind}({self.number})"


@dataclass(frozen=True)
class ConfusionStatsInput:
    """Scores (`predictions`: items, classes), and `targets`: a table of what is true, or classes (items,).

    >>> from burn.train.metric import ConfusionStatsInput, MetricMetadata, RecallMetric
    >>> batch = ConfusionStatsInput([[0.9, 0.1], [0.6, 0.7]], [[1, 0], [0, 1]])
    >>> RecallMetric.multilabel(threshold=0.5).update(batch, MetricMetadata.fake()).formatted
    'epoch 100.00 % - batch 100.00 %'
    """

    predictions: Values
    targets: Values


class ConfusionStats:
    """True positives, false positives and false negatives of each class; adds up.

    It is made of the table `true_positive`, of what was `predicted` and what is `actual`, summed by class, and the
    number of `items`; `of` does this for a batch.

    >>> from burn.train.metric import ConfusionStats, ConfusionStatsInput, DecisionRule
    >>> batch = ConfusionStatsInput([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1])
    >>> stats = ConfusionStats.of("mine", batch, DecisionRule.TopK(1))
    >>> stats.true_positive, stats.false_positive, stats.items
    (array([1, 1]), array([1, 0]), 3)
    """

    __slots__ = ("true_positive", "false_positive", "false_negative", "items")

    def __init__(self, true_positive: Array, predicted: Array, actual: Array, items: int) -> None:
        self.true_positive = true_positive
        self.false_positive = predicted - true_positive
        self.false_negative = actual - true_positive
        self.items = items

    @property
    def true_negative(self) -> Array:
        """The decisions that are neither."""
        rest: Array = self.items - self.true_positive - self.false_positive - self.false_negative
        return rest

    def __iadd__(self, other: ConfusionStats) -> ConfusionStats:
        self.true_positive = self.true_positive + other.true_positive
        self.false_positive = self.false_positive + other.false_positive
        self.false_negative = self.false_negative + other.false_negative
        self.items += other.items
        return self

    def __repr__(self) -> str:
        return (
            f"ConfusionStats(tp={self.true_positive.tolist()}, fp={self.false_positive.tolist()}, "
            f"fn={self.false_negative.tolist()}, tn={self.true_negative.tolist()})"
        )

    @staticmethod
    def of(name: str, item: ConfusionStatsInput, rule: DecisionRule, sigmoid_first: bool = False) -> ConfusionStats:
        """The counts of a batch (`item`) under a `rule`, with a sigmoid over the scores if `sigmoid_first`.

        `name` is that of the metric, for errors.
        """
        scores, targets = host(item.predictions), host(item.targets)
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.ndim > 2:
            table = targets.shape == scores.shape
            scores = scores.reshape(-1, scores.shape[-1])
            targets = targets.reshape(scores.shape) if table else targets.reshape(-1)
        classes = scores.shape[1]
        if targets.shape not in (scores.shape, scores.shape[:1]):
            raise ShapeError(
                f"{name}: targets of shape {targets.shape} do not fit predictions of shape {scores.shape}; "
                "give a table of the same shape, or one class for each item"
            )
        if rule.kind == "TopK":
            return _of_highest(name, scores, targets, int(rule.number))
        if targets.ndim == 1:
            if classes > 1:
                targets = targets[:, None] == np.arange(classes)
            else:
                targets = targets[:, None]
        predicted = (sigmoid(scores) if sigmoid_first else scores) > rule.number
        return _of_tables(predicted, targets.astype(bool))


def _of_tables(predicted: Array, actual: Array) -> ConfusionStats:
    return ConfusionStats((predicted & actual).sum(0), predicted.sum(0), actual.sum(0), len(actual))


def _of_highest(name: str, scores: Array, targets: Array, k: int) -> ConfusionStats:
    classes = scores.shape[1]
    if k >= classes:
        raise ArgumentError(
            f"{name}: the {k} highest of {classes} classes are all of them; take a smaller k"
            + ("; for one column of scores use .binary(threshold)" if classes == 1 else "")
        )
    if k > 1:
        highest = np.zeros(scores.shape, bool)
        # A stable order, so that of equal scores the first class counts, as with k = 1.
        np.put_along_axis(highest, np.argsort(-scores, axis=1, kind="stable")[:, :k], True, 1)
        actual = targets.astype(bool) if targets.ndim == 2 else targets[:, None] == np.arange(classes)
        return _of_tables(highest, actual)
    if targets.ndim == 2:
        highest = np.zeros(scores.shape, bool)
        np.put_along_axis(highest, scores.argmax(1)[:, None], True, 1)
        return _of_tables(highest, targets.astype(bool))
    found = scores.argmax(1)
    return ConfusionStats(
        np.bincount(found[found == targets], minlength=classes),
        np.bincount(found, minlength=classes),
        np.bincount(targets, minlength=classes)[:classes],
        len(found),
    )


def ratio(numerator: Array, denominator: Array) -> Array:
    """Elementwise, and 0 where both are 0."""
    result: Array = np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)
    return result


class ConfusionStatsMetric(StateMetric[ConfusionStatsInput]):
    """The base of metrics that are a ratio of counts, such as precision: a subclass writes `of_counts`.

    A class with nothing to divide by has 0; one that never occurs is left out of the mean. (Labels of a multi-label
    task always count, as in scikit-learn.)

    `title` is the name without its parameters, `rule` a `DecisionRule`, `reduction` a `ClassReduction`; `labels`
    says that several may be true of an item, `sigmoid` that scores are logits. `tp`, `fp` and `fn` are arrays of
    counts, one for each class.

    >>> from burn.train.metric import ClassReduction, ConfusionStatsInput, ConfusionStatsMetric, DecisionRule
    >>> from burn.train.metric import MetricMetadata
    >>> class Jaccard(ConfusionStatsMetric):
    ...     def of_counts(self, tp, fp, fn):
    ...         return tp / (tp + fp + fn)
    >>> metric = Jaccard("Jaccard", DecisionRule.TopK(1), ClassReduction.Macro, labels=False)
    >>> batch = ConfusionStatsInput([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1])
    >>> metric.update(batch, MetricMetadata.fake()).formatted, metric.per_class()
    ('epoch 50.00 % - batch 50.00 %', array([50., 50.]))
    """

    input_type: ClassVar[type | None] = ConfusionStatsInput
    unit = "%"

    def __init__(
        self, title: str, rule: DecisionRule, reduction: ClassReduction, labels: bool, sigmoid: bool = False
    ) -> None:
        reduction = ClassReduction(reduction)
        super().__init__(f"{title} @ {rule} [{reduction.name}]")
        self.rule = rule
        self.reduction = reduction
        self.labels = labels
        self.sigmoid = sigmoid
        self.stats: ConfusionStats | None = None
        """The counts of the epoch so far."""

    def update(self, item: ConfusionStatsInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        batch = ConfusionStats.of(self._name, item, self.rule, self.sigmoid)
        if len(batch.true_positive) > 1 and self.rule.kind == "Threshold" and not self.labels:
            raise ShapeError(
                f"{self._name}: binary takes one score for each item, got {len(batch.true_positive)} columns; "
                f"use {type(self).__name__}.multiclass(...) for classes or .multilabel(...) for labels"
            )
        current = self._reduced(batch)
        if self.stats is None:
            self.stats = batch
        else:
            self.stats += batch
        return self.totals(current, self._reduced(self.stats), batch.items)

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self.stats = None

    def per_class(self) -> Array:
        """The values of the classes over the epoch so far, in percent."""
        if self.stats is None:
            return np.zeros(0)
        stats = self.stats
        return 100.0 * self.of_counts(stats.true_positive, stats.false_positive, stats.false_negative)

    @abstractmethod
    def of_counts(self, tp: Array, fp: Array, fn: Array) -> Array:
        """The values of classes with these true positives, false positives and false negatives."""

    def _reduced(self, stats: ConfusionStats) -> float:
        tp, fp, fn = stats.true_positive, stats.false_positive, stats.false_negative
        if self.reduction is ClassReduction.Micro or len(tp) == 1:
            tp, fp, fn = (each.sum(keepdims=True) for each in (tp, fp, fn))
            return 100.0 * float(self.of_counts(tp, fp, fn)[0])
        values = self.of_counts(tp, fp, fn)
        if not self.labels:
            values = values[tp + fp + fn > 0]
        return 100.0 * float(values.mean()) if len(values) else 0.0


class RatioMetric(ConfusionStatsMetric):
    """A ratio of counts that has no parameters of its own: `title` is its name."""

    title: ClassVar[str]

    @classmethod
    def binary(cls, threshold: float = 0.5, *, sigmoid: bool = False) -> Self:
        """One score for each item; `sigmoid` where they are logits."""
        return cls(cls.title, DecisionRule.Threshold(threshold), ClassReduction.Macro, False, sigmoid)

    @classmethod
    def multiclass(cls, top_k: int = 1, class_reduction: ClassReduction = ClassReduction.Macro) -> Self:
        """The `top_k` highest scores of an item are its predictions."""
        return cls(cls.title, DecisionRule.TopK(top_k), class_reduction, False)

    @classmethod
    def multilabel(
        cls,
        threshold: float = 0.5,
        class_reduction: ClassReduction = ClassReduction.Macro,
        *,
        sigmoid: bool = False,
    ) -> Self:
        """Every score above the threshold is a prediction; `sigmoid` where scores are logits."""
        return cls(cls.title, DecisionRule.Threshold(threshold), class_reduction, True, sigmoid)
