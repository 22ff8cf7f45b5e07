"""Numbers of a run as tables: CSV and JSON lines, one row for each batch and metric, and one for each epoch.

A training that goes on takes away the rows that came after its checkpoint and adds its own. One that begins anew leaves
rows of an earlier one alone: it sets their file aside, as `run-1.csv`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burn.record.files import sweep, write_file
from burn.train.logger.protocol import RunLogger
from burn.train.position import Position
from burn.train.store import Split

COLUMNS = ("split", "epoch", "step", "scope", "metric", "value")


class _Rows(RunLogger):
    """Gathers rows and writes them when asked to."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self._rows: list[tuple[Any, ...]] = []

    def begin(self, position: Position | None) -> None:
        """Take away the rows after the position; a file of another training is set aside."""
        if position is not None:
            sweep(self.path.parent)
        if not self.path.is_file():
            return
        if position is None:
            self.path.rename(_free_name(self.path))
            return
        lines = self.path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if line.endswith(b"\n") and self._is_kept(line.decode(), position)]
        if len(kept) != len(lines):
            write_file(str(self.path), kept)

    def _is_kept(self, line: str, position: Position) -> bool:
        """Whether a run that goes on at `position` has the row of a line already; other lines are not ours to judge."""
        try:
            split, epoch, step, scope = self._parse(line)
            where = Split(split), int(epoch)
        except (ValueError, KeyError, IndexError, TypeError):
            return True
        return position.has_batch(*where, int(step)) if scope == "batch" else position.has_epoch(*where)

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

    def _parse(self, line: str) -> tuple[Any, Any, Any, Any]:
        """Split, epoch, step and scope of a line."""
        raise NotImplementedError


class CsvLogger(_Rows):
    """Writes a CSV file with the columns split, epoch, step, scope, metric and value.

    >>> from pathlib import Path
    >>> from burn.train import CsvLogger, Split
    >>> logger = CsvLogger("run.csv")  # LearnerBuilder.loggers([logger]) does the rest
    >>> logger.begin(None)
    >>> logger.log_batch(Split.Train, 1, 7, {"Loss": 0.5})
    >>> logger.close()
    >>> print(Path("run.csv").read_text().strip())
    split,epoch,step,scope,metric,value
    train,1,7,batch,Loss,0.5
    """

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if fresh:
                writer.writerow(COLUMNS)
            writer.writerows(rows)

    def _parse(self, line: str) -> tuple[Any, Any, Any, Any]:
        split, epoch, step, scope = next(csv.reader([line]))[:4]
        return split, epoch, step, scope


class JsonLinesLogger(_Rows):
    """Writes a file with one JSON object a line, for each number of a batch and of an epoch.

    >>> from pathlib import Path
    >>> from burn.train import JsonLinesLogger, Split
    >>> logger = JsonLinesLogger("run.jsonl")  # LearnerBuilder.loggers([logger]) does the rest
    >>> logger.begin(None)
    >>> logger.log_epoch(Split.Valid, 1, 20, {"Loss": 0.5})
    >>> logger.close()
    >>> print(Path("run.jsonl").read_text().strip())
    {"split": "valid", "epoch": 1, "step": 20, "scope": "epoch", "metric": "Loss", "value": 0.5}
    """

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)

    def _parse(self, line: str) -> tuple[Any, Any, Any, Any]:
        row = json.loads(line)
        return row["split"], row["epoch"], row["step"], row["scope"]


def _free_name(path: Path) -> Path:
    """`run-1.csv` for `run.csv`, or the next that is free."""
    number = 1
    while (found := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    return found
