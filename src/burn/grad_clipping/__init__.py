"""Gradient clipping: bounds on gradients before an optimizer uses them."""

from burn.grad_clipping.clipping import GradientClipping
from burn.grad_clipping.config import GradientClippingConfig

__all__ = ["GradientClipping", "GradientClippingConfig"]
