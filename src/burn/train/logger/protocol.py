"""What loggers are.

A `MetricLogger` keeps the entries of one split: line by line, as metrics serialise them. A `RunLogger` gets numbers
of both splits with their step, as tables and dashboards of other tools want them. Both are called by the event thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from burn.errors import ArgumentError
from burn.train.metric.protocol import MetricEntry
from burn.train.metric.state import NumericEntry
from burn.train.position import Position
from burn.train.store import Split


class MetricLogger(ABC):
    """Keeps the entries of the metrics of one split: a subclass writes `log`.

    >>> from burn.train import LearnerBuilder, MetricEntry, MetricLogger
    >>> class Printing(MetricLogger):
    ...     def log(self, entry): print(entry.name, entry.serialize)
    >>> Printing().log(MetricEntry("Loss", "batch 0.50", "0.5,32"))
    Loss 0.5,32
    >>> builder = LearnerBuilder("artifacts").metric_loggers(train=Printing(), valid=Printing())
    """

    @abstractmethod
    def log(self, entry: MetricEntry) -> None:
        """Keep an entry of the epoch that runs."""

    def begin(self, split: Split, position: Position | None) -> None:  # noqa: B027
        """A training begins: anew (None), or at a position of an earlier run, which may have logged more: drop that."""

    def start_epoch(self, epoch: int, append: bool = False) -> None:  # noqa: B027
        """An epoch begins; with `append` it goes on after an interruption."""

    def end_epoch(self, epoch: int) -> None:  # noqa: B027
        """An epoch is over."""

    def flush(self) -> None:  # noqa: B027
        """Put what was kept where it belongs."""

    def read_numeric(self, name: str, epoch: int) -> list[NumericEntry]:
        """The numbers of the metric `name` in an epoch."""
        return []


class RunLogger(ABC):
    """Gets numbers with their split and step: a subclass writes `log_batch`. `step` counts iterations from 1.

    >>> from burn.train import LearnerBuilder, RunLogger, Split
    >>> class Printing(RunLogger):
    ...     def log_batch(self, split, epoch, step, values): print(split.value, step, values)
    >>> Printing().log_batch(Split.Train, 1, 7, {"Loss": 0.5})
    train 7 {'Loss': 0.5}
    >>> builder = LearnerBuilder("artifacts").loggers([Printing()])
    """

    def begin(self, position: Position | None) -> None:  # noqa: B027
        """A training begins: anew (None), or at a position of an earlier run, which may have logged more: drop that."""

    @abstractmethod
    def log_batch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """The metrics of one batch (`values` by name), of an `epoch`."""

    def log_epoch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:  # noqa: B027
        """The metrics of a whole epoch (`values` by name)."""

    def flush(self) -> None:  # noqa: B027
        """Put what was logged where it belongs."""

    def close(self) -> None:  # noqa: B027
        """The training is over."""


def checked_every(logger: str, every: int) -> int:
    """How many batches a logger goes from one to the next, if it can be so."""
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ArgumentError(f"{logger}: every is an int of 1 or more, got {every!r}")
    return every
