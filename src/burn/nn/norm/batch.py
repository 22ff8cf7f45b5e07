"""Batch normalization: each channel brought to mean 0 and variance 1 over the batch.

In training the statistics are the batch's own, and running ones move towards them: the variance of the
batch is biased where it normalizes and unbiased where it is remembered. Elsewhere the running ones serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.errors import ShapeError
from burn.module import Module, Param, State
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer
from burn.ops.normalization import batch_norm, batch_norm_training
from burn.tensor import Tensor


class BatchNormConfig(Config):
    """Settings of `BatchNorm`; `init(device=None)` makes it.

    Arguments:
        num_features: how many channels there are.
        epsilon: added to the variance, 1e-5.
        momentum: how fast running statistics move, 0.1.

    >>> nn.BatchNormConfig(8).init()
    BatchNorm {num_features: 8, momentum: 0.1, epsilon: 0.00001, params: 32}
    """

    num_features: int
    epsilon: float = 1e-5
    momentum: float = 0.1

    def init(self, device: Device | None = None) -> BatchNorm:
        """A layer that scales by 1 and shifts by 0; its running mean is 0 and its running variance 1."""
        faults = too_small(1, num_features=self.num_features)
        if self.epsilon < 0.0:
            faults.append(f"epsilon must be 0 or more, got {self.epsilon}")
        if not 0.0 <= self.momentum <= 1.0:
            faults.append(f"momentum must be between 0 and 1, got {self.momentum}")
        refuse(self, faults)
        shape = (self.num_features,)
        return BatchNorm._from_fields(
            Initializer.Ones.init(shape, device),
            Initializer.Zeros.init(shape, device),
            State.full(shape, 0.0, device),
            State.full(shape, 1.0, device),
            self.momentum,
            self.epsilon,
        )


class BatchNorm(Module, config=BatchNormConfig):
    """Normalizes each channel of (batch, channels, ...), then scales and shifts it.

    `torch.nn.BatchNorm2d`. The same shape. In training the running statistics move by `momentum` towards the
    batch's; outside they are used. It is BatchNorm1d to 3d.

    Arguments:
        num_features: how many channels there are.
        epsilon: added to the variance, 1e-5.
        momentum: how fast running statistics move, 0.1.

    >>> layer = nn.BatchNorm(8)
    >>> layer(Tensor.ones([2, 8, 4, 4])).shape
    Shape([2, 8, 4, 4])
    """

    gamma: Param  # (channels,)
    beta: Param  # (channels,)
    running_mean: State  # (channels,)
    running_var: State  # (channels,)
    momentum: float
    epsilon: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self, num_features: int, epsilon: float = 1e-05, momentum: float = 0.1, *, device: Device | None = None
        ) -> None: ...

        @overload
        def __init__(
            self, gamma: Tensor, beta: Tensor, running_mean: State, running_var: State, momentum: float, epsilon: float
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape. In training the running statistics move by `momentum` towards the batch's."""
        gamma = self.gamma
        if not self.is_training(gamma.device):
            return batch_norm(x, gamma, self.beta, self.running_mean.value, self.running_var.value, self.epsilon)
        result, mean, variance = batch_norm_training(x, gamma, self.beta, self.epsilon)
        count = x.shape.num_elements() // x.shape[1]
        if count < 2:
            raise ShapeError(
                f"BatchNorm: x {tuple(x.shape)} has one element a channel, which has no variance to train with; "
                "give a larger batch, or use .valid() or .mode('infer')"
            )
        momentum = self.momentum
        self._move(self.running_mean, mean, momentum)
        self._move(self.running_var, variance, momentum * count / (count - 1))
        return result

    def _move(self, state: State, statistic: Tensor, weight: float) -> None:
        state.update(state.value * (1.0 - self.momentum) + statistic.no_grad() * weight)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("num_features", self.gamma.shape[0])
        return content.add("momentum", self.momentum).add("epsilon", self.epsilon)
