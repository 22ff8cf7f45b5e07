"""Training on one device: forward, backward and update in one captured call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.device import Device
from burn.optim import GradientsAccumulator
from burn.train.step import checked, detached, optimized
from burn.train.strategy.captured import Notice, captured
from burn.train.strategy.gathering import GatheringStrategy


def step(model: Any, optim: Any, batch: Any, lr: Any) -> Any:
    """One batch: the model after it, and the item."""
    output = checked(model.train_step(batch), model)
    return optimized(model, optim, lr, output.grads), detached(output.item)


def gather(model: Any, accumulator: Any, batch: Any) -> Any:
    """One batch whose gradients wait for a later step; gives the item."""
    output = checked(model.train_step(batch), model)
    accumulator.accumulate(model, output.grads)
    return detached(output.item)


def gathered_step(model: Any, optim: Any, accumulator: Any, batch: Any, lr: Any) -> Any:
    """One batch and a step with all gradients since the last one."""
    output = checked(model.train_step(batch), model)
    accumulator.accumulate(model, output.grads)
    return optimized(model, optim, lr, accumulator.grads()), detached(output.item)


def validate(model: Any, batch: Any) -> Any:
    """One batch of validation."""
    return detached(model.valid_step(batch))


class SingleDevice(GatheringStrategy):
    """One device, with gradients gathered over `accumulation` batches if wanted: what a learner uses with one device.

    `capture` says whether steps are captured, `notice` is told what people should know.

    >>> from burn.train import LearnerBuilder, SingleDevice
    >>> def make(model, optim, devices):
    ...     return SingleDevice(model, optim, devices[0], capture=False)
    >>> builder = LearnerBuilder("artifacts").with_training_strategy(make)
    """

    def __init__(
        self,
        model: Any,
        optim: Any,
        device: Device,
        accumulation: int = 1,
        capture: bool = True,
        notice: Notice = print,
    ) -> None:
        self.model, self.optim, self.devices = model, optim, (device,)
        self.accumulation, self._gathered = accumulation, 0
        self.accumulator = GradientsAccumulator()
        self._step = captured(step, "training step", capture, notice)
        self._gather = captured(gather, "gathering step", capture, notice)
        self._gathered_step = captured(gathered_step, "training step", capture, notice)
        self._valid = captured(validate, "validation step", capture, notice)

    def train(self, batches: Sequence[Any], counts: Sequence[int], lr: Any) -> list[Any]:
        """One batch."""
        (batch,) = batches
        if self.accumulation == 1:
            self.model, item = self._step(self.model, self.optim, batch, lr)
            return [item]
        self._gathered, self._lr = self._gathered + 1, lr
        if self._gathered < self.accumulation:
            return [self._gather(self.model, self.accumulator, batch)]
        self._gathered = 0
        self.model, item = self._gathered_step(self.model, self.optim, self.accumulator, batch, lr)
        return [item]
