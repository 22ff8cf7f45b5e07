"""Adam: steps of a size that each element's own gradients decide.

The running means of the gradient and of its square start from zero; dividing by `1 - beta ** time` takes out
the part of the start. Both corrections are folded into two numbers per step:

    lr * (m / c1) / (sqrt(v / c2) + eps)  =  m * (lr * sqrt(c2) / c1) / (sqrt(v) + eps * sqrt(c2))
"""

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


class AdamConfig(Config):
    """Settings of Adam (`torch.optim.Adam`): steps of a size that each element's own gradients decide.

    Arguments:
        beta_1, beta_2: running means of the gradient and of its square over about `1 / (1 - beta)` steps.
        epsilon: added to the root; 1e-5, where PyTorch has 1e-8.
        weight_decay: an L2 penalty, a number or a `WeightDecayConfig`; None is none.
        amsgrad: use the largest second moment so far.
        grad_clipping: a `GradientClippingConfig`; None does not clip.

    The learning rate is an argument of each step.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import AdamConfig
    >>> optim = AdamConfig(weight_decay=1e-4).init()
    >>> model = optim.step(0.1, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.9 -1.9]]
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: WeightDecayConfig | float | None = None
    amsgrad: bool = False
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> Adam:
        """The update of one tensor, for `with_group`."""
        return Adam(self)


class AdamState(NamedTuple):
    """The running means of the gradient and of its square, and the largest of the latter."""

    moment_1: Any
    moment_2: Any
    max_moment_2: Any = None


class AdaptiveMoments(SimpleOptimizer):
    """What Adam and AdamW have in common: the moments, and the direction they give."""

    timed = True
    state_type = AdamState

    def __init__(self, config: Any) -> None:
        self.config = config
        check_betas(type(config).__name__, beta_1=config.beta_1, beta_2=config.beta_2)
        self.beta_1, self.beta_2 = config.beta_1, config.beta_2
        self.rest_1, self.rest_2 = 1.0 - config.beta_1, 1.0 - config.beta_2
        self.epsilon, self.amsgrad = config.epsilon, config.amsgrad

    def coefficients(self, lr: Any, time: Any) -> Any:
        root = (1.0 - self.beta_2**time) ** 0.5
        return lr * root / (1.0 - self.beta_1**time), root * self.epsilon

    def moments(self, gradient: Tensor, state: AdamState | None) -> AdamState:
        """The running means with another gradient."""
        first, second = gradient * self.rest_1, gradient * gradient * self.rest_2
        if state is None:
            return AdamState(first, second, second if self.amsgrad else None)
        first = state.moment_1 * self.beta_1 + first
        second = state.moment_2 * self.beta_2 + second
        if not self.amsgrad:
            return AdamState(first, second)
        largest = second if state.max_moment_2 is None else state.max_moment_2.max_pair(second)
        return AdamState(first, second, largest)

    def change(self, rate: Any, epsilon: Any, state: AdamState) -> Tensor:
        """What is subtracted from the parameter; `epsilon` is added to the root."""
        moment_2 = state.max_moment_2 if self.amsgrad else state.moment_2
        change: Tensor = state.moment_1 * rate / (moment_2.sqrt() + epsilon)
        return change

    def layout(self) -> Any:
        names = {"time": TIME, "moment_1": "moment_1", "moment_2": "moment_2"}
        return {"momentum": {**names, "max_moment_2": "max_moment_2"} if self.amsgrad else names}


class Adam(AdaptiveMoments):
    """Adam's update of one tensor; weight decay, if any, is part of the gradient.

    >>> import burn
    >>> from burn.optim import AdamConfig
    >>> values, slot = AdamConfig().build().step(0.1, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.9 -2.1]
    """

    def __init__(self, config: AdamConfig) -> None:
        super().__init__(config)
        self.penalty = penalty_of(config.weight_decay)

    def update(self, coefficients: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        if self.penalty:
            gradient = gradient + tensor * self.penalty
        rate, epsilon = coefficients
        state = self.moments(gradient, state)
        return tensor - self.change(rate, epsilon, state), state


def check_betas(operation: str, **betas: float) -> None:
    """Raise for rates of decay that give no mean."""
    raise_faults(
        operation,
        [f"{name} is at least 0 and below 1, got {beta}" for name, beta in betas.items() if not 0 <= beta < 1],
    )
