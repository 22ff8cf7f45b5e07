"""Local response normalization: strong channels quieten their neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.errors import ShapeError
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.ops.pooling import avg_pool
from burn.tensor import Tensor


class LocalResponseNormConfig(Config):
    """Settings of `LocalResponseNorm`; `init(device=None)` makes it.

    Arguments:
        size: how many channels a window has.
        alpha: 1e-4.
        beta: 0.75.
        k: 1.

    >>> nn.LocalResponseNormConfig(3).init()
    LocalResponseNorm {size: 3, alpha: 0.0001, beta: 0.75, k: 1}
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def init(self, device: Device | None = None) -> LocalResponseNorm:
        """The module; it has no parameters."""
        refuse(self, too_small(1, size=self.size))
        return LocalResponseNorm._from_fields(self.size, self.alpha, self.beta, self.k)


class LocalResponseNorm(Module, config=LocalResponseNormConfig):
    """Divides by a power of the mean square over neighbouring channels: `x / (k + alpha * mean(x²)) ** beta`.

    `torch.nn.LocalResponseNorm`. (batch, channels, ...) to the same shape. An even window reaches further up;
    channels beyond the ends count as zeros.

    Arguments:
        size: how many channels a window has.
        alpha: 1e-4.
        beta: 0.75.
        k: 1.

    >>> nn.LocalResponseNorm(3)(Tensor.ones([1, 4, 2, 2])).shape
    Shape([1, 4, 2, 2])
    """

    size: int
    alpha: float
    beta: float
    k: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0, *, device: Device | None = None
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, ...) to the same shape; channels beyond the ends count as zeros."""
        if len(x.shape) < 3:
            raise ShapeError(
                f"LocalResponseNorm: x must have a batch, channels and more dims, got shape {tuple(x.shape)}"
            )
        before, after = (self.size - 1) // 2, self.size // 2
        squares = (x * x).reshape((x.shape[0], 1, x.shape[1], math.prod(x.shape[2:])))
        if before != after:
            squares, before = squares.pad([(before, after), (0, 0)]), 0
        mean = avg_pool(squares, (self.size, 1), 1, (before, 0)).reshape(x.shape)
        return x / (mean * self.alpha + self.k).powf_scalar(self.beta)
