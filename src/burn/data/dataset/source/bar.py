"""How far a transfer is: a bar that redraws itself in a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

WIDTH = 30
SECONDS_BETWEEN = 0.1


class Bar:
    """Shows `done` of `total` units. `total` None means that it is not known."""

    def __init__(self, label: str, total: int | None, stream: TextIO | None = None) -> None:
        self.label, self.total, self.done = label, total, 0
        self.stream = sys.stderr if stream is None else stream
        self._live = bool(getattr(self.stream, "isatty", lambda: False)())
        self._drawn_at, self._quarter = 0.0, -1

    def add(self, units: int) -> None:
        """Say that more is done."""
        self.done += units
        if self._live:
            now = time.monotonic()
            if now - self._drawn_at >= SECONDS_BETWEEN:
                self._drawn_at = now
                self._write("\r" + self.line())
        elif self.total:
            quarter = min(4, 4 * self.done // self.total)
            if quarter > self._quarter:
                self._quarter = quarter
                self._write(f"{self.label}: {25 * quarter} % of {size(self.total)}\n")

    def line(self) -> str:
        """The bar as text."""
        if not self.total:
            return f"{self.label}  {size(self.done)}"
        share = min(1.0, self.done / self.total)
        filled = int(share * WIDTH)
        return f"{self.label} [{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%} of {size(self.total)}"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._write("\r" + self.line() + "\n")


def size(count: int) -> str:
    """A number of bytes in words."""
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
