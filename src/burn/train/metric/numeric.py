"""The common part of the metrics of this package that keep a `NumericMetricState`."""

from __future__ import annotations

from typing import Self, TypeVar

from burn.train.metric.protocol import MetricAttributes, MetricEntry, NumericMetric
from burn.train.metric.state import FormatOptions, NumericMetricState

Input = TypeVar("Input")


class StateMetric(NumericMetric[Input]):
    """The base of numeric metrics that keep a mean: a subclass sets the name and writes `update`.

    `unit`, `digits` or `significant` say how values are written, `higher_is_better` which way is better.

    >>> from burn.train.metric import LossInput, MetricMetadata, StateMetric
    >>> class Largest(StateMetric[LossInput]):
    ...     input_type = LossInput
    ...     def __init__(self): super().__init__("Largest loss")
    ...     def update(self, item, metadata):
    ...         return self.mean(max(item.tensor), len(item.tensor))
    >>> Largest().update(LossInput([0.5, 2.0]), MetricMetadata.fake()).formatted
    'epoch 2.00 - batch 2.00'
    """

    unit: str = ""
    digits: int = 2
    """Digits after the point, for metrics of a known range such as percentages."""
    significant: int | None = None
    """Digits that count, for metrics that may be of any size."""
    higher_is_better: bool | None = True

    def __init__(self, name: str) -> None:
        self.state = NumericMetricState()
        self.with_name(name)

    def with_name(self, name: str) -> Self:
        """Under another name, such as for a second output of the same kind."""
        self._name = name
        self._options = FormatOptions(name).precision(self.digits)
        if self.significant is not None:
            self._options.significant(self.significant)
        if self.unit:
            self._options.unit(self.unit)
        return self

    def name(self) -> str:
        """The name."""
        return self._name

    def clear(self) -> None:
        """Forget the epoch."""
        self.state.reset()

    def value(self) -> float:
        """The value of the last batch."""
        return self.state.value()

    def running_value(self) -> float:
        """The value of the epoch so far."""
        return self.state.running_value()

    def attributes(self) -> MetricAttributes:
        """The unit, and which way is better."""
        return MetricAttributes(self.unit or None, self.higher_is_better)

    def mean(self, value: float, count: int) -> MetricEntry:
        """The entry of a batch whose value is a mean over `count` things."""
        return self.state.update(value, count, self._options)

    def totals(self, current: float, running: float, count: int) -> MetricEntry:
        """The entry of a batch for metrics that add up more than a mean over the epoch.

        `current` is the value of the batch, which has `count` items, `running` that of the epoch.
        """
        return self.state.show(current, running, count, self._options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"
