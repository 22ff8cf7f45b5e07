"""The common part of metrics that look at the machine: they look seldom, and what cannot be read is said once.

A training never fails because a sensor is missing: its value is NaN then, and the reason goes to the log of
`burn.train` once per metric class.
"""

from __future__ import annotations

import logging
import math
import time
from abc import abstractmethod
from typing import Any, ClassVar

from burn.train.metric.protocol import MetricAttributes, MetricEntry, MetricMetadata, NumericMetric

LOG = logging.getLogger("burn.train")
_SAID: set[str] = set()


class NotAvailable(Exception):
    """What a metric wants to read is not there; the text says why and what would help."""


def say_once(name: str, reason: object) -> None:
    """Log why a metric has no values, the first time."""
    if name not in _SAID:
        _SAID.add(name)
        LOG.warning("metric %r is not available: %s", name, reason)


class SystemMetric(NumericMetric[Any]):
    """A number of the machine, read at most every `interval` seconds: a subclass writes `title`, `unit` and `read`.

    A sensor that is missing never fails a training: its value is NaN, and the log says why.

    >>> from burn.train.metric import MetricMetadata, SystemMetric
    >>> class OpenFiles(SystemMetric):
    ...     title, unit = "Open Files", ""
    ...     def read(self): return 3.0
    >>> OpenFiles().update(None, MetricMetadata.fake()).formatted
    'Open Files: 3.00 '
    """

    title: str
    unit: str
    interval: float = 0.2
    transient: ClassVar[tuple[str, ...]] = ("_due",)

    def __init__(self) -> None:
        self._value = math.nan
        self._due = 0.0
        self._missing = False

    @abstractmethod
    def read(self) -> float:
        """Ask the machine; may raise `NotAvailable`."""

    def name(self) -> str:
        """The name."""
        return self.title

    def update(self, item: Any, metadata: MetricMetadata) -> MetricEntry:
        """The value as of now, or of a moment ago."""
        now = time.monotonic()
        if now >= self._due and not self._missing:
            self._due = now + self.interval
            try:
                self._value = self.read()
            except Exception as error:
                # Drivers and sensors fail in ways of their own; none of them is worth a training.
                self._missing = isinstance(error, NotAvailable)
                self._value = math.nan
                say_once(self.title, error)
        formatted = f"{self.title}: not available" if math.isnan(self._value) else self.show(self._value)
        return MetricEntry(self.title, formatted, f"{self._value:.2f}")

    def show(self, value: float) -> str:
        """The line for a value."""
        return f"{self.title}: {value:.2f} {self.unit}"

    def value(self) -> float:
        """The value that was read last; NaN where there is none."""
        return self._value

    def clear(self) -> None:
        """Nothing is kept over an epoch."""

    def attributes(self) -> MetricAttributes:
        """The unit."""
        return MetricAttributes(self.unit)
