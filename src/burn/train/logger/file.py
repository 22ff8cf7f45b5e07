"""Metric logs in files, one line for each batch: `<folder>/epoch-3/Loss.log`.

Lines are gathered and written when an epoch ends, or when `flush` is called. An epoch that is run again begins with
empty files; when a training goes on, what was logged after its checkpoint is taken away first.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from burn.record.files import sweep, write_file
from burn.train.logger.protocol import MetricLogger
from burn.train.metric.protocol import MetricEntry
from burn.train.metric.state import NumericEntry
from burn.train.position import Position
from burn.train.store import Split

EPOCH = re.compile(r"^epoch-(\d+)$")


def log_name(metric: str) -> str:
    """The name of a metric's file: spaces become `_`, and no name leads elsewhere."""
    return metric.replace(" ", "_").replace("/", "_").replace("\\", "_").lstrip(".") + ".log"


def shorten(path: Path, count: int) -> None:
    """Keep the first lines of a file, as it was or as it shall be whatever happens; without any it goes."""
    lines = path.read_bytes().splitlines(keepends=True)
    if not count:
        path.unlink()
    elif len(lines) > count:
        write_file(str(path), [b"".join(lines[:count])])


class FileMetricLogger(MetricLogger):
    """Writes the metrics of one split below a folder, one line for each batch: `<folder>/epoch-1/Loss.log`.

    >>> from burn.train import FileMetricLogger, MetricEntry
    >>> logger = FileMetricLogger("artifacts/train")
    >>> logger.start_epoch(1)
    >>> logger.log(MetricEntry("Loss", "batch 0.50", "0.5,32"))
    >>> logger.end_epoch(1)
    >>> logger.read_numeric("Loss", 1)
    [NumericEntry(value=0.5, count=32)]
    """

    def __init__(self, folder: Any) -> None:
        self.folder = Path(folder)
        self.epoch = 1
        self._lines: dict[str, list[str]] = {}
        self._begun: set[str] = set()

    def _epoch_folder(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch}"

    def begin(self, split: Split, position: Position | None) -> None:
        """Take away what was logged after the position."""
        if position is None or not self.folder.is_dir():
            return
        for folder in self.folder.glob("epoch-*"):
            sweep(folder)
        kept = {log_name(name): count for name, count in position.entries.items()}
        for folder in [each for each in self.folder.iterdir() if (found := EPOCH.match(each.name))
                       and int(found[1]) > position.last_whole]:  # fmt: skip
            inside = split is Split.Train and folder.name == f"epoch-{position.epoch}"
            for path in folder.glob("*.log"):
                shorten(path, kept.get(path.name, 0) if inside else 0)
            with contextlib.suppress(OSError):  # there is something else in it
                folder.rmdir()

    def start_epoch(self, epoch: int, append: bool = False) -> None:
        """Begin the files of an epoch anew, unless it goes on."""
        self.flush()
        self.epoch = epoch
        folder = self._epoch_folder(epoch)
        self._begun = {each.name for each in folder.glob("*.log")} if append else set()
        if not append:
            for each in folder.glob("*.log"):
                each.unlink()

    def log(self, entry: MetricEntry) -> None:
        """Keep a line until the next flush."""
        lines = self._lines.get(entry.name)
        if lines is None:
            lines = self._lines[entry.name] = []
        lines.append(entry.serialize)

    def end_epoch(self, epoch: int) -> None:
        """Write everything."""
        self.flush()

    def flush(self) -> None:
        """Write the lines gathered so far."""
        if not any(self._lines.values()):
            return
        folder = self._epoch_folder(self.epoch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self._lines.items():
            if lines:
                file = log_name(name)
                with (folder / file).open("a" if file in self._begun else "w", encoding="utf-8") as target:
                    target.write("\n".join(lines) + "\n")
                self._begun.add(file)
                lines.clear()

    def read_numeric(self, name: str, epoch: int) -> list[NumericEntry]:
        """The numbers in a file."""
        if epoch == self.epoch:
            self.flush()
        try:
            text = (self._epoch_folder(epoch) / log_name(name)).read_text("utf-8")
        except FileNotFoundError:
            return []
        return [NumericEntry.deserialize(line) for line in text.splitlines() if line]

    def __repr__(self) -> str:
        return f"FileMetricLogger({str(self.folder)!r})"
