"""Which classes are taken for which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from burn.errors import ArgumentError
from burn.train.metric.accuracy import AccuracyInput
from burn.train.metric.host import Array, scores_and_classes
from burn.train.metric.protocol import Metric, MetricEntry, MetricMetadata


class ConfusionMatrixMetric(Metric[AccuracyInput]):
    """Counts items by their right class (rows) and the predicted one (columns), over the epoch.

    The shown line names the share on the diagonal and the most frequent mistake; `table()` is the whole as text and
    `matrix` as data. The log has a line per batch with its cells, `[[right, predicted, count], ...]`.

    `class_names` are used in words; items whose target is `pad_token` are left out.

    >>> from burn.train.metric import AccuracyInput, ConfusionMatrixMetric, MetricMetadata
    >>> metric = ConfusionMatrixMetric(["cat", "dog"])
    >>> metric.update(AccuracyInput([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1]), MetricMetadata.fake()).formatted
    '66.67 % on the diagonal, most often dog taken for cat (1 times)'
    >>> metric.matrix
    array([[1, 0],
           [1, 1]])
    """

    input_type: ClassVar[type | None] = AccuracyInput

    def __init__(self, class_names: Sequence[str] | None = None, pad_token: int | None = None) -> None:
        self.class_names = None if class_names is None else [str(name) for name in class_names]
        self.pad_token = pad_token
        self.matrix: Array = np.zeros((0, 0), np.int64)
        """Counts (classes, classes) of the epoch so far."""

    def name(self) -> str:
        """The name."""
        return "Confusion Matrix"

    def clear(self) -> None:
        """Forget the epoch."""
        self.matrix = np.zeros((0, 0), np.int64)

    def update(self, item: AccuracyInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        scores, classes = scores_and_classes(self.name(), item.outputs, item.targets)
        size = scores.shape[1]
        if self.class_names is not None and len(self.class_names) != size:
            raise ArgumentError(f"{self.name()}: {len(self.class_names)} class names for {size} classes")
        found = scores.argmax(1)
        if self.pad_token is not None:
            kept = classes != self.pad_token
            found, classes = found[kept], classes[kept]
        cells, counts = np.unique(classes * size + found, return_counts=True)
        if len(self.matrix) != size:
            self.matrix = np.zeros((size, size), np.int64)
        flat = self.matrix.reshape(-1)
        flat[cells] += counts
        rows = [[cell // size, cell % size, count] for cell, count in zip(cells.tolist(), counts.tolist())]
        return MetricEntry(self.name(), self._line(), json.dumps(rows, separators=(",", ":")))

    def _line(self) -> str:
        total, right = int(self.matrix.sum()), int(self.matrix.trace())
        if not total:
            return "no items yet"
        line = f"{100 * right / total:.2f} % on the diagonal"
        if right < total:
            mistakes = self.matrix - np.diag(self.matrix.diagonal())
            wanted, given = divmod(int(mistakes.argmax()), len(mistakes))
            line += f", most often {self._title(wanted)} taken for {self._title(given)} ({mistakes.max()} times)"
        return line

    def _title(self, index: int) -> str:
        return str(index) if self.class_names is None else self.class_names[index]

    def table(self) -> str:
        """The matrix as text: a row for each right class, a column for each prediction."""
        titles = [self._title(index) for index in range(len(self.matrix))]
        cells = [[str(count) for count in row] for row in self.matrix.tolist()]
        first = max([len(title) for title in titles], default=0)
        widths = [max(len(title), *(len(row[at]) for row in cells)) for at, title in enumerate(titles)]
        head = " " * first + "  " + "  ".join(title.rjust(width) for title, width in zip(titles, widths))
        body = (
            title.ljust(first) + "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths))
            for title, row in zip(titles, cells)
        )
        return "\n".join([head.rstrip(), *body])
