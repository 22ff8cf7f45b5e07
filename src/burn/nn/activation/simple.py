"""Activations without settings."""

from __future__ import annotations

from typing import Any

from burn.module import Module
from burn.module.display import Content
from burn.ops import activation
from burn.tensor import Tensor


class Gelu(Module):
    """Weighs each element by the normal distribution below it; `approximate` uses a hyperbolic tangent for it."""

    approximate: bool = False

    @classmethod
    def new_approximate(cls) -> Gelu:
        """The approximation with a hyperbolic tangent."""
        return cls(approximate=True)

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.gelu_approximate(x) if self.approximate else activation.gelu(x)

    def custom_content(self, content: Content) -> Content:
        """Nothing, or that it approximates."""
        return content.add("approximate", True) if self.approximate else content


class HardSwish(Module):
    """Weighs each element by a sigmoid made of straight lines."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.hard_swish(x)


class LogSigmoid(Module):
    """Takes the logarithm of the sigmoid."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.log_sigmoid(x)


class Mish(Module):
    """Weighs each element by the hyperbolic tangent of its softplus."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.mish(x)


class Relu(Module):
    """Replaces negative elements by 0."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.relu(x)


class Relu6(Module):
    """Cuts off what is below 0 or above 6."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.relu6(x)


class Selu(Module):
    """Bends negative elements, with the scale and slope that keep activations normalised."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.selu(x)


class SiLU(Module):
    """Weighs each element by its own sigmoid."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.silu(x)


class Sigmoid(Module):
    """Squashes each element into the range from 0 to 1."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.sigmoid(x)


class Softsign(Module):
    """Squashes each element into the range from -1 to 1: `x / (1 + |x|)`."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.softsign(x)


class Tanh(Module):
    """Squashes each element into the range from -1 to 1 by the hyperbolic tangent."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return x.tanh()


class Tanhshrink(Module):
    """Takes the hyperbolic tangent away: `x - tanh(x)`."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.tanhshrink(x)
