"""How far predictions of numbers are from the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from burn.train.metric.host import Array, Values, same_shape
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class RegressionInput:
    """Predictions (`outputs`) and the truth (`targets`), of one shape.

    >>> from burn.train.metric import MeanAbsoluteErrorMetric, MetricMetadata, RegressionInput
    >>> MeanAbsoluteErrorMetric().update(RegressionInput([1.0, 2.0], [1.0, 4.0]), MetricMetadata.fake()).formatted
    'epoch 1.000 - batch 1.000'
    """

    outputs: Values
    targets: Values

    def both(self, metric: str) -> tuple[Array, Array]:
        """The two as float64 arrays; an error names the `metric`."""
        outputs, targets = same_shape(metric, self.outputs, self.targets)
        return outputs.astype(np.float64), targets.astype(np.float64)


class MeanSquaredErrorMetric(StateMetric[RegressionInput]):
    """The mean of the squared differences.

    >>> from burn.train.metric import MeanSquaredErrorMetric, MetricMetadata, RegressionInput
    >>> MeanSquaredErrorMetric().update(RegressionInput([1.0, 2.0], [1.0, 4.0]), MetricMetadata.fake()).formatted
    'epoch 2.000 - batch 2.000'
    """

    input_type: ClassVar[type | None] = RegressionInput
    significant = 4
    higher_is_better = False

    def __init__(self) -> None:
        super().__init__("Mean Squared Error")

    def update(self, item: RegressionInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        difference = (outputs - targets).ravel()
        return self.mean(float(difference @ difference) / max(1, difference.size), difference.size)


class RootMeanSquaredErrorMetric(StateMetric[RegressionInput]):
    """The root of the mean of the squared differences; over an epoch, of all of them.

    >>> from burn.train.metric import MetricMetadata, RegressionInput, RootMeanSquaredErrorMetric
    >>> RootMeanSquaredErrorMetric().update(RegressionInput([1.0, 2.0], [1.0, 4.0]), MetricMetadata.fake()).formatted
    'epoch 1.414 - batch 1.414'
    """

    input_type: ClassVar[type | None] = RegressionInput
    significant = 4
    higher_is_better = False

    def __init__(self) -> None:
        super().__init__("Root Mean Squared Error")
        self._squares, self._count = 0.0, 0

    def update(self, item: RegressionInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        difference = (outputs - targets).ravel()
        squares, count = float(difference @ difference), difference.size
        self._squares += squares
        self._count += count
        return self.totals(math.sqrt(squares / max(1, count)), math.sqrt(self._squares / max(1, self._count)), count)

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._squares, self._count = 0.0, 0


class MeanAbsoluteErrorMetric(StateMetric[RegressionInput]):
    """The mean of the differences without their sign.

    >>> from burn.train.metric import MeanAbsoluteErrorMetric, MetricMetadata, RegressionInput
    >>> MeanAbsoluteErrorMetric().update(RegressionInput([1.0, 2.0], [1.0, 5.0]), MetricMetadata.fake()).formatted
    'epoch 1.500 - batch 1.500'
    """

    input_type: ClassVar[type | None] = RegressionInput
    significant = 4
    higher_is_better = False

    def __init__(self) -> None:
        super().__init__("Mean Absolute Error")

    def update(self, item: RegressionInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        return self.mean(float(np.abs(outputs - targets).sum()) / max(1, outputs.size), outputs.size)


class R2ScoreMetric(StateMetric[RegressionInput]):
    """The share of the targets' variance that predictions explain: 1 is perfect, 0 is as good as their mean.

    Several outputs of an item are taken one by one and their mean is given. Where the targets are all equal, the score
    is 1 for perfect predictions and 0 otherwise.

    >>> from burn.train.metric import MetricMetadata, R2ScoreMetric, RegressionInput
    >>> R2ScoreMetric().update(RegressionInput([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), MetricMetadata.fake()).formatted
    'epoch 0.7857 - batch 0.7857'
    """

    input_type: ClassVar[type | None] = RegressionInput
    digits = 4

    def __init__(self) -> None:
        super().__init__("R2 Score")
        self._epoch: _Moments | None = None

    def update(self, item: RegressionInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        batch = _Moments.of(outputs.reshape(len(outputs), -1), targets.reshape(len(targets), -1))
        self._epoch = batch if self._epoch is None else self._epoch.joined(batch)
        return self.totals(batch.score(), self._epoch.score(), len(outputs))

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._epoch = None


@dataclass(frozen=True)
class _Moments:
    """Count, mean and squared deviations of targets, and squared errors, of each output."""

    count: int
    mean: Array
    deviations: Array
    errors: Array

    @staticmethod
    def of(outputs: Array, targets: Array) -> _Moments:
        mean = targets.mean(0) if len(targets) else np.zeros(targets.shape[1])
        return _Moments(len(targets), mean, ((targets - mean) ** 2).sum(0), ((outputs - targets) ** 2).sum(0))

    def joined(self, other: _Moments) -> _Moments:
        """Of both together, without the loss of digits that a difference of squares has."""
        count = self.count + other.count
        if not count:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.count / count)
        between = apart**2 * (self.count * other.count / count)
        return _Moments(count, mean, self.deviations + other.deviations + between, self.errors + other.errors)

    def score(self) -> float:
        if self.count < 2:
            return math.nan
        flat = self.deviations == 0
        safe = np.where(flat, 1.0, self.deviations)
        scores = np.where(flat, np.where(self.errors == 0, 1.0, 0.0), 1.0 - self.errors / safe)
        return float(scores.mean())
