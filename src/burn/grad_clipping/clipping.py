"""The clippings: each element by itself, each gradient by its norm, or all gradients by their common norm.

GradientClipping.Norm(1.0).clip_gradient(gradient)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from burn.errors import ArgumentError
from burn.tensor import Tensor

TINY = 1e-6
"""Keeps the norm of a gradient of zeros from being divided by."""


class GradientClipping:
    """Bounds gradients: `Value(limit)` each element, `Norm(limit)` each gradient, `GlobalNorm(limit)` all of them.

    >>> import burn
    >>> from burn.grad_clipping import GradientClipping
    >>> gradient = burn.tensor([3.0, -4.0])
    >>> print(GradientClipping.Value(1.0).clip_gradient(gradient).numpy().round(4))
    [ 1. -1.]
    >>> print(GradientClipping.Norm(1.0).clip_gradient(gradient).numpy().round(4))
    [ 0.6 -0.8]
    """

    Value: ClassVar[type[ClippingByValue]]
    Norm: ClassVar[type[ClippingByNorm]]
    GlobalNorm: ClassVar[type[ClippingByGlobalNorm]]

    is_global: ClassVar[bool] = False
    """Whether all gradients of a step must be known before one can be clipped."""

    def __init__(self, limit: float) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
            raise ArgumentError(f"{self.name}: the limit is a number above 0, got {limit!r}")
        self.limit = float(limit)

    @property
    def name(self) -> str:
        """The variant as one writes it."""
        return f"GradientClipping.{type(self).__name__.removeprefix('ClippingBy')}"

    def clip_gradient(self, gradient: Tensor[Any]) -> Tensor[Any]:
        """The gradient of one parameter, clipped."""
        raise NotImplementedError

    def scale(self, gradients: Sequence[Tensor[Any]]) -> Tensor[Any]:
        """The number, as a tensor of rank 0, with which clipping multiplies all of these gradients."""
        total = square_sum(gradients[0])
        for gradient in gradients[1:]:
            total = total + square_sum(gradient).to_device(total.device)
        return (self.limit / (total.sqrt() + TINY)).clamp_max(1.0).reshape([])

    def clip_gradients(self, gradients: Sequence[Tensor[Any]]) -> list[Tensor[Any]]:
        """The gradients of several parameters, clipped."""
        return [self.clip_gradient(gradient) for gradient in gradients]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.limit == self.limit

    def __hash__(self) -> int:
        return hash((type(self), self.limit))

    def __repr__(self) -> str:
        return f"{self.name}({self.limit})"


class ClippingByValue(GradientClipping):
    """Keeps every element between `-limit` and `limit`."""

    def clip_gradient(self, gradient: Tensor[Any]) -> Tensor[Any]:
        return gradient.clamp(-self.limit, self.limit)


class ClippingByNorm(GradientClipping):
    """Shortens each gradient by itself to a Euclidean norm of at most `limit`."""

    def clip_gradient(self, gradient: Tensor[Any]) -> Tensor[Any]:
        return gradient * self.scale([gradient])


class ClippingByGlobalNorm(GradientClipping):
    """Shortens all gradients by one factor, so that together they have a norm of at most `limit`."""

    is_global = True

    def clip_gradient(self, gradient: Tensor[Any]) -> Tensor[Any]:
        return gradient * self.scale([gradient])

    def clip_gradients(self, gradients: Sequence[Tensor[Any]]) -> list[Tensor[Any]]:
        if not gradients:
            return []
        scale = self.scale(gradients)
        return [gradient * scale.to_device(gradient.device) for gradient in gradients]


def square_sum(gradient: Tensor[Any]) -> Tensor[Any]:
    """The sum of the squares of all elements."""
    return (gradient * gradient).sum()


GradientClipping.Value = ClippingByValue
GradientClipping.Norm = ClippingByNorm
GradientClipping.GlobalNorm = ClippingByGlobalNorm
