"""RMSProp: gradients divided by the root of the running mean of their squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from burn.config import Config
from burn.errors import raise_faults
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.decay import WeightDecayConfig, penalty_of
from burn.optim.optimizer import Optimizer
from burn.optim.simple import Optional, SimpleOptimizer
from burn.tensor import Tensor, TensorData


class RmsPropConfig(Config):
    """Settings of RMSProp (`torch.optim.RMSprop`): gradients divided by the root of the running mean of their squares.

    Arguments:
        alpha: how much of the running mean is kept.
        momentum: how much of the velocity is kept; 0.9, where PyTorch has 0.
        epsilon: added to the root.
        centered: divide by the running standard deviation instead.
        weight_decay: an L2 penalty, a number or a `WeightDecayConfig`; None is none.
        grad_clipping: a `GradientClippingConfig`; None does not clip.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import RmsPropConfig
    >>> optim = RmsPropConfig(momentum=0.0).init()
    >>> model = optim.step(0.01, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.9 -1.9]]
    """

    alpha: float = 0.99
    momentum: float = 0.9
    epsilon: float = 1e-5
    centered: bool = False
    weight_decay: WeightDecayConfig | float | None = None
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> RmsProp:
        """The update of one tensor, for `with_group`."""
        return RmsProp(self)


class RmsPropState(NamedTuple):
    """The running means of the square and of the gradient, and the velocity."""

    square_avg: Any
    grad_avg: Any = None
    buf: Any = None

    @property
    def avg(self) -> Any:
        """What the root is taken of: records hold it too."""
        if self.grad_avg is None:
            return self.square_avg
        if isinstance(self.square_avg, TensorData):  # from a record, not on a device yet
            return TensorData(np.asarray(self.square_avg) - np.asarray(self.grad_avg) ** 2)
        return self.square_avg - self.grad_avg * self.grad_avg


class RmsProp(SimpleOptimizer):
    """RMSProp's update of one tensor: gradients divided by their recent size.

    >>> import burn
    >>> from burn.optim import RmsPropConfig
    >>> values, slot = RmsPropConfig().build().step(0.01, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.9 -2.1]
    """

    state_type = RmsPropState

    def __init__(self, config: RmsPropConfig) -> None:
        self.config = config
        faults = [] if 0 <= config.alpha < 1 else [f"alpha is at least 0 and below 1, got {config.alpha}"]
        faults += [] if config.momentum >= 0 else [f"momentum is from 0 up, got {config.momentum}"]
        raise_faults("RmsPropConfig", faults)
        self.alpha, self.rest, self.momentum = config.alpha, 1.0 - config.alpha, config.momentum
        self.epsilon, self.centered = config.epsilon, config.centered
        self.penalty = penalty_of(config.weight_decay)

    def update(self, lr: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        if self.penalty:
            gradient = gradient + tensor * self.penalty
        square, mean, velocity = gradient * gradient * self.rest, None, None
        if state is not None:
            square = state.square_avg * self.alpha + square
        if self.centered:
            mean = gradient * self.rest
            if state is not None and state.grad_avg is not None:
                mean = state.grad_avg * self.alpha + mean
        direction = gradient / (RmsPropState(square, mean).avg.sqrt() + self.epsilon)
        if self.momentum:
            if state is not None and state.buf is not None:
                direction = state.buf * self.momentum + direction
            velocity = direction
        return tensor - direction * lr, RmsPropState(square, mean, velocity)

    def layout(self) -> Any:
        return {
            "square_avg": {"square_avg": "square_avg"},
            "centered": {"grad_avg": Optional("grad_avg"), "avg": "avg"},
            "momentum": Optional({"buf": "buf"}),
        }
