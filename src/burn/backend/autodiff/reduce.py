"""Gradients of broadcast operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.ops.movement import sum_to
from burn.tensor import Tensor


def reduce_to_shape(gradient: Tensor[Any], shape: Sequence[int]) -> Tensor[Any]:
    """Sum a gradient over the dims along which its operand was broadcast to it."""
    return gradient if gradient.shape == shape else sum_to(gradient, shape)
