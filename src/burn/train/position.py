"""Where a training stands: what a checkpoint keeps, and what loggers must have and must not have when it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burn.train.store import Split


@dataclass(frozen=True)
class Position:
    """After an epoch; or inside of it, where `iteration` batches of it were trained on."""

    epoch: int = 0
    iteration: int = 0
    step: int = 0
    """The training iterations since the first epoch."""
    trained: bool = False
    """Inside of an epoch: all its batches were trained on, and the validation was not whole."""
    entries: Mapping[str, int] = field(default_factory=dict)
    """Inside of an epoch: how many entries the log of each training metric has."""
    state: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(epoch: int, state: dict[str, Any]) -> Position:
        """The position that the state of a checkpoint tells."""
        inside: dict[str, Any] = state.get("inside") or {}
        return Position(
            epoch,
            state.get("iteration", 0),
            state.get("step", 0),
            bool(inside.get("trained")),
            inside.get("entries", {}),
            state,
        )

    @property
    def first_epoch(self) -> int:
        """The epoch to run next."""
        return max(self.epoch, 1) if self.iteration else self.epoch + 1

    @property
    def last_whole(self) -> int:
        """The last epoch that was whole."""
        return self.first_epoch - 1

    def has_epoch(self, split: Split, epoch: int) -> bool:
        """Whether the values of that epoch, as a whole, were known here."""
        return epoch <= self.last_whole or (epoch == self.epoch and split is Split.Train and self.trained)

    def has_batch(self, split: Split, epoch: int, step: int) -> bool:
        """Whether the batch of that step was done here."""
        return epoch <= self.last_whole or (epoch == self.epoch and split is Split.Train and step <= self.step)
