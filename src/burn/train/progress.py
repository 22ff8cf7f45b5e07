"""How far a training has come: what metrics are told with each batch and renderers draw."""

from __future__ import annotations

from dataclasses import dataclass

from burn.data.dataloader import Progress


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The place of one batch in a training. Epochs and iterations count from 1.

    `progress` is that in the epoch; there are `epoch_total` epochs, and `iteration` counts the batches of this
    `epoch`.

    >>> from burn.train import Progress, TrainingProgress
    >>> place = TrainingProgress(Progress(640, 1280), epoch=2, epoch_total=10, iteration=20)
    >>> place.progress.share
    0.5
    """

    progress: Progress
    epoch: int
    epoch_total: int
    iteration: int


__all__ = ["Progress", "TrainingProgress"]
