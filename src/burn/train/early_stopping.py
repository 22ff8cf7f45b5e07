"""Early stopping: when a metric has not improved for some epochs, the training ends.

MetricEarlyStoppingStrategy(
    "Loss", Aggregate.Mean, Direction.Lowest, Split.Valid, StoppingCondition.NoImprovementSince(3)
)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from burn.errors import ArgumentError, raise_faults
from burn.record.attributes import attributes, load_attributes
from burn.train.store import Aggregate, Direction, EventStore, Split, kind_faults


class StoppingCondition:
    """When to stop. The variant is `NoImprovementSince(n_epochs)`.

    >>> from burn.train import StoppingCondition
    >>> StoppingCondition.NoImprovementSince(n_epochs=3).n_epochs
    3
    """

    NoImprovementSince: ClassVar[type[NoImprovementSince]]


class NoImprovementSince(StoppingCondition):
    """Stop when the best epoch lies `n_epochs` back.

    >>> from burn.train import NoImprovementSince
    >>> NoImprovementSince(3).n_epochs
    3
    """

    def __init__(self, n_epochs: int) -> None:
        if not isinstance(n_epochs, int) or isinstance(n_epochs, bool) or n_epochs < 1:
            raise ArgumentError(f"NoImprovementSince: n_epochs is 1 or more, got {n_epochs!r}")
        self.n_epochs = n_epochs

    def __repr__(self) -> str:
        return f"StoppingCondition.NoImprovementSince({self.n_epochs})"


StoppingCondition.NoImprovementSince = NoImprovementSince


class EarlyStoppingStrategy(ABC):
    """Decides after each epoch whether the training ends: a subclass writes `should_stop`, a reason or None.

    >>> from burn.train import EarlyStoppingStrategy, EventStore, Split
    >>> class GoodEnough(EarlyStoppingStrategy):
    ...     def should_stop(self, epoch, store):
    ...         return "good enough" if store.mean("Loss", epoch, Split.Valid) < 0.1 else None
    >>> store = EventStore()
    >>> store.add(Split.Valid, 1, "Loss", 0.05)
    >>> GoodEnough().should_stop(1, store)
    'good enough'
    """

    @abstractmethod
    def should_stop(self, epoch: int, store: EventStore) -> str | None:
        """The reason to stop after this `epoch`, whose metrics are in the `store`, or None."""

    def metric_name(self) -> tuple[str, Split] | None:
        """The metric that it follows, so that a name nobody registered is found before the training."""
        return None

    def state(self) -> Any:
        """What a checkpoint keeps of it: its attributes, unless a subclass writes another way."""
        return attributes(self)

    def load_state(self, state: Any) -> None:
        """Go on from where `state` was taken."""
        load_attributes(self, state)


class MetricEarlyStoppingStrategy(EarlyStoppingStrategy):
    """Follows one metric. Only strict improvements count; in the first `warmup_epochs` it never stops.

    `metric` is a metric or its name.

    `aggregate` is how an epoch's values become one, `direction` which way is better, `split` the data it is
    computed on, `condition` when it has lasted too long.

    >>> from burn.train import Aggregate, Direction, EventStore, MetricEarlyStoppingStrategy, Split, StoppingCondition
    >>> condition = StoppingCondition.NoImprovementSince(2)
    >>> strategy = MetricEarlyStoppingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid, condition)
    >>> store = EventStore()
    >>> for epoch, loss in enumerate((0.5, 0.7, 0.6), start=1):
    ...     store.add(Split.Valid, epoch, "Loss", loss)
    >>> strategy.should_stop(2, store)
    >>> strategy.should_stop(3, store)
    'Loss (valid) has not improved since epoch 1, where it was 0.5; 2 epochs without improvement end the training'
    """

    def __init__(
        self,
        metric: Any,
        aggregate: Aggregate,
        direction: Direction,
        split: Split,
        condition: NoImprovementSince,
        warmup_epochs: int = 0,
    ) -> None:
        self.metric: str = metric if isinstance(metric, str) else metric.name()
        self.aggregate, self.direction, self.split = aggregate, direction, split
        self.condition, self.warmup_epochs = condition, warmup_epochs
        faults, when, warmup = kind_faults(self), _anything(condition), _anything(warmup_epochs)
        if not isinstance(when, NoImprovementSince):
            faults.append(f"the condition is StoppingCondition.NoImprovementSince(3) or the like, got {when!r}")
        if not isinstance(warmup, int) or isinstance(warmup, bool) or warmup < 0:
            faults.append(f"warmup_epochs is an int of 0 or more, got {warmup!r}")
        raise_faults("MetricEarlyStoppingStrategy", faults)

    def with_warmup_epochs(self, epochs: int) -> MetricEarlyStoppingStrategy:
        """The same, which never stops in the first `epochs`."""
        return MetricEarlyStoppingStrategy(
            self.metric, self.aggregate, self.direction, self.split, self.condition, epochs
        )

    def metric_name(self) -> tuple[str, Split]:
        """The metric that it follows."""
        return self.metric, self.split

    def state(self) -> Any:
        """Nothing: all it needs is in the store."""
        return None

    def should_stop(self, epoch: int, store: EventStore) -> str | None:
        """The reason to stop: the best epoch is too long ago. Without a value it does not stop."""
        best = store.find_epoch(self.metric, self.aggregate, self.direction, self.split)
        if best is None or epoch <= self.warmup_epochs or epoch - best < self.condition.n_epochs:
            return None
        value = store.find_metric(self.metric, best, self.aggregate, self.split)
        return (
            f"{self.metric} ({self.split.value}) has not improved since epoch {best}, where it was {value:.6g}; "
            f"{epoch - best} epochs without improvement end the training"
        )

    def __repr__(self) -> str:
        return f"MetricEarlyStoppingStrategy({self.metric!r}, {self.direction}, {self.split}, {self.condition!r})"


def _anything(given: Any) -> Any:
    """What was given may be anything, whatever the annotation says."""
    return given
