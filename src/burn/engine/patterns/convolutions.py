"""Convolutions on a program: an image, its gradient and that of the weight, and their shapes."""

from __future__ import annotations

from typing import Any

from burn.program.program import Node

CONVOLUTIONS = frozenset(("conv", "conv_x_backward", "conv_weight_backward"))

Sizes = tuple[int, ...]


def shapes_of(node: Node, values: Any) -> tuple[Sizes, Sizes, Sizes]:
    """The logical shapes of x, weight and the result of a convolution node in logical order."""
    first, second = (tuple(values[number].shape) for number in node.operands[:2])
    made = tuple(values[node.results[0]].shape)
    if node.op.name == "conv":
        return first, second, made
    return (made, second, first) if node.op.name == "conv_x_backward" else (first, made, second)
