"""Metric logs in memory, for tests and notebooks."""

from __future__ import annotations

from burn.train.logger.protocol import MetricLogger
from burn.train.metric.protocol import MetricEntry
from burn.train.metric.state import NumericEntry
from burn.train.position import Position
from burn.train.store import Split


class InMemoryMetricLogger(MetricLogger):
    """Keeps the entries of one split in memory, for tests and notebooks: `values[name][epoch]` is the list of them.

    >>> from burn.train import InMemoryMetricLogger, MetricEntry
    >>> logger = InMemoryMetricLogger()
    >>> logger.start_epoch(1)
    >>> logger.log(MetricEntry("Loss", "batch 0.50", "0.5,32"))
    >>> logger.read_numeric("Loss", 1)
    [NumericEntry(value=0.5, count=32)]
    """

    def __init__(self) -> None:
        self.values: dict[str, dict[int, list[MetricEntry]]] = {}
        self.epoch = 1

    def begin(self, split: Split, position: Position | None) -> None:
        """Forget what came after the position."""
        if position is None:
            return
        for name, epochs in self.values.items():
            for epoch in [each for each in epochs if each > position.last_whole]:
                kept = position.entries.get(name, 0) if split is Split.Train and epoch == position.epoch else 0
                del epochs[epoch][kept:]

    def start_epoch(self, epoch: int, append: bool = False) -> None:
        """Forget an epoch that is run again."""
        self.epoch = epoch
        if not append:
            for epochs in self.values.values():
                epochs.pop(epoch, None)

    def log(self, entry: MetricEntry) -> None:
        """Keep an entry."""
        self.values.setdefault(entry.name, {}).setdefault(self.epoch, []).append(entry)

    def read_numeric(self, name: str, epoch: int) -> list[NumericEntry]:
        """The numbers of a metric in an epoch."""
        return [NumericEntry.deserialize(each.serialize) for each in self.values.get(name, {}).get(epoch, [])]
