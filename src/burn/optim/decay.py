"""Weight decay: a pull of every parameter towards zero, added to its gradient."""

from __future__ import annotations

from typing import TypeAlias

from burn.config import Config
from burn.errors import ArgumentError
from burn.tensor import Tensor


class WeightDecayConfig(Config):
    """Adds `penalty` times the parameter to its gradient: an L2 penalty. Optimizers take the number itself too.

    >>> from burn.optim import SgdConfig, WeightDecayConfig
    >>> optim = SgdConfig(weight_decay=WeightDecayConfig(penalty=1e-4)).init()
    >>> optim = SgdConfig(weight_decay=1e-4).init()
    """

    penalty: float

    def init(self) -> WeightDecay:
        """The weight decay."""
        return WeightDecay(self)


class WeightDecay:
    """Gradients with a penalty on large parameters.

    >>> import burn
    >>> from burn.optim import WeightDecayConfig
    >>> decay = WeightDecayConfig(0.5).init()
    >>> print(decay.transform(gradient=burn.tensor([0.1, 0.1]), tensor=burn.tensor([1.0, -2.0])).to_data())
    [0.6, -0.9]
    """

    def __init__(self, config: WeightDecayConfig) -> None:
        self.penalty = checked(config.penalty)

    def transform(self, gradient: Tensor, tensor: Tensor) -> Tensor:
        """The gradient with the penalty of `tensor` added."""
        return gradient + tensor * self.penalty


Decay: TypeAlias = WeightDecayConfig | float | None
"""A weight decay as configs take it; a number is the penalty."""


def penalty_of(decay: Decay) -> float:
    """The penalty; 0 where there is no weight decay."""
    if decay is None:
        return 0.0
    return checked(decay.penalty if isinstance(decay, WeightDecayConfig) else decay)


def checked(penalty: float) -> float:
    """A penalty that is none below zero."""
    if not penalty >= 0:
        raise ArgumentError(f"weight_decay: the penalty is a number from 0 up, got {penalty!r}")
    return float(penalty)
