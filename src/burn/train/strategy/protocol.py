"""What a training strategy is: how a turn of batches becomes a better model.

A turn has one batch for each device. A strategy owns the model and the optimizer while a training runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from burn.device import Device


class TrainingStrategy(ABC):
    """Steps of training and validation on one or more devices; owns model and optimizer while a training runs.

    A subclass writes `train`, `valid_model` and `valid`, or changes a strategy that is there:

    >>> from burn.train import LearnerBuilder, SingleDevice
    >>> class Counting(SingleDevice):
    ...     steps = 0
    ...     def train(self, batches, counts, lr):
    ...         self.steps += 1
    ...         return super().train(batches, counts, lr)
    >>> builder = LearnerBuilder("artifacts").with_training_strategy(
    ...     lambda model, optim, devices: Counting(model, optim, devices[0])
    ... )
    """

    model: Any
    optim: Any
    devices: tuple[Device, ...]

    @abstractmethod
    def train(self, batches: Sequence[Any], counts: Sequence[int], lr: Any) -> list[Any]:
        """Forward, backward and update for one turn, at rate `lr`; gives the items, one for each batch.

        `batches` has one for each device, `counts` how many items each has.
        """

    @abstractmethod
    def valid_model(self) -> Any:
        """The model as it is validated: in inference mode, without autodiff."""

    @abstractmethod
    def valid(self, model: Any, batch: Any) -> Any:
        """The item of one batch of validation."""

    @property
    def pending(self) -> bool:
        """Whether gradients wait for the batches that complete their step."""
        return False

    def end_epoch(self) -> None:  # noqa: B027
        """An epoch of training is over: gradients that wait for more batches get their step now."""

    def sync(self) -> None:
        """Wait for all devices."""
        for device in self.devices:
            device.sync()

    def final_model(self) -> Any:
        """The model that the training gives."""
        return self.model

    def records(self) -> dict[str, Any]:
        """Records of its own for a checkpoint, by name."""
        return {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the records, as JSON has it."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Go on from where `state` was taken."""
