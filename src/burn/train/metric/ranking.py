"""Areas under curves: how well scores rank what is true before what is not.

These values depend on all scores of an epoch at once, so the scores are kept. Recomputing at every batch would cost
more the longer the epoch is: while an epoch is long, its value is renewed each time the number of items has grown by an
eighth and with the last batch, and `compute()` gives it at any time.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from burn.errors import ShapeError
from burn.train.metric.classification import ClassReduction
from burn.train.metric.host import Array, Values, host, softmax
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata

SMALL = 2048
"""Up to so many items the epoch's value is renewed with every batch."""


@dataclass(frozen=True)
class RankingInput:
    """Scores (`outputs`: items, classes, or items alone), and `targets`: classes (items,), or a table of what is true.

    Scores are probabilities or logits of a softmax: rows that are no probabilities are made some.

    >>> from burn.train.metric import AurocMetric, MetricMetadata, RankingInput
    >>> batch = RankingInput([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0])
    >>> AurocMetric.binary().update(batch, MetricMetadata.fake()).formatted
    'epoch 75.00 % - batch 75.00 %'
    """

    outputs: Values
    targets: Values


class RankingMetric(StateMetric[RankingInput]):
    """An area under a curve for each class, brought together."""

    unit = "%"
    title: ClassVar[str]
    undefined: float

    def __init__(self, kind: str = "multiclass", class_reduction: ClassReduction = ClassReduction.Macro) -> None:
        self.reduction = ClassReduction(class_reduction)
        super().__init__(f"{self.title} [{self.reduction.name}]")
        self.kind = kind
        self._begin()

    @classmethod
    def binary(cls) -> Self:
        """One score for each item, or one for each of two classes."""
        return cls("binary")

    @classmethod
    def multiclass(cls, class_reduction: ClassReduction = ClassReduction.Macro) -> Self:
        """Classes that exclude each other, each against the rest."""
        return cls("multiclass", class_reduction)

    @classmethod
    def multilabel(cls, class_reduction: ClassReduction = ClassReduction.Macro) -> Self:
        """Labels that may be true together."""
        return cls("multilabel", class_reduction)

    def _begin(self) -> None:
        self._scores: list[Array] = []
        self._truths: list[Array] = []
        self._items = 0
        self._computed_for = 0
        self._epoch = math.nan

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._begin()

    def update(self, item: RankingInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        scores, truths = self._tables(host(item.outputs), host(item.targets))
        # Tensors of a captured step may be overwritten once they are given back: what is kept is a copy.
        self._scores.append(np.array(scores, np.float64 if scores.dtype == np.float64 else np.float32))
        self._truths.append(truths)
        self._items += len(scores)
        current = self._reduced(scores, truths)
        progress = metadata.progress
        if (
            self._items <= SMALL
            or self._items >= self._computed_for * 9 // 8
            or progress.items_processed >= progress.items_total
        ):
            self._renew()
        return self.totals(current, self._epoch, len(scores))

    def compute(self) -> float:
        """The value of the epoch so far, exactly."""
        if self._computed_for != self._items:
            self._renew()
        return self._epoch

    def _renew(self) -> None:
        if len(self._scores) > 1:
            self._scores = [np.concatenate(self._scores)]
            self._truths = [np.concatenate(self._truths)]
        self._epoch = self._reduced(self._scores[0], self._truths[0]) if self._scores else math.nan
        self._computed_for = self._items

    def _tables(self, scores: Array, targets: Array) -> tuple[Array, Array]:
        """Both as (items, classes); one class where there are only two that exclude each other."""
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.ndim != 2 or targets.shape not in (scores.shape, scores.shape[:1]):
            raise ShapeError(
                f"{self._name}: needs scores (items, classes) and targets (items,) or (items, classes), "
                f"got {scores.shape} and {targets.shape}"
            )
        classes = scores.shape[1]
        if self.kind == "multilabel" or classes == 1:
            if classes > 1 and targets.ndim == 1:
                raise ShapeError(f"{self._name}: {classes} labels need targets of shape {scores.shape}")
            return scores, targets.reshape(scores.shape).astype(bool)
        if targets.ndim == 2:
            targets = targets.argmax(1)
        if classes == 2:
            # Monotonic in the probability of the second class, for logits and for probabilities.
            return scores[:, 1:] - scores[:, :1], (targets == 1)[:, None]
        if self.kind == "binary":
            raise ShapeError(
                f"{self._name}: binary takes one or two columns of scores, got {scores.shape}; "
                f"use {type(self).__name__}.multiclass() for {classes} classes"
            )
        if scores.min() < 0 or scores.max() > 1 or abs(scores.sum(1) - 1).max() > 1e-3:
            scores = softmax(scores)
        return scores, targets[:, None] == np.arange(classes)

    def _reduced(self, scores: Array, truths: Array) -> float:
        if self.reduction is ClassReduction.Micro:
            scores, truths = scores.reshape(-1, 1), truths.reshape(-1, 1)
        areas = [self.area(scores[:, each], truths[:, each]) for each in range(scores.shape[1])]
        defined = [area for area in areas if area == area]
        return 100.0 * (sum(defined) / len(defined) if defined else self.undefined)

    @abstractmethod
    def area(self, scores: Array, truths: Array) -> float:
        """The area of one class, of `scores` and `truths`; NaN where it is not defined."""


class AurocMetric(RankingMetric):
    """The area under the receiver operating characteristic, in percent: how often a true item is ahead of another.

    Make one with `binary`, `multiclass` (each class against the rest) or `multilabel`, which is its `kind`;
    `class_reduction` is Macro, if nothing is said. Equal scores count half. A batch with one kind of items only counts
    as 50 %.

    >>> from burn.train.metric import AurocMetric, MetricMetadata, RankingInput
    >>> metric = AurocMetric.multiclass()
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.4, 0.1, 0.5], [0.1, 0.6, 0.3]]
    >>> metric.update(RankingInput(scores, [0, 1, 2, 2]), MetricMetadata.fake()).formatted
    'epoch 84.72 % - batch 84.72 %'
    """

    input_type: ClassVar[type | None] = RankingInput
    title = "AUROC"
    undefined = 0.5

    def area(self, scores: Array, truths: Array) -> float:
        """By the ranks of the true items (Mann and Whitney), of `scores` and `truths`."""
        positive, negative = np.sort(scores[truths]), np.sort(scores[~truths])
        if not len(positive) or not len(negative):
            return math.nan
        ahead = np.searchsorted(negative, positive, "left").sum() + np.searchsorted(negative, positive, "right").sum()
        return float(ahead) / (2.0 * len(positive) * len(negative))


class AucPrMetric(RankingMetric):
    """The area under the curve of precision over recall, as average precision, in percent.

    Make one with `binary`, `multiclass` (each class against the rest) or `multilabel`, which is its `kind`;
    `class_reduction` is Macro, if nothing is said.

    >>> from burn.train.metric import AucPrMetric, MetricMetadata, RankingInput
    >>> metric = AucPrMetric.binary()
    >>> metric.update(RankingInput([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0]), MetricMetadata.fake()).formatted
    'epoch 83.33 % - batch 83.33 %'
    """

    input_type: ClassVar[type | None] = RankingInput
    title = "AUC-PR"
    undefined = 0.0

    def area(self, scores: Array, truths: Array) -> float:
        """The mean of the precisions at each true item, items of equal `scores` taken together; `truths` are bools."""
        total = np.count_nonzero(truths)
        if not total:
            return math.nan
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        found = np.cumsum(truths[order])[last]
        precision = found / (last + 1)
        return float((np.diff(found, prepend=0) * precision).sum() / total)


AurocInput = AucPrInput = RankingInput
