"""An exponential moving average of the weights beside a training: it is what is validated and returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.module.param import Param
from burn.train.strategy.captured import Notice, captured
from burn.train.strategy.protocol import TrainingStrategy


def averaged(average: list[Any], model: Any, decay: Any) -> list[Any]:
    """The average moved towards the model: `decay * average + (1 - decay) * model`."""
    values = [leaf.val().no_grad() for leaf in float_params(model)]
    return [old * decay + new * (1.0 - decay) for old, new in zip(average, values, strict=True)]


def float_params(model: Any) -> list[Param[Any]]:
    """The float parameters, each once."""
    return [param for param in model.parameters() if param.dtype.is_float]


class WeightAverage(TrainingStrategy):
    """Another strategy, with an exponential moving average of its weights, which is validated and returned.

    `LearnerBuilder.ema(decay)` is the usual way to it.

    `inner` is the strategy that trains; `capture` and `notice` are those of `SingleDevice`.

    >>> from burn.train import LearnerBuilder, SingleDevice, WeightAverage
    >>> def make(model, optim, devices):
    ...     return WeightAverage(SingleDevice(model, optim, devices[0]), decay=0.999)
    >>> builder = LearnerBuilder("artifacts").with_training_strategy(make)
    """

    def __init__(self, inner: TrainingStrategy, decay: float, capture: bool = True, notice: Notice = print) -> None:
        self.inner, self.decay, self.devices = inner, decay, inner.devices
        self.average: list[Any] | None = None
        self._update = captured(averaged, "average of the weights", capture, notice)

    @property
    def model(self) -> Any:
        """The model that is trained."""
        return self.inner.model

    @model.setter
    def model(self, model: Any) -> None:
        self.inner.model = model

    @property
    def optim(self) -> Any:
        """The optimizer."""
        return self.inner.optim

    def train(self, batches: Sequence[Any], counts: Sequence[int], lr: Any) -> list[Any]:
        """One turn, then the average."""
        if self.average is None:
            self.average = [param.val().no_grad() for param in float_params(self.inner.model)]
        items = self.inner.train(batches, counts, lr)
        if not self.inner.pending:
            self.average = self._update(self.average, self.inner.model, self.decay)
        return items

    def final_model(self) -> Any:
        """The model with the averaged weights; running statistics are those of the training."""
        if self.average is None:
            return self.inner.model
        values = dict(zip((param.id for param in float_params(self.inner.model)), self.average, strict=True))
        return self.inner.model.map(lambda param: param.with_value(_lifted(values[param.id], param))
                                    if param.id in values else param)  # fmt: skip

    def valid_model(self) -> Any:
        """The averaged model as the strategy below validates it."""
        trained = self.inner.model
        self.inner.model = self.final_model()
        try:
            return self.inner.valid_model()
        finally:
            self.inner.model = trained

    def valid(self, model: Any, batch: Any) -> Any:
        """The item of one batch."""
        return self.inner.valid(model, batch)

    @property
    def pending(self) -> bool:
        """That of the strategy below."""
        return self.inner.pending

    def end_epoch(self) -> None:
        """The step that is left, and the average after it."""
        left = self.inner.pending
        self.inner.end_epoch()
        if left:
            self.average = self._update(self.average, self.inner.model, self.decay)

    def records(self) -> dict[str, Any]:
        """The averaged model."""
        return {**self.inner.records(), "ema": self.final_model().into_record()}

    def load_average(self, model: Any) -> None:
        """Go on with the weights of a model."""
        self.average = [param.val().no_grad() for param in float_params(model)]

    def state(self) -> dict[str, Any]:
        """That of the strategy below."""
        return self.inner.state()

    def load_state(self, state: dict[str, Any]) -> None:
        """Pass it on."""
        self.inner.load_state(state)


def _lifted(value: Any, param: Param[Any]) -> Any:
    return value.to_device(param.device)


__all__ = ["WeightAverage"]
