"""Metric logs in memory, for tests and notebooks."""

from __future__ import annotations

from burn.train.logger.protocol import MetricLogger
from burn.train.metric.protocol import MetricEntry
from burn.train.metric.state import NumericEntry


class InMemoryMetricLogger(MetricLogger):
    """Keeps the entries of one split: `values[name][epoch]` is the list of them."""

    def __init__(self) -> None:
        self.values: dict[str, dict[int, list[MetricEntry]]] = {}
        self.epoch = 1

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
