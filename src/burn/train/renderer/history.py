"""The points of a metric that a plot needs: the whole training in few points, and the last ones in full.

A training has more batches than a screen has columns. The full history keeps at most 250 points: when it is full,
neighbours are averaged in pairs, and from then on a point stands for twice as many batches. The recent history keeps
the last 1000 as they came.
"""

from __future__ import annotations

from collections import deque

FULL_POINTS = 250
RECENT_POINTS = 1000

Point = tuple[float, float]
"""A place on the axis (epochs, with fractions) and a value."""


def halve(points: list[Point]) -> list[Point]:
    """Half as many points: the means of neighbours. One left over at the end stays."""
    halved = [_mean((a, b)) for a, b in zip(points[0::2], points[1::2])]
    return halved + points[len(points) - len(points) % 2 :]


def _mean(points: tuple[Point, ...]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


class FullHistory:
    """All of a training in at most `limit` points."""

    def __init__(self, limit: int = FULL_POINTS) -> None:
        self.limit = limit
        self.stands_for = 1  # how many values a point is the mean of
        self._points: list[Point] = []
        self._open: list[Point] = []

    def push(self, point: Point) -> None:
        """Take a value in."""
        self._open.append(point)
        if len(self._open) < self.stands_for:
            return
        self._points.append(_mean(tuple(self._open)))
        self._open.clear()
        if len(self._points) >= self.limit:
            self._points = halve(self._points)
            self.stands_for *= 2

    @property
    def points(self) -> list[Point]:
        """The points, with the mean of what has not filled one yet."""
        return [*self._points, _mean(tuple(self._open))] if self._open else list(self._points)


class RecentHistory:
    """The last values, at most `limit`."""

    def __init__(self, limit: int = RECENT_POINTS) -> None:
        self._points: deque[Point] = deque(maxlen=limit)

    def push(self, point: Point) -> None:
        """Take a value in; the oldest goes when there are too many."""
        self._points.append(point)

    @property
    def points(self) -> list[Point]:
        """The points, the oldest first."""
        return list(self._points)


class History:
    """One metric of one split: its full and its recent history, and the value at the end of each epoch."""

    def __init__(self) -> None:
        self.full = FullHistory()
        self.recent = RecentHistory()
        self.epochs: dict[int, float] = {}

    def push(self, point: Point) -> None:
        """Take a batch's value in."""
        self.full.push(point)
        self.recent.push(point)
