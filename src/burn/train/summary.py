"""The summary of a training: for each metric its lowest and highest epoch, read from the logs of the artifact folder.

    print(LearnerSummary("/tmp/guide", ["Loss", "Accuracy"]))

The logs are all it needs, so it can be made at any time, of a training that still runs or ended last year. Logs that
an earlier training left in the folder would be counted too; where their dates betray them, the summary says so.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from burn.errors import ArgumentError, DataError
from burn.train.logger.file import EPOCH, log_name
from burn.train.metric.state import NumericEntry

SPLITS = {"train": "Train", "valid": "Valid"}
SLACK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class EpochLog:
    """The log of one metric in one epoch: the batches' values with their weights, and the epoch's own if it has one."""

    epoch: int
    values: tuple[float, ...]
    weights: tuple[float, ...]
    final: float | None = None

    @property
    def mean(self) -> float:
        """The value of the epoch."""
        if self.final is not None:
            return self.final
        total = sum(self.weights)
        return sum(v * w for v, w in zip(self.values, self.weights) if w) / total if total else math.nan


Logs = dict[str, dict[str, list[EpochLog]]]
"""By split (`train`, `valid`, `test/<tag>`) and metric, the epochs in order."""


def read_logs(directory: str | os.PathLike[str], metrics: Sequence[str] | None = None) -> Logs:
    """The logs of the numeric metrics in an artifact folder; of the named ones, or of all."""
    root = Path(directory)
    if not root.is_dir():
        raise ArgumentError(f"summary: there is no folder {root}; give the artifact folder of a training")
    chosen = None if metrics is None else {log_name(name): name for name in metrics}
    logs: Logs = {}
    for split in split_folders(root):
        named: dict[str, list[EpochLog]] = {}
        for epoch, folder in epoch_folders(root / split):
            for path in sorted(folder.glob("*.log")):
                name = path.stem.replace("_", " ") if chosen is None else chosen.get(path.name)
                log = None if name is None else _read(path, epoch)
                if name is not None and log is not None:
                    named.setdefault(name, []).append(log)
        order = list(named) if metrics is None else [name for name in metrics if name in named]
        logs[split] = {name: named[name] for name in order}
    return logs


def split_folders(root: Path) -> list[str]:
    """The splits that have logs: train, valid, then each test by its tag."""
    found = [name for name in SPLITS if (root / name).is_dir()]
    tests = sorted(path for path in (root / "test").glob("*") if path.is_dir()) if (root / "test").is_dir() else []
    if any(EPOCH.match(path.name) for path in tests):
        return [*found, "test"]
    return [*found, *(f"test/{path.name}" for path in tests)]


def epoch_folders(split: Path) -> list[tuple[int, Path]]:
    """The epochs of a split, in order. A test has its logs without epochs: it counts as one."""
    found = [(int(match[1]), path) for path in split.iterdir() if path.is_dir() and (match := EPOCH.match(path.name))]
    return sorted(found) if found or not any(split.glob("*.log")) else [(1, split)]


def title_of(split: str) -> str:
    """A split as a table writes it: `Train`, `Valid`, `Test (tag)`."""
    return SPLITS.get(split) or (f"Test ({split.partition('/')[2]})" if "/" in split else split.title())


def _read(path: Path, epoch: int) -> EpochLog | None:
    """A log; None if it is empty or not of numbers. A last line without its end is still being written."""
    text = path.read_text(encoding="utf-8", errors="replace")
    values, weights, final = [], [], None
    for line in text[: text.rfind("\n") + 1].splitlines() or text.splitlines():
        try:
            entry = NumericEntry.deserialize(line)
        except DataError:
            return None
        if line.rstrip().endswith(",final"):
            final = entry.value
        else:
            values.append(entry.value)
            weights.append(1.0 if entry.count is None else float(entry.count))
    return EpochLog(epoch, tuple(values), tuple(weights), final) if values or final is not None else None


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of one split: its value in each epoch."""

    name: str
    entries: tuple[tuple[int, float], ...]

    @property
    def min(self) -> tuple[int, float]:
        """Epoch and value of the lowest; NaN counts as the largest."""
        return min(self.entries, key=lambda each: _order(each[1]))

    @property
    def max(self) -> tuple[int, float]:
        """Epoch and value of the highest, the last of equals; NaN counts as the largest."""
        return max(reversed(self.entries), key=lambda each: _order(each[1]))


def _order(value: float) -> tuple[bool, float]:
    return math.isnan(value), 0.0 if math.isnan(value) else value


def _number(value: float) -> str:
    """Three decimals; scientific where they would show little."""
    if value and abs(value) < 0.01 and math.isfinite(value):
        digits, exponent = f"{value:.3e}".split("e")
        return f"{digits}e{int(exponent)}"
    return "NaN" if math.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True)
