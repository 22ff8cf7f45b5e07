"""A renderer that draws one bar for each epoch, ends with a sparkline of the losses, and stops when they are small.

A renderer is told each metric of a batch (`update_*`), then the place of the batch (`render_*`). It is called from
the learner's event thread, so it may take its time. Through `self.interrupter` it can ask the training to end.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

from burn.train import MetricsRenderer, MetricState, TrainingPlan, TrainingProgress

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 30


class BarRenderer(MetricsRenderer):
    """One line for each epoch, which fills while it runs where the output is a terminal."""

    def __init__(self, stop_below: float = 0.0, file: TextIO | None = None) -> None:
        self.stop_below = stop_below
        self.losses: list[float] = []
        self._file = file or sys.stdout
        self._loss = {"train": 0.0, "valid": 0.0}

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Say what follows."""
        print(f"{plan.epoch_total} epochs of {plan.train_items} items", file=self._file)

    def update_train(self, state: MetricState) -> None:
        """Keep the loss of the epoch so far."""
        if state.entry.name == "Loss" and state.running is not None:
            self._loss["train"] = state.running

    def update_valid(self, state: MetricState) -> None:
        """Keep the loss of the epoch so far."""
        if state.entry.name == "Loss" and state.running is not None:
            self._loss["valid"] = state.running

    def render_train(self, progress: TrainingProgress) -> None:
        """Fill the bar."""
        if self._file.isatty():
            filled = int(progress.progress.share * WIDTH)
            bar = "█" * filled + "░" * (WIDTH - filled)
            print(f"\r{progress.epoch:>3} {bar} {self._loss['train']:.4f}", end="", file=self._file, flush=True)

    def render_valid(self, progress: TrainingProgress) -> None:
        """End the line with the epoch."""
        if progress.progress.items_processed < progress.progress.items_total:
            return
        self.losses.append(self._loss["valid"])
        start = "\r" if self._file.isatty() else ""
        train, valid = self._loss["train"], self._loss["valid"]
        print(f"{start}{progress.epoch:>3} {'█' * WIDTH} train {train:.4f} valid {valid:.4f}", file=self._file)
        if valid < self.stop_below and self.interrupter is not None:
            self.interrupter.stop(f"the loss is below {self.stop_below:g}")

    def on_log(self, message: str) -> None:
        """Say it."""
        print(f"    {message}", file=self._file)

    def on_train_end(self, summary: Any = None) -> None:
        """A sparkline of all epochs."""
        if self.losses:
            low, high = min(self.losses), max(self.losses)
            steps = [round((loss - low) / ((high - low) or 1) * (len(BARS) - 1)) for loss in self.losses]
            print(f"validation loss {''.join(BARS[step] for step in steps)} {self.losses[-1]:.4f}", file=self._file)
