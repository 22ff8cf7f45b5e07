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
    """By `Value` (each element), by `Norm` (each parameter's gradient), or by `GlobalNorm` (all of them together)."""

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
