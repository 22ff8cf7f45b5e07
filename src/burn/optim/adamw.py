"""AdamW: Adam with a weight decay that the second moment does not weaken."""

from __future__ import annotations

from typing import Any

from burn.config import Config
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.adam import AdaptiveMoments
from burn.optim.decay import checked
from burn.optim.optimizer import Optimizer
from burn.tensor import Tensor


class AdamWConfig(Config):
    """Settings of AdamW (`torch.optim.AdamW`): Adam with a weight decay that the second moment does not weaken.

    Arguments:
        beta_1, beta_2, epsilon, amsgrad, grad_clipping: as in `AdamConfig`.
        weight_decay: each step first multiplies the parameter by `1 - lr * weight_decay`.
        cautious_weight_decay: only elements that the step moves towards zero decay.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import AdamWConfig
    >>> optim = AdamWConfig(weight_decay=0.01).init()
    >>> model = optim.step(0.1, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.899 -1.898]]
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: float = 1e-4
    cautious_weight_decay: bool = False
    amsgrad: bool = False
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> AdamW:
        """The update of one tensor, for `with_group`."""
        return AdamW(self)


class AdamW(AdaptiveMoments):
    """AdamW's update of one tensor: Adam with decoupled weight decay.

    >>> import burn
    >>> from burn.optim import AdamWConfig
    >>> simple = AdamWConfig(weight_decay=0.1).build()
    >>> values, slot = simple.step(0.1, burn.tensor([1.0, -2.0]), burn.tensor([0.5, 0.5]))
    >>> print(values.numpy().round(4))
    [ 0.89 -2.08]
    """

    def __init__(self, config: AdamWConfig) -> None:
        super().__init__(config)
        self.penalty = checked(config.weight_decay)
        self.cautious = config.cautious_weight_decay

    def coefficients(self, lr: Any, time: Any) -> Any:
        return *super().coefficients(lr, time), lr * self.penalty if self.cautious else 1.0 - lr * self.penalty

    def update(self, coefficients: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        rate, epsilon, decay = coefficients
        state = self.moments(gradient, state)
        change = self.change(rate, epsilon, state)
        if not self.penalty:
            return tensor - change, state
        if not self.cautious:
            return tensor * decay - change, state
        apart = (tensor >= 0.0).not_equal(state.moment_1 >= 0.0)
        return tensor - (tensor * decay).mask_fill(apart, 0.0) - change, state
