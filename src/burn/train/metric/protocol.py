"""What a metric is: it takes what it needs of each step's output and gives an entry to show and to log.

    class LossMetric(NumericMetric[LossInput]):
        def name(self) -> str:
            return "Loss"

        def update(self, item: LossInput, metadata: MetricMetadata) -> MetricEntry: ...

A metric names its input class (`input_type`); the step's output is adapted to it (see `adaptor.py`), so one output
serves many metrics. Numeric metrics have a `value()` and are plotted, summarised and used by strategies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from burn.device import Device
from burn.record.attributes import attributes, load_attributes
from burn.train.progress import Progress

Input = TypeVar("Input")


@dataclass(frozen=True, slots=True)
class MetricMetadata:
    """Where the training stands when a metric is updated. `lr` is None outside of training.

    `progress` is that of the epoch; `epoch` (of `epoch_total`) counts from 1, `iteration` its batches.

    >>> from burn.train.metric import MetricMetadata
    >>> metadata = MetricMetadata.fake()  # for tests of metrics
    >>> metadata.epoch, metadata.iteration, metadata.lr
    (1, 0, None)
    """

    progress: Progress
    epoch: int = 1
    epoch_total: int = 1
    iteration: int = 0
    lr: float | None = None

    @staticmethod
    def fake() -> MetricMetadata:
        """One for tests of metrics."""
        return MetricMetadata(Progress(1, 1))


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """What one update gives: the `name`, a line to show (`formatted`), and text for the log (`serialize`).

    >>> from burn.train.metric import MetricEntry
    >>> MetricEntry(name="Loss", formatted="epoch 0.51 - batch 0.48", serialize="0.48,32").serialize
    '0.48,32'
    """

    name: str
    formatted: str
    serialize: str


@dataclass(frozen=True, slots=True)
class MetricAttributes:
    """What a numeric metric's values mean: their `unit`, and whether more is better (`higher_is_better`, or None).

    `extra` is for renderers of your own.

    >>> from burn.train.metric import AccuracyMetric, LearningRateMetric
    >>> AccuracyMetric().attributes().unit, AccuracyMetric().attributes().higher_is_better
    ('%', True)
    >>> LearningRateMetric().attributes().higher_is_better
    """

    unit: str | None = None
    higher_is_better: bool | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Metric(ABC, Generic[Input]):
    """Something followed over a training. Give each instance a name of its own, with its parameters in it.

    `input_type` is the class that outputs adapt to; None for a metric that needs no output. One with a number inherits
    from `NumericMetric`.

    >>> from burn.train.metric import LossInput, Metric, MetricEntry, MetricMetadata
    >>> class Sign(Metric[LossInput]):
    ...     input_type = LossInput
    ...     def name(self): return "Sign"
    ...     def update(self, item, metadata):
    ...         text = "positive" if item.tensor[0] > 0 else "not positive"
    ...         return MetricEntry("Sign", text, text)
    ...     def clear(self): pass
    >>> Sign().update(LossInput([0.5]), MetricMetadata.fake()).formatted
    'positive'
    """

    input_type: ClassVar[type | None] = None
    """The class that the step's output is adapted to; None when the metric reads the system or the metadata only."""

    @abstractmethod
    def name(self) -> str:
        """The name, unique among the metrics of a training."""

    @abstractmethod
    def update(self, item: Input, metadata: MetricMetadata) -> MetricEntry:
        """Take one step's item in, and give the entry for it; `metadata` says where the training stands."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what was taken in: an epoch begins."""

    def attributes(self) -> MetricAttributes:
        """What the values mean."""
        return MetricAttributes()

    transient: ClassVar[tuple[str, ...]] = ()
    """Attributes that mean nothing in another process: a clock's time, a file."""

    def epoch_state(self) -> Any:
        """What a checkpoint in mid-epoch keeps of this metric: its attributes, unless a subclass writes another way."""
        return attributes(self, self.transient)

    def load_epoch_state(self, state: Any, device: Device | None = None) -> None:
        """Go on from where `state` was taken; tensors go to `device`."""
        load_attributes(self, state, device)


class Numeric(ABC):
    """What a metric with a number has: `value()` of the last batch, `running_value()` of the epoch so far.

    >>> from burn.train.metric import LossInput, LossMetric, MetricMetadata, Numeric
    >>> metric = LossMetric()
    >>> for loss in (4.0, 2.0):
    ...     _ = metric.update(LossInput(loss), MetricMetadata.fake())
    >>> isinstance(metric, Numeric), metric.value(), metric.running_value()
    (True, 2.0, 3.0)
    """

    @abstractmethod
    def value(self) -> float:
        """The value of the last update (of the batch)."""

    def running_value(self) -> float:
        """The value over the epoch so far; that of the last update where a metric keeps no more."""
        return self.value()


class NumericMetric(Metric[Input], Numeric):
    """A metric that is numeric: it can be plotted, summarised, and steer strategies.

    `StateMetric` is less to write where the value of an epoch is a mean.

    >>> from burn.train.metric import FormatOptions, LossInput, MetricMetadata, NumericMetric, NumericMetricState
    >>> class Spread(NumericMetric[LossInput]):
    ...     input_type = LossInput
    ...     def __init__(self): self.state = NumericMetricState()
    ...     def name(self): return "Spread"
    ...     def update(self, item, metadata):
    ...         spread = max(item.tensor) - min(item.tensor)
    ...         return self.state.update(spread, len(item.tensor), FormatOptions("Spread").precision(1))
    ...     def clear(self): self.state.reset()
    ...     def value(self): return self.state.value()
    ...     def running_value(self): return self.state.running_value()
    >>> Spread().update(LossInput([1.0, 4.0]), MetricMetadata.fake()).formatted
    'epoch 3.0 - batch 3.0'
    """
