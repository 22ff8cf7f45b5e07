"""What the dashboard shows, apart from how: it takes messages in and answers what the panes ask.

It knows nothing of terminals, so tests and other front ends use it as it is.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from burn.train.progress import TrainingProgress
from burn.train.renderer.braille import Curve
from burn.train.renderer.dashboard.messages import Message, place_of, plan_of
from burn.train.renderer.estimate import Estimate
from burn.train.renderer.history import History
from burn.train.renderer.position import items_before, items_done, items_of_training
from burn.train.renderer.protocol import TrainingPlan
from burn.train.renderer.text import printable

SPLITS = ("train", "valid")
TITLES = {"train": "Train", "valid": "Valid"}
MODES = {"train": "Training", "valid": "Validating"}
PLOT_KINDS = ("Full history", "Recent history", "By epoch")
LOG_LINES = 2000


@dataclass(frozen=True, slots=True)
class Gauge:
    """A bar: what of, how full from 0 to 1, and the time that is left."""

    title: str
    share: float
    left: str


class DashboardState:
    """The state of a training as the dashboard knows it. `version` grows with each change."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.version = 0
        self.plan: TrainingPlan | None = None
        self.split = "train"
        self.progress: TrainingProgress | None = None
        self.entries: dict[str, dict[str, str]] = {}
        self.histories: dict[str, dict[str, History]] = {}
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self.log_count = 0
        self.summary = ""
        self.mode: str | None = None
        self.is_over = False
        self.metric = 0
        self.plot_kind = 0
        self._total = Estimate(0, clock=clock)
        self._task = Estimate(0, clock=clock)
        self._task_place: tuple[str, int] | None = None

    def feed(self, message: Message) -> None:
        """Take a message in."""
        self.version += 1
        kind = message["kind"]
        if kind == "plan":
            self._start(plan_of(message))
        elif kind == "update":
            self._update(message)
        elif kind == "end":
            self.is_over, self.summary = True, str(message.get("summary", ""))

    def _start(self, plan: TrainingPlan) -> None:
        self.plan = plan
        self._total = Estimate(items_of_training(plan), items_before(plan), self._clock)
        for split, names in (("train", plan.train_metrics), ("valid", plan.valid_metrics)):
            for name in names:
                self.entries.setdefault(name, {}).setdefault(split, "")

    def _update(self, message: Message) -> None:
        for split, entries in message.get("entries", {}).items():
            for name, formatted in entries.items():
                self.entries.setdefault(name, {})[split] = formatted
        for split, named in message.get("points", {}).items():
            for name, points in named.items():
                history = self.histories.setdefault(name, {}).setdefault(split, History())
                for x, y in points:
                    history.push((x, y))
        for split, name, epoch, value in message.get("epochs", ()):
            self.histories.setdefault(name, {}).setdefault(split, History()).epochs[epoch] = value
        for line in message.get("log", ()):
            self.log.append(printable(line))
            self.log_count += 1
        if message.get("place"):
            self.split, self.progress = place_of(message["place"])
            place = (self.split, self.progress.epoch)
            if place != self._task_place:
                self._task_place = place
                self._task = Estimate(self.progress.progress.items_total, 0, self._clock)

    # what panes ask

    @property
    def numeric_metrics(self) -> list[str]:
        """The metrics that have curves, in the order of the entries."""
        return [name for name in self.entries if name in self.histories]

    @property
    def selected(self) -> str | None:
        """The metric whose curve is shown."""
        names = self.numeric_metrics
        return names[self.metric % len(names)] if names else None

    def select(self, step: int) -> None:
        """Go to another metric, around the end."""
        names = self.numeric_metrics
        self.metric = (self.metric + step) % len(names) if names else 0
        self.version += 1

    def select_kind(self, step: int) -> None:
        """Go to another kind of plot, around the end."""
        self.plot_kind = (self.plot_kind + step) % len(PLOT_KINDS)
        self.version += 1

    def curves(self) -> list[Curve]:
        """The curves of the selected metric, one for each split that has it, in the order of the splits."""
        histories = self.histories.get(self.selected or "", {})
        recent = PLOT_KINDS[self.plot_kind] == "Recent history"
        points = {
            split: history.recent.points if recent else history.full.points for split, history in histories.items()
        }
        return [Curve(TITLES[split], points.get(split, [])) for split in SPLITS]

    def epochs(self) -> list[tuple[int, str, float]]:
        """Epoch, split and value of the selected metric at the end of each epoch, in order."""
        histories = self.histories.get(self.selected or "", {})
        found = [(epoch, split, v) for split, h in histories.items() for epoch, v in h.epochs.items()]
        return sorted(found, key=lambda each: (each[0], SPLITS.index(each[1])))

    def status(self) -> list[tuple[str, str]]:
        """Rows of the status pane."""
        mode = self.mode or ("Finished" if self.is_over else MODES[self.split])
        if self.progress is None:
            return [("Mode", self.mode or "Starting"), ("Epoch", "-"), ("Iteration", "-"), ("Items", "-")]
        inner = self.progress.progress
        return [
            ("Mode", mode),
            ("Epoch", f"{self.progress.epoch}/{self.progress.epoch_total}"),
            ("Iteration", f"{self.progress.iteration}"),
            ("Items", f"{inner.items_processed}/{inner.items_total}"),
        ]

    def gauges(self) -> tuple[Gauge, Gauge]:
        """The bars of the split at hand and of the whole training."""
        if self.progress is None:
            return Gauge("Train", 0.0, "---"), Gauge("Total", 0.0, "---")
        inner = self.progress.progress
        task = Gauge(TITLES[self.split], min(1.0, inner.share), self._task.text(inner.items_processed))
        if self.plan is None:
            return task, Gauge("Total", 0.0, "---")
        done = items_done(self.plan, self.split, self.progress)
        total = items_of_training(self.plan)
        return task, Gauge("Total", min(1.0, done / total) if total else 0.0, self._total.text(done))