class LearnerSummary:
    """The summary of the training in `directory`, of the metrics named or of all numeric ones; it prints as a table.

    The logs are all it needs, so it can be made at any time, of a training that still runs or ended last year.

    `wanted` are the names of metrics; None takes all.

    >>> from burn.train import FileMetricLogger, LearnerSummary, MetricEntry
    >>> logger = FileMetricLogger("artifacts/valid")
    >>> for epoch, loss in enumerate((0.5, 0.25), start=1):
    ...     logger.start_epoch(epoch)
    ...     logger.log(MetricEntry("Loss", "", f"{loss},32"))
    ...     logger.end_epoch(epoch)
    >>> LearnerSummary("artifacts").rows()
    [('Valid', 'Loss', '0.250', '2', '0.500', '1')]
    """

    directory: str | os.PathLike[str]
    wanted: Sequence[str] | None = None
    model: str = ""
    epochs: int = field(init=False, default=0)
    metrics: dict[str, list[MetricSummary]] = field(init=False, default_factory=dict)
    notices: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        logs = read_logs(self.directory, self.wanted)
        if not any(logs.values()):
            what = "no numeric metric" if self.wanted is None else f"none of {', '.join(self.wanted)}"
            raise ArgumentError(f"summary: {what} has a log in {Path(self.directory)}; was anything trained there?")
        root = Path(self.directory)
        numbers = [epoch for split in SPLITS if (root / split).is_dir() for epoch, _ in epoch_folders(root / split)]
        object.__setattr__(self, "epochs", max(numbers, default=0))
        metrics = {
            split: [
                MetricSummary(name, tuple((log.epoch, log.mean) for log in epochs)) for name, epochs in named.items()
            ]
            for split, named in logs.items()
        }
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "notices", tuple(stale_notices(root)))

    def with_model(self, model: Any) -> LearnerSummary:
        """The same with the model's description in it."""
        return LearnerSummary(self.directory, self.wanted, str(model))

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """The table: split, metric, lowest and its epoch, highest and its epoch."""
        found = []
        for split, metrics in self.metrics.items():
            for metric in metrics:
                (low_epoch, low), (high_epoch, high) = metric.min, metric.max
                values = (_number(low), str(low_epoch), _number(high), str(high_epoch))
                found.append((title_of(split), metric.name, *values))
        return found

    def __str__(self) -> str:
        rows = self.rows()
        split = max(len("Split"), *(len(row[0]) for row in rows))
        metric = max(len("Metric"), *(len(row[1]) for row in rows))
        widths = (split, metric, 8, 8, 8, 8)
        table = [("Split", "Metric", "Min.", "Epoch", "Max.", "Epoch"), *rows]
        lines = [f"{'=' * 24} Learner Summary {'=' * 24}"]
        if self.model:
            lines += ["Model:", self.model]
        lines += [f"Total Epochs: {self.epochs}", "", ""]
        written = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths))} |" for row in table]
        written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join([*lines, *written, *(f"note: {notice}" for notice in self.notices)])

    def _repr_html_(self) -> str:
        """What a notebook shows: the table, then the notices."""
        from burn import html

        parts = [html.table(("Split", "Metric", "Min.", "Epoch", "Max.", "Epoch"), self.rows())]
        parts += [html.line("note", notice) for notice in self.notices]
        model = [html.preformatted(self.model)] if self.model else []
        return html.box("Learner Summary", f"{self.epochs} epochs · {self.directory}", *model, *parts)

    def to_markdown(self) -> str:
        """The table for a page."""
        lines = ["| Split | Metric | Min. | Epoch | Max. | Epoch |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in self.rows()]
        return "\n".join([*lines, *(f"\n> {notice}" for notice in self.notices)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "directory": str(self.directory),
            "epochs": self.epochs,
            "metrics": {
                split: {
                    metric.name: {
                        "epochs": {str(epoch): value for epoch, value in metric.entries},
                        "min": {"value": metric.min[1], "epoch": metric.min[0]},
                        "max": {"value": metric.max[1], "epoch": metric.max[0]},
                    }
                    for metric in metrics
                }
                for split, metrics in self.metrics.items()
            },
            "notices": list(self.notices),
        }

    def to_json(self) -> str:
        """Everything as JSON; a value that is not finite is null."""
        return json.dumps(_finite(self.to_dict()), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def stale_notices(root: Path) -> list[str]:
    """What looks as if an earlier training had left it: epochs older than the one before them, and gaps."""
    notices = []
    for split in SPLITS:
        if not (root / split).is_dir():
            continue
        folders = epoch_folders(root / split)
        dates = {
            epoch: max((p.stat().st_mtime for p in folder.glob("*.log")), default=0.0) for epoch, folder in folders
        }
        stale = [e for (before, _), (e, _) in pairwise(folders) if dates[e] + SLACK_SECONDS < dates[before]]
        if stale:
            notices.append(
                f"{split} logs from epoch {stale[0]} on are older than those before: an earlier training left them; "
                f"delete {root / split} before a new one"
            )
        numbers = [epoch for epoch, _ in folders]
        missing = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
        if missing:
            notices.append(f"{split} logs of {_listed(missing)} are missing")
    return notices


def _listed(epochs: Sequence[int]) -> str:
    shown = ", ".join(map(str, epochs[:5])) + (", ..." if len(epochs) > 5 else "")
    return f"{'epoch' if len(epochs) == 1 else 'epochs'} {shown}"
