"""What most numeric metrics keep: the value of the last batch, and the mean over the epoch weighted by batch size.

self.state = NumericMetricState()
self.state.update(loss, batch_size, FormatOptions("Loss").precision(2))   # an entry to show and to log
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from burn.errors import DataError
from burn.train.metric.protocol import MetricEntry


class FormatOptions:
    """How the values of a metric are written: `FormatOptions("Accuracy").unit("%").precision(2)`.

    `name` is that of the metric, and stands in its entries.

    >>> from burn.train.metric import FormatOptions
    >>> FormatOptions("Accuracy").unit("%").precision(1).write(97.123)
    '97.1 %'
    >>> FormatOptions("Loss").significant(3).write(0.012345)
    '0.0123'
    """

    __slots__ = ("name", "_unit", "_precision", "_significant")

    def __init__(self, name: str) -> None:
        self.name = name
        self._unit = ""
        self._precision: int | None = None
        self._significant: int | None = None

    def unit(self, unit: str) -> FormatOptions:
        """What stands after each value."""
        self._unit = f" {unit}"
        return self

    def precision(self, digits: int) -> FormatOptions:
        """How many digits stand after the point; without it all of them do."""
        self._precision = digits
        return self

    def significant(self, digits: int) -> FormatOptions:
        """How many digits count, wherever the point is: `0.03127`, `1.204`, `118.2`."""
        self._significant = digits
        return self

    def write(self, value: float) -> str:
        """A value with its unit."""
        if self._significant is not None:
            return format_significant(value, self._significant) + self._unit
        return format_float(value, self._precision) + self._unit

    def __repr__(self) -> str:
        return f"FormatOptions({self.name!r}, unit={self._unit.strip()!r}, precision={self._precision})"


def format_float(value: float, precision: int | None) -> str:
    """A number (`value`) for people: what would be rounded to nothing is written with an exponent.

    `precision` is how many digits stand after the point; None for all.

    >>> from burn.train.metric import format_float
    >>> format_float(3.14159, 2), format_float(0.0001, 2)
    ('3.14', '1.00e-4')
    """
    if precision is None:
        return repr(float(value))
    if value and abs(value) < 10.0**-precision:
        digits, exponent = f"{value:.{precision}e}".split("e")
        return f"{digits}e{int(exponent)}"
    return f"{value:.{precision}f}"


def format_significant(value: float, digits: int) -> str:
    """A number for people with so many digits that count; very small and very large ones have an exponent."""
    size = abs(value)
    if value and math.isfinite(value) and (size < 1e-4 or size >= 1e6):
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    text = f"{value:#.{digits}g}"
    return text.rstrip(".") if "e" not in text else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class NumericEntry:
    """A value of a metric's log: that of a batch with the number of things it is a mean of, or a value alone.

    In the log it is the text `value,count`, or `value`.

    >>> from burn.train.metric import NumericEntry
    >>> NumericEntry(0.25, 32).serialize()
    '0.25,32'
    >>> NumericEntry.deserialize("0.25,32").value
    0.25
    """

    value: float
    count: int | None = None

    def serialize(self) -> str:
        """`value,count`, or `value`."""
        return repr(self.value) if self.count is None else f"{self.value!r},{self.count}"

    @staticmethod
    def deserialize(text: str) -> NumericEntry:
        """The entry of a line of a log. `value,final` is a value alone."""
        value, comma, count = text.strip().partition(",")
        try:
            return NumericEntry(float(value), int(count) if comma and count != "final" else None)
        except ValueError:
            raise DataError(f"metric log: {text!r} is neither `value` nor `value,count`") from None


class NumericMetricState:
    """The value of the last batch, and the running mean, weighted by the size of batches.

    `batch_size` is its weight, `options` say how values are written; `show` takes values that the metric computed
    itself, `current` and `running`.

    >>> from burn.train.metric import FormatOptions, NumericMetricState
    >>> state = NumericMetricState()
    >>> for value, batch_size in ((1.0, 30), (3.0, 10)):
    ...     print(state.update(value, batch_size, FormatOptions("Loss").precision(2)).formatted)
    epoch 1.00 - batch 1.00
    epoch 1.50 - batch 3.00
    """

    __slots__ = ("_current", "_running", "_sum", "_count")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: an epoch begins."""
        self._current = math.nan
        self._running = math.nan
        self._sum = 0.0
        self._count = 0

    def update(self, value: float, batch_size: int, options: FormatOptions) -> MetricEntry:
        """Take in the value of a batch, which weighs as much as it has items; one of no items changes no mean."""
        if batch_size:
            self._sum += value * batch_size
            self._count += batch_size
        return self.show(value, self._sum / self._count if self._count else math.nan, batch_size, options)

    def show(self, current: float, running: float, batch_size: int, options: FormatOptions) -> MetricEntry:
        """Take values that the metric computed itself, where the epoch's value is not the mean of the batches'."""
        self._current, self._running = current, running
        formatted = f"epoch {options.write(running)} - batch {options.write(current)}"
        return MetricEntry(options.name, formatted, f"{float(current)!r},{batch_size}")

    def value(self) -> float:
        """The value of the last batch; NaN before the first."""
        return self._current

    current_value = value

    def running_value(self) -> float:
        """The value of the epoch so far; NaN before the first batch."""
        return self._running
