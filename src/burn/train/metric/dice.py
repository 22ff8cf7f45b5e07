"""How well segments cover what they should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from burn.errors import ShapeError
from burn.train.metric.host import Values, same_shape
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class DiceInput:
    """Masks of zeros and ones, predicted (`outputs`) and right (`targets`), both (batch, classes, ...).

    >>> from burn.train.metric import DiceInput, DiceMetric, MetricMetadata
    >>> masks = np.array([[[[1, 1], [0, 0]]]])  # (1, 1, 2, 2)
    >>> DiceMetric().update(DiceInput(masks, masks), MetricMetadata.fake()).formatted
    'epoch 1.0000 - batch 1.0000'
    """

    outputs: Values
    targets: Values


class DiceMetric(StateMetric[DiceInput]):
    """The Dice coefficient, 2 |X ∩ Y| / (|X| + |Y|), of all masks of an epoch together.

    The first of several classes is the background, and left out unless `include_background`.

    `epsilon` keeps empty masks from dividing by zero.

    >>> import numpy as np
    >>> from burn.train.metric import DiceInput, DiceMetric, MetricMetadata
    >>> predicted, right = np.array([[[1, 1, 0, 0]]]), np.array([[[1, 0, 0, 0]]])
    >>> DiceMetric().update(DiceInput(predicted, right), MetricMetadata.fake()).formatted
    'epoch 0.6667 - batch 0.6667'
    """

    input_type: ClassVar[type | None] = DiceInput
    digits = 4

    def __init__(self, *, epsilon: float = 1e-7, include_background: bool = False) -> None:
        super().__init__("Dice Metric")
        self.epsilon = epsilon
        self.include_background = include_background
        self._totals = np.zeros(2)

    def update(self, item: DiceInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = same_shape(self._name, item.outputs, item.targets)
        if outputs.ndim < 3:
            raise ShapeError(f"{self._name}: needs masks (batch, classes, ...), got shape {outputs.shape}")
        if not self.include_background and outputs.shape[1] > 1:
            outputs, targets = outputs[:, 1:], targets[:, 1:]
        outputs, targets = outputs.astype(np.float64), targets.astype(np.float64)
        batch = np.array([2.0 * (outputs * targets).sum(), outputs.sum() + targets.sum()])
        self._totals += batch
        return self.totals(self._ratio(batch), self._ratio(self._totals), len(outputs))

    def _ratio(self, totals: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float((totals[0] + self.epsilon) / (totals[1] + self.epsilon))

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._totals = np.zeros(2)
