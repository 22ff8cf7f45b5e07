"""What a model has done: counts, times and batch sizes, cheap to note and read by metrics and model pages."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from threading import Lock
from time import time

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
RECENT = 2048


class Histogram:
    """Counts of values by upper bounds, their sum, and the latest ones for quantiles."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0
        self.recent: deque[float] = deque(maxlen=RECENT)

    @property
    def count(self) -> int:
        """How many values were noted."""
        return sum(self.counts)

    def note(self, value: float) -> None:
        """Take one value in."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
        self.recent.append(value)

    def quantile(self, share: float) -> float:
        """A quantile of the latest values; 0 when there are none."""
        values = sorted(self.recent)
        return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


class Statistics:
    """The numbers of one model version. Written by its worker and the front; a lock keeps sums whole."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.answers: Counter[str] = Counter()
        self.queue = Histogram(SECONDS)
        self.compute = Histogram(SECONDS)
        self.batches = Histogram(tuple(map(float, ROWS)))
        self.inferences = 0
        self.started = time()
        self.last_inference = 0.0

    def note_run(self, queued: list[float], seconds: float, rows: int) -> None:
        """One run: how long its jobs waited, how long it took, how many rows it had."""
        with self.lock:
            for each in queued:
                self.queue.note(each)
            self.compute.note(seconds)
            self.batches.note(rows)
            self.inferences += rows
            self.last_inference = time()

    def note_answer(self, outcome: str) -> None:
        """One request answered: "success", or the code of its error."""
        with self.lock:
            self.answers[outcome] += 1
