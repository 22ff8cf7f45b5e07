"""Autodiff: a decorator that records what was computed and runs it backward.

grads = loss.backward()     # a value, not a side effect
w.grad(grads)               # lives on the inner device
"""

from burn.backend.autodiff.checkpoint import BalancedCheckpointing, NoCheckpointing
from burn.backend.autodiff.device import Autodiff
from burn.backend.autodiff.gradients import Gradients
from burn.backend.autodiff.reduce import reduce_to_shape

__all__ = ["Autodiff", "BalancedCheckpointing", "Gradients", "NoCheckpointing", "reduce_to_shape"]
