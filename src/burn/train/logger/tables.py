"""Numbers of a run as tables: CSV and JSON lines, one row for each batch and metric, and one for each epoch."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burn.train.logger.protocol import RunLogger
from burn.train.store import Split

COLUMNS = ("split", "epoch", "step", "scope", "metric", "value")


class _Rows(RunLogger):
    """Gathers rows and writes them when asked to. A run that goes on adds to the file."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self._rows: list[tuple[Any, ...]] = []

    def log_batch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """One row for each metric."""
        self._rows += [(split.value, epoch, step, "batch", name, value) for name, value in values.items()]

    def log_epoch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """One row for each metric."""
        self._rows += [(split.value, epoch, step, "epoch", name, value) for name, value in values.items()]

    def flush(self) -> None:
        """Write what was gathered."""
        if self._rows:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            rows, self._rows = self._rows, []
            self._write(rows)

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        raise NotImplementedError


class CsvLogger(_Rows):
    """Writes a CSV file with the columns split, epoch, step, scope, metric and value."""

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if fresh:
                writer.writerow(COLUMNS)
            writer.writerows(rows)


class JsonLinesLogger(_Rows):
    """Writes a file with one JSON object a line."""

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)
