"""The renderer that shows nothing: for scripts that look at the logs instead."""

from __future__ import annotations

from burn.train.progress import TrainingProgress
from burn.train.renderer.protocol import MetricsRenderer, MetricState


class NoRenderer(MetricsRenderer):
    """Shows nothing, not even the summary: for scripts that look at the logs instead.

    >>> from burn.train import LearnerBuilder, NoRenderer
    >>> builder = LearnerBuilder("artifacts").renderer(NoRenderer())
    """

    def update_train(self, state: MetricState) -> None:
        """Nothing."""

    def update_valid(self, state: MetricState) -> None:
        """Nothing."""

    def render_train(self, progress: TrainingProgress) -> None:
        """Nothing."""

    def render_valid(self, progress: TrainingProgress) -> None:
        """Nothing."""
