"""How many batches a second are done."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


class IterationSpeedMetric(StateMetric[Any]):
    """Batches a second, from one update to the next.

    >>> from burn.train import IterationSpeedMetric, LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").metric_train_numeric(IterationSpeedMetric())
    >>> IterationSpeedMetric().attributes().unit
    'iter/sec'
    """

    unit = "iter/sec"
    transient: ClassVar[tuple[str, ...]] = ("_last",)

    def __init__(self) -> None:
        super().__init__("Iteration Speed")
        self._last: float | None = None
        self._elapsed = 0.0
        self._batches = 0

    def update(self, item: Any, metadata: MetricMetadata) -> MetricEntry:
        """Note the time. The first batch of an epoch has nothing before it to be measured from."""
        now = time.perf_counter()
        if self._last is None:
            self._last = now
            return self.totals(0.0, 0.0, 0)
        passed = max(now - self._last, 1e-9)
        self._last = now
        self._elapsed += passed
        self._batches += 1
        return self.totals(1.0 / passed, self._batches / self._elapsed, 1)

    def clear(self) -> None:
        """Begin to measure anew."""
        super().clear()
        self._last, self._elapsed, self._batches = None, 0.0, 0
