"""What a quantizer did: a line for each parameter, with its size before and after and the error it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from burn.shape import Shape
from burn.tensor.quantization import QuantizationScheme


@dataclass(frozen=True)
class QuantizationEntry:
    """One parameter in a report: `scheme` is None where it was left in float, and `reason` says why.

    `path` and `shape` are the parameter's, `bytes_before` and `bytes_after` its sizes. `step` is its largest scale and
    `error` the largest difference between a float and what became of it: half a step at most, where the calibration
    cuts nothing off.

    >>> from burn.quantization import Quantizer
    >>> quantizer = Quantizer()
    >>> small = nn.Linear(2, 3).quantize_weights(quantizer)
    >>> entry = quantizer.report["weight"]
    >>> entry.shape, entry.bytes_before, entry.bytes_after
    (Shape([2, 3]), 24, 10)
    """

    path: str
    shape: Shape
    scheme: QuantizationScheme | None
    reason: str
    bytes_before: int
    bytes_after: int
    step: float = 0.0
    error: float = 0.0


@dataclass(frozen=True)
class QuantizationReport:
    """What a quantizer did: the `entries` of all float parameters, in order of declaration. It prints as a table.

    >>> from burn.quantization import Quantizer
    >>> quantizer = Quantizer(min_rank=2)
    >>> small = nn.Linear(2, 3).quantize_weights(quantizer)
    >>> [entry.path for entry in quantizer.report.quantized], [entry.path for entry in quantizer.report.kept]
    (['weight'], ['bias'])
    """

    entries: tuple[QuantizationEntry, ...] = ()

    @property
    def quantized(self) -> tuple[QuantizationEntry, ...]:
        """The parameters that were quantised."""
        return tuple(entry for entry in self.entries if entry.scheme is not None)

    @property
    def kept(self) -> tuple[QuantizationEntry, ...]:
        """The parameters that were left as they were, with the reason."""
        return tuple(entry for entry in self.entries if entry.scheme is None)

    @property
    def bytes_before(self) -> int:
        """The memory of all parameters before."""
        return sum(entry.bytes_before for entry in self.entries)

    @property
    def bytes_after(self) -> int:
        """The memory of all parameters after."""
        return sum(entry.bytes_after for entry in self.entries)

    @property
    def error(self) -> float:
        """The largest error of a parameter."""
        return max((entry.error for entry in self.entries), default=0.0)

    def __getitem__(self, path: str) -> QuantizationEntry:
        for entry in self.entries:
            if entry.path == path:
                return entry
        raise KeyError(path)

    def __iter__(self) -> Iterator[QuantizationEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        rows = [("parameter", "shape", "bytes", "error", "how")]
        rows += [(entry.path, str(list(entry.shape)), _change(entry), _error(entry), _how(entry)) for entry in self]
        total = f"{self.bytes_before:,} -> {self.bytes_after:,}"
        rows.append(("total", "", total, f"{self.error:.2g}", f"{len(self.quantized)} of {len(self)} quantised"))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _change(entry: QuantizationEntry) -> str:
    if entry.bytes_before == entry.bytes_after:
        return f"{entry.bytes_before:,}"
    return f"{entry.bytes_before:,} -> {entry.bytes_after:,}"


def _error(entry: QuantizationEntry) -> str:
    return "" if entry.scheme is None else f"{entry.error:.2g}"


def _how(entry: QuantizationEntry) -> str:
    return entry.reason if entry.scheme is None else entry.scheme.describe() + (entry.reason and f" ({entry.reason})")
