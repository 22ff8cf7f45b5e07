"""AdaGrad: steps that shrink with the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.config import Config
from burn.errors import raise_faults
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.decay import WeightDecayConfig, penalty_of
from burn.optim.optimizer import Optimizer
from burn.optim.simple import TIME, SimpleOptimizer
from burn.tensor import Tensor


class AdaGradConfig(Config):
    """Settings of AdaGrad (`torch.optim.Adagrad`): steps that shrink with the sum of all squared gradients so far.

    Arguments:
        lr_decay: the rate also falls with the number of steps, `lr / (1 + (time - 1) * lr_decay)`; 0 is not at all.
        epsilon: added to the root.
        weight_decay: an L2 penalty, a number or a `WeightDecayConfig`; None is none.
        grad_clipping: a `GradientClippingConfig`; None does not clip.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import AdaGradConfig
    >>> optim = AdaGradConfig(lr_decay=0.01).init()
    >>> model = optim.step(0.1, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.9 -1.9]]
    """

    lr_decay: float = 0.0
    epsilon: float = 1e-5
    weight_decay: WeightDecayConfig | float | None = None
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> AdaGrad:
        """The update of one tensor, for `with_group`."""
        return AdaGrad(self)


class AdaGradState(NamedTuple):
    """The sum of squared gradients."""

    sum: Any


class AdaGrad(SimpleOptimizer):
    """Divides by the root of the sum of squares: AdaGrad's update of one tensor.

    >>> import burn
    >>> from burn.optim import AdaGradConfig
    >>> simple = AdaGradConfig().build()
    >>> values, slot = simple.step(0.1, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.9 -2.1]
    """

    timed = True
    state_type = AdaGradState

    def __init__(self, config: AdaGradConfig) -> None:
        self.config = config
        raise_faults("AdaGradConfig", [] if config.lr_decay >= 0 else [f"lr_decay is from 0 up, got {config.lr_decay}"])
        self.lr_decay, self.epsilon = config.lr_decay, config.epsilon
        self.penalty = penalty_of(config.weight_decay)

    def coefficients(self, lr: Any, time: Any) -> Any:
        return lr / (1.0 + (time - 1.0) * self.lr_decay)

    def update(self, rate: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        if self.penalty:
            gradient = gradient + tensor * self.penalty
        total = gradient * gradient
        if state is not None:
            total = state.sum + total
        return tensor - gradient * rate / (total.sqrt() + self.epsilon), AdaGradState(total)

    def layout(self) -> Any:
        return {"lr_decay": {"time": TIME, "sum": "sum"}}
