"""What a renderer is: it is told each metric's state and how far the training is, and shows it in its own way.

The learner's event thread calls it, never the training thread, and one call at a time. `update_*` come first for each
metric of a batch, then one `render_*` with the progress.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from burn.train.interrupter import Interrupter
from burn.train.metric.protocol import MetricEntry
from burn.train.progress import TrainingProgress


@dataclass(frozen=True, slots=True)
class MetricState:
    """A metric after an update: its `entry`, and if numeric the batch's `value` and the epoch's (`running`).

    >>> from burn.train import MetricEntry, MetricState
    >>> MetricState(MetricEntry("Loss", "epoch 0.51 - batch 0.48", "0.48,32"), value=0.48, running=0.51).is_numeric
    True
    """

    entry: MetricEntry
    value: float | None = None
    running: float | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether it can be plotted."""
        return self.value is not None


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What a renderer is told before the first batch: epochs, items of each split, and the metrics.

    `epoch_total` epochs, from `first_epoch` on; `train_items` and `valid_items` in each; names in `train_metrics` and
    `valid_metrics`.

    >>> from burn.train import TrainingPlan
    >>> plan = TrainingPlan(epoch_total=10, first_epoch=1, train_items=60_000, valid_items=10_000)
    >>> plan.train_metrics
    ()
    """

    epoch_total: int
    first_epoch: int
    train_items: int
    valid_items: int
    train_metrics: tuple[str, ...] = ()
    valid_metrics: tuple[str, ...] = ()


class MetricsRenderer(ABC):
    """Shows a training. Subclass it, give it to `LearnerBuilder.renderer(...)`.

    The learner's event thread calls it, one call at a time; `update_*` come first, then the `render_*` of their batch.

    `plan` is what is to be done, `state` a metric after an update, `progress` the place of a batch, `message` a
    line for people.

    >>> from burn.train import LearnerBuilder, MetricsRenderer
    >>> class Dots(MetricsRenderer):
    ...     def update_train(self, state): pass
    ...     def update_valid(self, state): pass
    ...     def render_train(self, progress): print(".", end="", flush=True)
    ...     def render_valid(self, progress): print("v", end="", flush=True)
    >>> builder = LearnerBuilder("artifacts").renderer(Dots())
    """

    interrupter: Interrupter | None = None
    """Set by the learner before `on_train_start`: `interrupter.stop(reason)` asks the training to end."""

    def on_train_start(self, plan: TrainingPlan) -> None:  # noqa: B027
        """The training begins (main thread)."""

    @abstractmethod
    def update_train(self, state: MetricState) -> None:
        """A training metric has a new value."""

    @abstractmethod
    def update_valid(self, state: MetricState) -> None:
        """A validation metric has a new value."""

    @abstractmethod
    def render_train(self, progress: TrainingProgress) -> None:
        """A training batch is done."""

    @abstractmethod
    def render_valid(self, progress: TrainingProgress) -> None:
        """A validation batch is done."""

    def on_log(self, message: str) -> None:  # noqa: B027
        """A line for people: a notice of the learner, a checkpoint written, a stop asked for."""

    def on_train_end(self, summary: Any = None) -> None:  # noqa: B027
        """The training has ended, normally or not (main thread): restore the terminal. `summary` prints as a table."""
