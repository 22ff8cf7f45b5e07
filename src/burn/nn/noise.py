"""Noise: a random number added to every element while training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse
from burn.tensor import Distribution, Tensor


class GaussianNoiseConfig(Config):
    """Settings of `GaussianNoise`; `init(device=None)` makes it.

    Arguments:
        std: the standard deviation of the noise.

    >>> nn.GaussianNoiseConfig(0.1).init()
    GaussianNoise {std: 0.1}
    """

    std: float

    def init(self, device: Device | None = None) -> GaussianNoise:
        """The module; it has no parameters."""
        if not self.std >= 0.0:
            refuse(self, [f"std must be 0 or more, got {self.std}"])
        return GaussianNoise._from_fields(self.std)


class GaussianNoise(Module, config=GaussianNoiseConfig):
    """Adds normal noise of mean 0 while training.

    Any shape to the same; itself outside of training.

    Arguments:
        std: the standard deviation of the noise.

    >>> nn.GaussianNoise(0.1)(Tensor.ones([4])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    std: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, std: float, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape; itself outside training."""
        if self.std == 0.0 or not self.is_training(x.device):
            return x
        return x + x.random_like(Distribution.Normal(0.0, self.std))
