"""The loss of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from burn.train.metric.host import Values, host
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class LossInput:
    """The loss, `tensor`: a single value, or one for each item.

    >>> from burn.train.metric import LossInput, LossMetric, MetricMetadata
    >>> LossMetric().update(LossInput(0.25), MetricMetadata.fake()).formatted
    'epoch 0.2500 - batch 0.2500'
    """

    tensor: Values


class LossMetric(StateMetric[LossInput]):
    """The mean of the losses. A loss that is already a mean weighs one, losses of single items weigh one each.

    >>> from burn.train.metric import LossInput, LossMetric, MetricMetadata
    >>> metric = LossMetric()
    >>> for losses in ([1.0, 2.0, 3.0], [6.0]):
    ...     print(metric.update(LossInput(losses), MetricMetadata.fake()).formatted)
    epoch 2.000 - batch 2.000
    epoch 3.000 - batch 6.000
    """

    input_type: ClassVar[type | None] = LossInput
    higher_is_better = False
    significant = 4

    def __init__(self) -> None:
        super().__init__("Loss")

    def update(self, item: LossInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in the loss of a batch."""
        losses = host(item.tensor)
        if losses.size == 1:
            return self.mean(float(losses.reshape(())), 1)
        return self.mean(float(losses.mean(dtype="float64")), losses.size)
