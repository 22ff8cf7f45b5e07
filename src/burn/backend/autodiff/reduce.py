"""Gradients of broadcast operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.ops.movement import sum_to
from burn.tensor import Tensor


def reduce_to_shape(gradient: Tensor[Any], shape: Sequence[int]) -> Tensor[Any]:
    """Sum a gradient over the dims along which its operand, of `shape`, was broadcast to it.

    >>> from burn.backend.autodiff import reduce_to_shape
    >>> reduce_to_shape(Tensor.ones([3, 2]), (2,)).tolist()
    [3.0, 3.0]
    """
    return gradient if gradient.shape == shape else sum_to(gradient, shape)
