"""Adan: adaptive Nesterov momentum, which also follows how gradients change from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.config import Config
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.adam import check_betas
from burn.optim.decay import checked
from burn.optim.optimizer import Optimizer
from burn.optim.simple import TIME, SimpleOptimizer
from burn.tensor import Tensor


class AdanConfig(Config):
    """Settings of Adan: adaptive Nesterov momentum, which also follows how gradients change from step to step.

    Arguments:
        beta_1, beta_2, beta_3: running means of gradients, of their differences, of squares.
        epsilon: added to the root.
        weight_decay: divides by `1 + lr * weight_decay` after the step.
        no_prox: multiply by `1 - lr * weight_decay` before the step instead.
        grad_clipping: a `GradientClippingConfig`; None does not clip.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import AdanConfig
    >>> optim = AdanConfig().init()
    >>> model = optim.step(0.1, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.9 -1.9]]
    """

    beta_1: float = 0.98
    beta_2: float = 0.92
    beta_3: float = 0.99
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    no_prox: bool = False
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> Adan:
        """The update of one tensor, for `with_group`."""
        return Adan(self)


class AdanState(NamedTuple):
    """Running means of the gradient, of the square and of the difference; and the gradient before, negated."""

    exp_avg: Any
    exp_avg_sq: Any
    exp_avg_diff: Any
    neg_pre_grad: Any


class Adan(SimpleOptimizer):
    """Adan's update of one tensor: along the mean gradient plus the mean change of it.

    >>> import burn
    >>> from burn.optim import AdanConfig
    >>> values, slot = AdanConfig().build().step(0.1, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.9 -2.1]
    """

    timed = True
    state_type = AdanState

    def __init__(self, config: AdanConfig) -> None:
        self.config = config
        check_betas("AdanConfig", beta_1=config.beta_1, beta_2=config.beta_2, beta_3=config.beta_3)
        self.betas = config.beta_1, config.beta_2, config.beta_3
        self.epsilon, self.no_prox = config.epsilon, config.no_prox
        self.penalty = checked(config.weight_decay)

    def coefficients(self, lr: Any, time: Any) -> Any:
        beta_1, beta_2, beta_3 = self.betas
        root = (1.0 - beta_3**time) ** 0.5
        along = lr * root / (1.0 - beta_1**time)
        onward = lr * root * beta_2 / (1.0 - beta_2**time)
        decay = 1.0 - lr * self.penalty if self.no_prox else 1.0 / (1.0 + lr * self.penalty)
        return along, onward, root * self.epsilon, decay

    def update(self, coefficients: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        along, onward, epsilon, decay = coefficients
        beta_1, beta_2, beta_3 = self.betas
        mean = gradient * (1.0 - beta_1)
        if state is None:
            square = gradient * gradient * (1.0 - beta_3)
            difference = gradient.zeros_like()
        else:
            mean = state.exp_avg * beta_1 + mean
            change = gradient + state.neg_pre_grad
            ahead = gradient + change * beta_2
            square = state.exp_avg_sq * beta_3 + ahead * ahead * (1.0 - beta_3)
            difference = state.exp_avg_diff * beta_2 + change * (1.0 - beta_2)
        step = (mean * along + difference * onward) / (square.sqrt() + epsilon)
        if self.penalty:
            tensor = tensor * decay - step if self.no_prox else (tensor - step) * decay
        else:
            tensor = tensor - step
        return tensor, AdanState(mean, square, difference, -gradient)

    def layout(self) -> Any:
        return {"momentum": {"time": TIME, **{name: name for name in AdanState._fields}}}
