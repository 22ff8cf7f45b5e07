"""The event store: what every numeric metric was in every epoch, for strategies, callbacks and the curious.

store.find_metric("Loss", 3, Aggregate.Mean, Split.Valid)
store.find_epoch("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any


class Split(Enum):
    """Which data a metric was computed on. The value is the name of the folder of its logs.

    >>> from burn.train import Split
    >>> [split.value for split in Split]
    ['train', 'valid', 'test']
    """

    Train = "train"
    Valid = "valid"
    Test = "test"


class Aggregate(Enum):
    """How the values of an epoch become one.

    >>> from burn.train import Aggregate
    >>> list(Aggregate)
    [<Aggregate.Mean: 'mean'>]
    """

    Mean = "mean"


class Direction(Enum):
    """Which of two values is better.

    >>> from burn.train import Direction
    >>> Direction.Lowest.improves(new=0.3, best=0.5), Direction.Highest.improves(0.3, float("nan"))
    (True, True)
    """

    Lowest = "lowest"
    Highest = "highest"

    def improves(self, new: float, best: float) -> bool:
        """Whether `new` is strictly better than `best`; NaN never is, and anything is better than NaN."""
        if math.isnan(new):
            return False
        return math.isnan(best) or (new < best if self is Direction.Lowest else new > best)


def kind_faults(strategy: Any) -> list[str]:
    """What is wrong with the aggregate, the direction and the split of a strategy that follows a metric."""
    return [
        f"{name} is one of {', '.join(map(str, kind))}, got {getattr(strategy, name)!r}"
        for name, kind in (("aggregate", Aggregate), ("direction", Direction), ("split", Split))
        if not isinstance(getattr(strategy, name), kind)
    ]


class _Sum:
    """The values of one metric in one epoch."""

    __slots__ = ("final", "total", "weight")

    def __init__(self, total: float = 0.0, weight: float = 0.0, final: float | None = None) -> None:
        self.total, self.weight, self.final = total, weight, final

    def mean(self) -> float | None:
        if self.final is not None:
            return self.final
        return self.total / self.weight if self.weight else None


class EventStore:
    """What every numeric metric was in every epoch, for strategies, callbacks and the curious: `learner.store`.

    A metric is found by its `name`, its `split` (`Split.Train` or `Split.Valid`) and the epoch; `aggregate` is how
    an epoch's values become one, `direction` which way is better.

    >>> from burn.train import Aggregate, Direction, EventStore, Split
    >>> store = EventStore()
    >>> for epoch, loss in enumerate((0.5, 0.3, 0.4), start=1):
    ...     store.add(Split.Valid, epoch, "Loss", loss)
    >>> store.mean("Loss", 3, Split.Valid)
    0.4
    >>> store.find_epoch("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)
    2
    """

    def __init__(self) -> None:
        self._sums: dict[Split, dict[str, dict[int, _Sum]]] = {split: {} for split in Split}

    def begin(self, split: Split, epoch: int) -> None:
        """Forget what is known of an epoch and of later ones: it is run again."""
        for epochs in self._sums[split].values():
            for each in [each for each in epochs if each >= epoch]:
                del epochs[each]

    def add(self, split: Split, epoch: int, name: str, value: float, count: float = 1.0) -> None:
        """Take one batch's value in, which stands for `count` items."""
        epochs = self._sums[split].setdefault(name, {})
        found = epochs.get(epoch)
        if found is None:
            found = epochs[epoch] = _Sum()
        if count:
            found.total += value * count
            found.weight += count

    def finish(self, split: Split, epoch: int, name: str, value: float) -> None:
        """The value of a whole epoch, from a metric that knows it better than the mean of its batches."""
        self._sums[split].setdefault(name, {}).setdefault(epoch, _Sum()).final = value

    # Questions

    def names(self, split: Split) -> list[str]:
        """The metrics that have values."""
        return list(self._sums[split])

    def epochs(self, name: str, split: Split) -> list[int]:
        """The epochs in which a metric has a value."""
        return sorted(self._sums[split].get(name, {}))

    def mean(self, name: str, epoch: int, split: Split) -> float | None:
        """`find_metric` with the usual aggregate."""
        return self.find_metric(name, epoch, Aggregate.Mean, split)

    def find_metric(self, name: str, epoch: int, aggregate: Aggregate, split: Split) -> float | None:
        """The value of a metric in an epoch; None if there is none."""
        found = self._sums[split].get(name, {}).get(epoch)
        return None if found is None else found.mean()

    def find_epoch(self, name: str, aggregate: Aggregate, direction: Direction, split: Split) -> int | None:
        """The epoch with the best value, the first one of several; None if there is no value."""
        best: tuple[int, float] | None = None
        for epoch in self.epochs(name, split):
            value = self.find_metric(name, epoch, aggregate, split)
            if value is not None and (best is None or direction.improves(value, best[1])):
                best = epoch, value
        return None if best is None else best[0]

    # Checkpoints

    def state(self, until: int, inside: bool = False, trained: bool = False) -> dict[str, Any]:
        """The values of all epochs up to `until`, as JSON has them.

        `inside` of that epoch there is no validation, and where it was not `trained` to its end, no value of the whole.
        """

        def kept(split: Split, epochs: dict[int, _Sum]) -> dict[str, list[float | None]]:
            last = until if not inside or split is Split.Train else until - 1
            part = inside and not trained
            return {
                str(epoch): [s.total, s.weight, None if part and epoch == until else s.final]
                for epoch, s in epochs.items()
                if epoch <= last
            }

        found = {
            split.value: {name: saved for name, epochs in names.items() if (saved := kept(split, epochs))}
            for split, names in self._sums.items()
        }
        return {split: names for split, names in found.items() if names}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on with the values of `state`."""
        for folder, names in state.items():
            self._sums[Split(folder)] = {
                name: {int(epoch): _Sum(*values) for epoch, values in epochs.items()} for name, epochs in names.items()
            }
