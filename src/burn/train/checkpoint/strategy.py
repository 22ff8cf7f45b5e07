"""Checkpointing strategies: after each epoch, whether to save it and which older ones to delete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from burn.errors import ArgumentError, raise_faults
from burn.train.store import Aggregate, Direction, EventStore, Split, kind_faults


@dataclass(frozen=True, slots=True)
class Save:
    """The action of a checkpointing strategy that keeps the epoch that is over.

    >>> from burn.train import EventStore, KeepLastNCheckpoints
    >>> KeepLastNCheckpoints(3).checkpointing(1, EventStore())
    [Save()]
    """


@dataclass(frozen=True, slots=True)
class Delete:
    """The action of a checkpointing strategy that gives an earlier epoch up.

    >>> from burn.train import EventStore, KeepLastNCheckpoints
    >>> KeepLastNCheckpoints(1).checkpointing(2, EventStore())
    [Save(), Delete(epoch=1)]
    """

    epoch: int


Action = Save | Delete


class CheckpointingStrategy(ABC):
    """Decides after each epoch what to save and what to delete: a subclass writes `checkpointing`.

    >>> from burn.train import CheckpointingStrategy, EventStore
    >>> from burn.train.checkpoint import Save
    >>> class EveryTenth(CheckpointingStrategy):
    ...     def checkpointing(self, epoch, store):
    ...         return [Save()] if epoch % 10 == 0 else []
    >>> [EveryTenth().checkpointing(epoch, EventStore()) for epoch in (9, 10)]
    [[], [Save()]]
    """

    @abstractmethod
    def checkpointing(self, epoch: int, store: EventStore) -> list[Action]:
        """What to do, now that `epoch` is over and its metrics are in the `store`."""

    def metric_names(self) -> list[tuple[str, Split]]:
        """The metrics that it follows."""
        return []

    def replay(self, epochs: int, store: EventStore) -> None:  # noqa: B027
        """Take in what an earlier run decided, which ended after `epochs`; for strategies that remember something.

        `store` has the metrics of that run.
        """


class KeepLastNCheckpoints(CheckpointingStrategy):
    """Every epoch is saved, and the last `num_keep` of them are kept.

    >>> from burn.train import EventStore, KeepLastNCheckpoints
    >>> KeepLastNCheckpoints(2).checkpointing(5, EventStore())
    [Save(), Delete(epoch=3)]
    """

    def __init__(self, num_keep: int) -> None:
        if not isinstance(num_keep, int) or isinstance(num_keep, bool) or num_keep < 1:
            raise ArgumentError(f"KeepLastNCheckpoints: at least 1 checkpoint is kept, got {num_keep!r}")
        self.num_keep = num_keep

    def checkpointing(self, epoch: int, store: EventStore) -> list[Action]:
        """Save this one; the one `num_keep` before it goes."""
        return [Save(), Delete(epoch - self.num_keep)] if epoch > self.num_keep else [Save()]

    def __repr__(self) -> str:
        return f"KeepLastNCheckpoints({self.num_keep})"


class MetricCheckpointingStrategy(CheckpointingStrategy):
    """The epoch in which a metric was best is kept. `metric` is a metric or its name.

    `aggregate` is how an epoch's values become one, `direction` which way is better, `split` the data it is
    computed on.

    >>> from burn.train import Aggregate, Direction, EventStore, MetricCheckpointingStrategy, Split
    >>> strategy = MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)
    >>> store = EventStore()
    >>> for epoch, loss in enumerate((0.5, 0.7, 0.4), start=1):
    ...     store.add(Split.Valid, epoch, "Loss", loss)
    ...     print(strategy.checkpointing(epoch, store))
    [Save()]
    []
    [Save(), Delete(epoch=1)]
    """

    def __init__(self, metric: Any, aggregate: Aggregate, direction: Direction, split: Split) -> None:
        self.metric: str = metric if isinstance(metric, str) else metric.name()
        self.aggregate, self.direction, self.split = aggregate, direction, split
        raise_faults("MetricCheckpointingStrategy", kind_faults(self))

    def metric_names(self) -> list[tuple[str, Split]]:
        """The metric that it follows."""
        return [(self.metric, self.split)]

    def checkpointing(self, epoch: int, store: EventStore) -> list[Action]:
        """Save this epoch if it is the best so far, and give the best one before it up."""
        best = store.find_epoch(self.metric, self.aggregate, self.direction, self.split)
        if best != epoch:
            return []
        earlier = [each for each in store.epochs(self.metric, self.split) if each < epoch]
        before: tuple[int, float] | None = None
        for each in earlier:
            value = store.find_metric(self.metric, each, self.aggregate, self.split)
            if value is not None and (before is None or self.direction.improves(value, before[1])):
                before = each, value
        return [Save()] if before is None else [Save(), Delete(before[0])]

    def __repr__(self) -> str:
        return f"MetricCheckpointingStrategy({self.metric!r}, {self.aggregate}, {self.direction}, {self.split})"


class ComposedCheckpointingStrategy(CheckpointingStrategy):
    """Several strategies: an epoch is saved if one of them wants it, and deleted when all have given it up.

    >>> from burn.train import Aggregate, ComposedCheckpointingStrategy, Direction, KeepLastNCheckpoints, LearnerBuilder
    >>> from burn.train import MetricCheckpointingStrategy, Split
    >>> best = MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)
    >>> strategy = ComposedCheckpointingStrategy(KeepLastNCheckpoints(2), best)
    >>> builder = LearnerBuilder("artifacts").with_checkpointing_strategy(strategy)
    """

    def __init__(self, *strategies: CheckpointingStrategy) -> None:
        if not strategies:
            raise ArgumentError("ComposedCheckpointingStrategy: needs a strategy or more")
        self.strategies: Sequence[CheckpointingStrategy] = strategies
        self._kept: list[set[int]] = [set() for _ in strategies]

    def metric_names(self) -> list[tuple[str, Split]]:
        """The metrics that its members follow."""
        return [each for strategy in self.strategies for each in strategy.metric_names()]

    def checkpointing(self, epoch: int, store: EventStore) -> list[Action]:
        """Save if a member does; delete what no member keeps any more."""
        before = set().union(*self._kept)
        for strategy, kept in zip(self.strategies, self._kept, strict=True):
            for action in strategy.checkpointing(epoch, store):
                if isinstance(action, Save):
                    kept.add(epoch)
                else:
                    kept.discard(action.epoch)
        now = set().union(*self._kept)
        found: list[Action] = [Save()] if epoch in now else []
        return [*found, *(Delete(each) for each in sorted(before - now))]

    def replay(self, epochs: int, store: EventStore) -> None:
        """Decide once more on the epochs of an earlier run, so that what they left is known."""
        self._kept = [set() for _ in self.strategies]
        for epoch in range(1, epochs + 1):
            self.checkpointing(epoch, Past(store, epoch))

    def __repr__(self) -> str:
        return f"ComposedCheckpointingStrategy({', '.join(map(repr, self.strategies))})"


class Past(EventStore):
    """A store as it was after an epoch."""

    def __init__(self, store: EventStore, epoch: int) -> None:
        super().__init__()
        self.load_state(store.state(epoch))


def default_strategy() -> ComposedCheckpointingStrategy:
    """What a learner does if it is told nothing else: the last two epochs, and the one with the lowest validation loss.

    >>> from burn.train.checkpoint import default_strategy
    >>> default_strategy().metric_names()
    [('Loss', <Split.Valid: 'valid'>)]
    """
    return ComposedCheckpointingStrategy(
        KeepLastNCheckpoints(2),
        MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid),
    )
