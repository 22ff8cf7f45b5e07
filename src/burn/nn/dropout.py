"""Dropout: zeros at random while training, so that no feature relies on another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError
from burn.module import Module
from burn.module.display import Content
from burn.tensor import Distribution, Tensor


class DropoutConfig(Config):
    """Settings of `Dropout`; `init(device=None)` makes it.

    Arguments:
        prob: the probability with which an element becomes zero.

    >>> nn.DropoutConfig(0.5).init()
    Dropout {prob: 0.5}
    """

    prob: float

    def init(self, device: Device | None = None) -> Dropout:
        """The module; it has no parameters."""
        if not 0.0 <= self.prob <= 1.0:
            raise ArgumentError(f"DropoutConfig: prob must be between 0 and 1, got {self.prob}")
        return Dropout._from_fields(self.prob)


class Dropout(Module, config=DropoutConfig):
    """Zeroes elements with probability `prob` while training and scales the others by `1 / (1 - prob)`.

    `torch.nn.Dropout`. Any shape to the same; itself outside of training. `mode` says when it trains.

    Arguments:
        prob: the probability with which an element becomes zero.

    >>> dropout = nn.Dropout(0.5)
    >>> dropout(Tensor.ones([2])).tolist()
    [1.0, 1.0]
    >>> sorted(set(dropout.mode("train")(Tensor.ones([100])).tolist()))
    [0.0, 2.0]
    """

    prob: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, prob: float, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape; itself outside training."""
        if self.prob == 0.0 or not self.is_training(x.device):
            return x
        if self.prob == 1.0:
            return x * 0.0
        keep = 1.0 - self.prob
        return x * x.random_like(Distribution.Bernoulli(keep)) * (1.0 / keep)

    def custom_content(self, content: Content) -> Content:
        """The probability."""
        return content.add("prob", self.prob)
