"""The renderer for a terminal without Textual: Rich's live view, a table of metrics over two bars."""

from __future__ import annotations

import time
from typing import Any

from burn.errors import MissingOperation
from burn.train.progress import TrainingProgress
from burn.train.renderer.estimate import Estimate
from burn.train.renderer.position import items_before, items_done, items_of_training
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan
from burn.train.renderer.text import cells

FRAMES_PER_SECOND = 5
TITLES = {"train": "Train", "valid": "Valid"}
COLOURS = {"train": "bright_red", "valid": "bright_blue"}


class RichRenderer(MetricsRenderer):
    """Shows a table and bars on the terminal, drawn again in place. Needs `rich`.

    `console` is Rich's, standard output without it.

    >>> from burn.train import LearnerBuilder
    >>> from burn.train.renderer import RichRenderer
    >>> builder = LearnerBuilder("artifacts").renderer(RichRenderer())
    """

    def __init__(self, console: Any = None) -> None:
        try:
            import rich.console
        except ImportError:
            raise MissingOperation("RichRenderer: needs rich; install it with: pip install 'burn-dl[train]'") from None
        self._console = console or rich.console.Console()
        self._live: Any = None
        self._plan: TrainingPlan | None = None
        self._total = Estimate(0)
        self._entries: dict[str, dict[str, str]] = {}
        self._split = "train"
        self._progress: TrainingProgress | None = None
        self._drawn = 0.0

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Begin to draw."""
        from rich.live import Live

        self._plan, self._entries = plan, {}
        self._total = Estimate(items_of_training(plan), items_before(plan))
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._live.start()

    def update_train(self, state: MetricState) -> None:
        """Keep the value for the next frame."""
        self._entries.setdefault(state.entry.name, {})["train"] = state.entry.formatted

    def update_valid(self, state: MetricState) -> None:
        """Keep the value for the next frame."""
        self._entries.setdefault(state.entry.name, {})["valid"] = state.entry.formatted

    def render_train(self, progress: TrainingProgress) -> None:
        """Draw, a few times a second."""
        self._render("train", progress)

    def render_valid(self, progress: TrainingProgress) -> None:
        """Draw, a few times a second."""
        self._render("valid", progress)

    def on_log(self, message: str) -> None:
        """Print it above the table."""
        self._console.print(message, markup=False, highlight=False)

    def on_train_end(self, summary: Any = None) -> None:
        """Draw the last state, give the terminal back, print the summary."""
        if self._live is not None:
            if self._progress is not None:
                self._live.update(self._view(), refresh=True)
            self._live.stop()
            self._live = None
        if summary is not None:
            self._console.print(str(summary), markup=False, highlight=False)

    def _render(self, split: str, progress: TrainingProgress) -> None:
        self._split, self._progress = split, progress
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= 1 / FRAMES_PER_SECOND:
            self._drawn = now
            self._live.update(self._view(), refresh=True)

    def _view(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table("Metric", "Split", "Epoch", "Batch", box=None, padding=(0, 2, 0, 0))
        for name, splits in self._entries.items():
            for split, formatted in splits.items():
                epoch, batch = cells(formatted, name)
                table.add_row(name, Text(TITLES[split], style=COLOURS[split]), epoch, batch)
        progress, plan = self._progress, self._plan
        if progress is None or plan is None:
            return table
        done, total = items_done(plan, self._split, progress), items_of_training(plan)
        bars = Table.grid(padding=(0, 1))
        inner = progress.progress
        share = ProgressBar(total=max(1, inner.items_total), completed=inner.items_processed, width=40)
        whole = ProgressBar(total=max(1, total), completed=done, width=40)
        bars.add_row(TITLES[self._split], share, f"epoch {progress.epoch}/{progress.epoch_total}")
        bars.add_row("Total", whole, self._total.text(done))
        return Group(table, bars)
