"""The renderer for files and pipes: a line now and then, a line for each epoch, and nothing that moves.

    training: 10 epochs, 60000 items to train on, 10000 to validate with
    epoch  1/10 train  43 %   Loss 0.412   Accuracy 87.31 %   3210 items/s   (9 mins)
    epoch  1/10 train         Loss 0.298   Accuracy 90.62 %   in 18.2 s
    epoch  1/10 valid         Loss 0.101   Accuracy 96.94 %   in 1.4 s

It needs nothing but Python, and its lines can be read years later in the log of a queue.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from burn.errors import ArgumentError
from burn.train.progress import TrainingProgress
from burn.train.renderer.estimate import Estimate
from burn.train.renderer.position import items_before, items_done, items_of_training
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan
from burn.train.renderer.text import epoch_cell


class PlainRenderer(MetricsRenderer):
    """Prints a line every `seconds`, or every `percent` of an epoch where that is given, and one for each epoch.

    For files and pipes; `file` is where to, standard output without it.

    `clock` is where the time comes from.

    >>> from burn.train import PlainRenderer, TrainingPlan
    >>> renderer = PlainRenderer(percent=25)
    >>> renderer.on_train_start(TrainingPlan(10, 1, 60_000, 10_000))
    training: 10 epochs, 60000 items to train on, 10000 to validate with
    """

    def __init__(
        self,
        seconds: float = 10.0,
        percent: float | None = None,
        file: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if percent is not None and not 0 < percent <= 100:
            raise ArgumentError(f"PlainRenderer: percent must be above 0 and at most 100, got {percent}")
        if seconds < 0:
            raise ArgumentError(f"PlainRenderer: seconds must be 0 or more, got {seconds}")
        self.seconds, self.percent = seconds, percent
        self._file, self._clock = file, clock
        self._plan: TrainingPlan | None = None
        self._estimate: Estimate | None = None
        self._cells: dict[str, dict[str, str]] = {"train": {}, "valid": {}}
        self._place: tuple[str, int] | None = None
        self._last: TrainingProgress | None = None
        self._ended = True
        self._began = self._latest = self._printed = clock()
        self._percent_printed = 0.0

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Say what there is to do."""
        self._plan = plan
        self._estimate = Estimate(items_of_training(plan), items_before(plan), self._clock)
        self._began = self._latest = self._printed = self._clock()
        self._place, self._ended = None, True
        first = f", from epoch {plan.first_epoch}" if plan.first_epoch > 1 else ""
        self._print(
            f"training: {plan.epoch_total} {'epoch' if plan.epoch_total == 1 else 'epochs'}{first}, "
            f"{plan.train_items} items to train on, {plan.valid_items} to validate with"
        )

    def update_train(self, state: MetricState) -> None:
        """Keep the value for the next line."""
        self._cells["train"][state.entry.name] = epoch_cell(state)

    def update_valid(self, state: MetricState) -> None:
        """Keep the value for the next line."""
        self._cells["valid"][state.entry.name] = epoch_cell(state)

    def render_train(self, progress: TrainingProgress) -> None:
        """Print if it is time."""
        self._render("train", progress)

    def render_valid(self, progress: TrainingProgress) -> None:
        """Print if it is time."""
        self._render("valid", progress)

    def on_log(self, message: str) -> None:
        """Print it."""
        self._print(message)

    def on_train_end(self, summary: Any = None) -> None:
        """The line of an epoch that was cut short, and the summary."""
        self._end_place()
        if summary is not None:
            self._print(f"\n{summary}")

    def _render(self, split: str, progress: TrainingProgress) -> None:
        now = self._clock()
        if self._place != (split, progress.epoch):
            self._end_place()
            self._place, self._ended = (split, progress.epoch), False
            self._began, self._percent_printed = self._latest, 0.0
        self._last, self._latest = progress, now
        if progress.progress.items_processed >= progress.progress.items_total:
            self._end_place()
        elif self._is_due(now, progress):
            self._printed, self._percent_printed = now, progress.progress.share * 100
            self._print(self._line(split, progress, f"{progress.progress.share:4.0%}", self._pace(split, progress)))

    def _is_due(self, now: float, progress: TrainingProgress) -> bool:
        if self.percent is not None:
            return progress.progress.share * 100 - self._percent_printed >= self.percent
        return now - self._printed >= self.seconds

    def _end_place(self) -> None:
        if self._ended or self._place is None or self._last is None:
            return
        self._ended = True
        done = self._last.progress
        share = "" if done.items_processed >= done.items_total else f"{done.share:4.0%}"
        self._print(self._line(self._place[0], self._last, share, f"in {self._clock() - self._began:.1f} s"))

    def _pace(self, split: str, progress: TrainingProgress) -> str:
        pace = progress.progress.items_processed / max(self._clock() - self._began, 1e-9)
        left = ""
        if self._plan is not None and self._estimate is not None:
            left = self._estimate.text(items_done(self._plan, split, progress))
        return f"{pace:.0f} items/s   {left}".rstrip(" -")

    def _line(self, split: str, progress: TrainingProgress, share: str, end: str) -> str:
        width = len(str(progress.epoch_total))
        values = [f"{name} {value}" for name, value in self._cells[split].items()]
        head = f"epoch {progress.epoch:>{width}}/{progress.epoch_total} {split} {share:>4}"
        return "   ".join([head.replace("%", " %") if share else head + "  ", *values, end])

    def _print(self, text: str) -> None:
        print(text, file=self._file or sys.stdout, flush=True)
