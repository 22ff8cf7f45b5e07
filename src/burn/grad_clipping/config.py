"""`GradientClippingConfig`: which clipping an optimizer uses.

AdamConfig().with_grad_clipping(GradientClippingConfig.Norm(1.0)).init()
"""

from __future__ import annotations

from typing import ClassVar

from burn.config import Enumeration
from burn.grad_clipping.clipping import (
    ClippingByGlobalNorm,
    ClippingByNorm,
    ClippingByValue,
    GradientClipping,
)


class GradientClippingConfig(Enumeration):
    """Which clipping an optimizer uses: `Value` (each element), `Norm` (each parameter's gradient) or `GlobalNorm`.

    `GlobalNorm` is `torch.nn.utils.clip_grad_norm_`: all gradients together; `Norm` looks at each parameter by itself.

    >>> from burn.grad_clipping import GradientClippingConfig
    >>> from burn.optim import AdamConfig
    >>> optim = AdamConfig(grad_clipping=GradientClippingConfig.GlobalNorm(1.0)).init()
    >>> optim.has_gradient_clipping()
    True
    """

    Value: ClassVar[type[Value]]
    Norm: ClassVar[type[Norm]]
    GlobalNorm: ClassVar[type[GlobalNorm]]

    def init(self) -> GradientClipping:
        """The clipping."""
        raise NotImplementedError


class Value(GradientClippingConfig, positional=True):
    """Keep every element between `-threshold` and `threshold`."""

    threshold: float

    def init(self) -> GradientClipping:
        return ClippingByValue(self.threshold)


class Norm(GradientClippingConfig, positional=True):
    """Shorten each parameter's gradient to a norm of at most `max_norm`."""

    max_norm: float

    def init(self) -> GradientClipping:
        return ClippingByNorm(self.max_norm)


class GlobalNorm(GradientClippingConfig, positional=True):
    """Shorten all gradients together to a norm of at most `max_norm`."""

    max_norm: float

    def init(self) -> GradientClipping:
        return ClippingByGlobalNorm(self.max_norm)
