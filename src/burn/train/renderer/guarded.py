"""A renderer whose place may vanish: when the terminal or the pipe is gone, the training goes on without it.

`python train.py | head -1` closes the pipe after a line. What a training makes lies in its folder, so it is not ended
for want of a reader; the log says what happened.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from burn.train.interrupter import Interrupter
from burn.train.logger.application import LOG
from burn.train.progress import TrainingProgress
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan
from burn.train.renderer.silent import NoRenderer


class Guarded(MetricsRenderer):
    """Another renderer, until writing fails."""

    def __init__(self, inner: MetricsRenderer) -> None:
        self.inner = inner

    @property
    def interrupter(self) -> Interrupter | None:
        """That of the renderer."""
        return self.inner.interrupter

    @interrupter.setter
    def interrupter(self, interrupter: Interrupter | None) -> None:
        self.inner.interrupter = interrupter

    def on_train_start(self, plan: TrainingPlan) -> None:
        """Pass it on."""
        self._guard(self.inner.on_train_start, plan)

    def update_train(self, state: MetricState) -> None:
        """Pass it on."""
        self._guard(self.inner.update_train, state)

    def update_valid(self, state: MetricState) -> None:
        """Pass it on."""
        self._guard(self.inner.update_valid, state)

    def render_train(self, progress: TrainingProgress) -> None:
        """Pass it on."""
        self._guard(self.inner.render_train, progress)

    def render_valid(self, progress: TrainingProgress) -> None:
        """Pass it on."""
        self._guard(self.inner.render_valid, progress)

    def on_log(self, message: str) -> None:
        """Pass it on."""
        self._guard(self.inner.on_log, message)

    def on_train_end(self, summary: Any = None) -> None:
        """Pass it on."""
        self._guard(self.inner.on_train_end, summary)

    def _guard(self, show: Callable[[Any], None], what: Any) -> None:
        try:
            show(what)
        except OSError as error:
            self.inner = NoRenderer()
            LOG.warning("the training is not shown any more, and goes on: %s: %s", type(error).__name__, error)
            if isinstance(error, BrokenPipeError):
                _give_output_up()


def _give_output_up() -> None:
    """Nobody reads what is printed: later prints go nowhere, and the flush at the end of Python does not fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
