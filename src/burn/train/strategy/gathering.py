"""What strategies that train one model share: validation, and gradients gathered over several batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.optim import GradientsAccumulator
from burn.train.step import optimized
from burn.train.strategy.protocol import TrainingStrategy


class GatheringStrategy(TrainingStrategy):
    """A strategy with a `model`, an `accumulator` of gradients, and how many batches it holds."""

    accumulator: GradientsAccumulator
    _gathered: int
    _lr: Any
    """The learning rate of the last batch."""
    _valid: Callable[..., Any]

    def valid_model(self) -> Any:
        """The model without autodiff, on the device it is kept on."""
        return self.model.valid()

    def valid(self, model: Any, batch: Any) -> Any:
        """The item of one batch."""
        return self._valid(model, batch)

    @property
    def pending(self) -> bool:
        """Whether gradients wait for the batches that complete their step."""
        return self._gathered > 0

    def end_epoch(self) -> None:
        """A step with what is left: the sum of fewer batches, at the rate of the last one."""
        if self._gathered:
            self._gathered = 0
            self.model = optimized(self.model, self.optim, self._lr, self.accumulator.grads())
