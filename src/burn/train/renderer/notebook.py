"""The renderer for notebooks: one output cell with a table and curves, written again at most twice a second."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from burn.errors import MissingOperation
from burn.train.progress import TrainingProgress
from burn.train.renderer.curves import Line, Panel, svg
from burn.train.renderer.estimate import Estimate
from burn.train.renderer.history import History
from burn.train.renderer.position import epochs_done, items_before, items_done, items_of_training
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan
from burn.train.renderer.text import cells

INTERVAL = 0.5
TITLES = {"train": "Train", "valid": "Valid"}
LOG_LINES = 8


class NotebookRenderer(MetricsRenderer):
    """Shows the training in the output of the cell that runs it: a table, bars, and curves unless `plots` is False.

    >>> from burn.train import LearnerBuilder
    >>> from burn.train.renderer import NotebookRenderer
    >>> builder = LearnerBuilder("artifacts").renderer(NotebookRenderer(plots=False))  # doctest: +SKIP
    """

    def __init__(self, plots: bool = True) -> None:
        try:
            from IPython import display
        except ImportError:
            raise MissingOperation(
                "NotebookRenderer: needs IPython, which a notebook has; use PlainRenderer()"
            ) from None
        self.plots = plots
        self._ipython: Any = display
        self._handle: Any = None
        self._plan: TrainingPlan | None = None
        self._total = Estimate(0)
        self._entries: dict[str, dict[str, str]] = {}
        self._histories: dict[str, dict[str, History]] = {}
        self._batch: list[tuple[str, MetricState]] = []
        self._log: list[str] = []
        self._place: tuple[str, TrainingProgress] | None = None
        self._drawn = 0.0

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Open the output."""
        self._plan, self._entries, self._histories, self._log = plan, {}, {}, []
        self._total = Estimate(items_of_training(plan), items_before(plan))
        self._handle = self._ipython.display(self._ipython.HTML("starting"), display_id=True)

    def update_train(self, state: MetricState) -> None:
        """Keep the value."""
        self._batch.append(("train", state))

    def update_valid(self, state: MetricState) -> None:
        """Keep the value."""
        self._batch.append(("valid", state))

    def render_train(self, progress: TrainingProgress) -> None:
        """Draw, twice a second at most."""
        self._render("train", progress)

    def render_valid(self, progress: TrainingProgress) -> None:
        """Draw, twice a second at most."""
        self._render("valid", progress)

    def on_log(self, message: str) -> None:
        """Keep the last lines."""
        self._log = [*self._log, message][-LOG_LINES:]

    def on_train_end(self, summary: Any = None) -> None:
        """Draw the last state with the summary."""
        self._show("" if summary is None else f"<pre>{escape(str(summary))}</pre>")

    def _render(self, split: str, progress: TrainingProgress) -> None:
        self._place = (split, progress)
        ended = progress.progress.items_processed >= progress.progress.items_total
        for its_split, state in self._batch:
            self._entries.setdefault(state.entry.name, {})[its_split] = state.entry.formatted
            if state.value is not None:
                history = self._histories.setdefault(state.entry.name, {}).setdefault(its_split, History())
                history.push((epochs_done(progress), state.value))
                if ended and state.running is not None:
                    history.epochs[progress.epoch] = state.running
        self._batch.clear()
        now = time.monotonic()
        if now - self._drawn >= INTERVAL:
            self._drawn = now
            self._show("")

    def _show(self, end: str) -> None:
        if self._handle is not None:
            self._handle.update(self._ipython.HTML(self.page() + end))

    def page(self) -> str:
        """The table, the bars and the curves as HTML."""
        parts = [self._bars(), self._table()]
        panels = [
            Panel(name, [Line(TITLES[split], h.full.points, sorted(h.epochs.items())) for split, h in splits.items()])
            for name, splits in self._histories.items()
        ]
        if self.plots and panels:
            parts.append(svg(panels))
        if self._log:
            parts.append(f"<pre>{escape(chr(10).join(self._log))}</pre>")
        return "".join(parts)

    def _bars(self) -> str:
        if self._place is None or self._plan is None:
            return ""
        split, progress = self._place
        inner, total = progress.progress, items_of_training(self._plan)
        done = items_done(self._plan, split, progress)
        return (
            f"<div>{TITLES[split]} epoch {progress.epoch}/{progress.epoch_total} "
            f'<progress value="{inner.items_processed}" max="{max(1, inner.items_total)}"></progress> '
            f'total <progress value="{done}" max="{max(1, total)}"></progress> {escape(self._total.text(done))}</div>'
        )

    def _table(self) -> str:
        rows = []
        for name, splits in self._entries.items():
            for split, formatted in splits.items():
                values = "".join(f"<td>{escape(cell)}</td>" for cell in cells(formatted, name))
                rows.append(f"<tr><td>{escape(name)}</td><td>{TITLES[split]}</td>{values}</tr>")
        head = "<tr><th>Metric</th><th>Split</th><th>Epoch</th><th>Batch</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>" if rows else ""
