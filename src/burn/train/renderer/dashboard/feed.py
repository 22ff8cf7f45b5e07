"""What was told since the last frame, gathered into one message that is short however fast the batches come."""

from __future__ import annotations

import threading

from burn.train.progress import TrainingProgress
from burn.train.renderer.dashboard.messages import Message, place_message
from burn.train.renderer.history import Point, halve
from burn.train.renderer.position import epochs_done
from burn.train.renderer.protocol import MetricState

POINTS_PER_MESSAGE = 64


class Feed:
    """Gathers metrics, places and log lines on one thread; another takes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: Message = {}
        self._batch: list[tuple[str, MetricState]] = []

    def metric(self, split: str, state: MetricState) -> None:
        """A metric of the batch whose place comes next."""
        self._batch.append((split, state))

    def batch_done(self, split: str, progress: TrainingProgress) -> None:
        """The place of the batch: its metrics become points there."""
        x = epochs_done(progress)
        ended = progress.progress.items_processed >= progress.progress.items_total
        batch = self.take_batch()
        with self._lock:
            pending = self._pending
            pending["place"] = place_message(split, progress)
            for its_split, state in batch:
                name = state.entry.name
                pending.setdefault("entries", {}).setdefault(its_split, {})[name] = state.entry.formatted
                if state.value is None:
                    continue
                points: dict[str, list[Point]] = pending.setdefault("points", {}).setdefault(its_split, {})
                points.setdefault(name, []).append((x, state.value))
                if len(points[name]) > POINTS_PER_MESSAGE:
                    points[name] = halve(points[name])
                if ended and state.running is not None:
                    pending.setdefault("epochs", []).append((its_split, name, progress.epoch, state.running))

    def log(self, message: str) -> None:
        """Lines for the log pane."""
        with self._lock:
            self._pending.setdefault("log", []).extend(message.splitlines() or [""])

    def take_batch(self) -> list[tuple[str, MetricState]]:
        """The metrics of the batch at hand, which are forgotten."""
        batch, self._batch = self._batch, []
        return batch

    def take(self) -> Message:
        """All that was gathered, which is forgotten; an empty message if nothing was."""
        with self._lock:
            pending, self._pending = self._pending, {}
        return {"kind": "update", **pending} if pending else {}
