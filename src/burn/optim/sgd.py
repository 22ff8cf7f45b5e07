"""Stochastic gradient descent, with momentum if wanted."""

from __future__ import annotations

from typing import Any

from burn.config import Config
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.decay import WeightDecayConfig, penalty_of
from burn.optim.momentum import Momentum, MomentumConfig, MomentumState
from burn.optim.optimizer import Optimizer
from burn.optim.simple import Optional, SimpleOptimizer
from burn.tensor import Tensor


class SgdConfig(Config):
    """Settings of stochastic gradient descent (`torch.optim.SGD`): `p - lr * g`.

    Arguments:
        weight_decay: an L2 penalty, a number or a `WeightDecayConfig`; None is none.
        momentum: a `MomentumConfig`; None is none.
        gradient_clipping: a `GradientClippingConfig`; None does not clip.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import SgdConfig
    >>> optim = SgdConfig().init()
    >>> model = optim.step(0.25, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.5 -1. ]]
    """

    weight_decay: WeightDecayConfig | float | None = None
    momentum: MomentumConfig | None = None
    gradient_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.gradient_clipping)

    def build(self) -> Sgd:
        """The update of one tensor, for `with_group`."""
        return Sgd(self)


class Sgd(SimpleOptimizer):
    """The update of one tensor by stochastic gradient descent, with momentum and weight decay if wanted.

    >>> import burn
    >>> from burn.optim import SgdConfig
    >>> values, slot = SgdConfig().build().step(0.5, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.75 -2.25]
    """

    def __init__(self, config: SgdConfig) -> None:
        self.config = config
        self.penalty = penalty_of(config.weight_decay)
        self.momentum = None if config.momentum is None else Momentum(config.momentum)
        self.state_type = None if self.momentum is None else MomentumState

    def update(self, lr: Any, tensor: Tensor, gradient: Tensor, state: Any) -> tuple[Tensor, Any]:
        if self.penalty:
            gradient = gradient + tensor * self.penalty
        if self.momentum is not None:
            gradient, velocity = self.momentum.transform(gradient, None if state is None else state.velocity)
            state = MomentumState(velocity)
        return tensor - gradient * lr, state

    def layout(self) -> Any:
        return {"momentum": Optional({"velocity": "velocity"})}
