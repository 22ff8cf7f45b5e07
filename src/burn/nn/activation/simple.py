"""Activations without settings."""

from __future__ import annotations

from typing import Literal

from burn.errors import ArgumentError
from burn.module import Module
from burn.module.display import Content
from burn.ops import activation
from burn.tensor import Tensor


class Gelu(Module):
    """Weighs each element by the normal distribution below it.

    `torch.nn.GELU`. Any shape to the same.

    Arguments:
        approximate: use a hyperbolic tangent for it; False.

    >>> print(nn.Gelu()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.0455  0.      2.996 ]
    """

    approximate: bool

    def __init__(self, approximate: bool | Literal["none", "tanh"] = False) -> None:
        if approximate not in (False, True, "none", "tanh"):
            raise ArgumentError(f"Gelu: approximate is False or True (or 'none' or 'tanh'), got {approximate!r}")
        self.approximate = approximate in (True, "tanh")

    @classmethod
    def new_approximate(cls) -> Gelu:
        """The approximation with a hyperbolic tangent."""
        return cls(approximate=True)

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.gelu_approximate(x) if self.approximate else activation.gelu(x)

    def custom_content(self, content: Content) -> Content:
        """Nothing, or that it approximates."""
        return content.add("approximate", True) if self.approximate else content


class HardSwish(Module):
    """Weighs each element by a sigmoid made of straight lines.

    `torch.nn.Hardswish`. Any shape to the same.

    >>> print(nn.HardSwish()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.3333  0.      3.    ]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.hard_swish(x)


class LogSigmoid(Module):
    """Takes the logarithm of the sigmoid.

    `torch.nn.LogSigmoid`. Any shape to the same.

    >>> print(nn.LogSigmoid()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-2.1269 -0.6931 -0.0486]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.log_sigmoid(x)


class Mish(Module):
    """Weighs each element by the hyperbolic tangent of its softplus.

    `torch.nn.Mish`. Any shape to the same.

    >>> print(nn.Mish()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.2525  0.      2.9865]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.mish(x)


class Relu(Module):
    """Replaces negative elements by 0.

    `torch.nn.ReLU`. Any shape to the same.

    >>> print(nn.Relu()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0. 0. 3.]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.relu(x)


class Relu6(Module):
    """Cuts off what is below 0 or above 6.

    `torch.nn.ReLU6`. Any shape to the same.

    >>> print(nn.Relu6()(burn.tensor([-2.0, 3.0, 9.0])).numpy().round(4))
    [0. 3. 6.]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.relu6(x)


class Selu(Module):
    """Bends negative elements, with the scale and slope that keep activations normalised.

    `torch.nn.SELU`. Any shape to the same.

    >>> print(nn.Selu()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.5202  0.      3.1521]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.selu(x)


class SiLU(Module):
    """Weighs each element by its own sigmoid.

    `torch.nn.SiLU`. Any shape to the same.

    >>> print(nn.SiLU()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.2384  0.      2.8577]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.silu(x)


class Sigmoid(Module):
    """Squashes each element into the range from 0 to 1.

    `torch.nn.Sigmoid`. Any shape to the same.

    >>> print(nn.Sigmoid()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0.1192 0.5    0.9526]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.sigmoid(x)


class Softsign(Module):
    """Squashes each element into the range from -1 to 1: `x / (1 + |x|)`.

    `torch.nn.Softsign`. Any shape to the same.

    >>> print(nn.Softsign()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.6667  0.      0.75  ]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.softsign(x)


class Tanh(Module):
    """Squashes each element into the range from -1 to 1 by the hyperbolic tangent.

    `torch.nn.Tanh`. Any shape to the same.

    >>> print(nn.Tanh()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.964   0.      0.9951]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return x.tanh()


class Tanhshrink(Module):
    """Takes the hyperbolic tangent away: `x - tanh(x)`.

    `torch.nn.Tanhshrink`. Any shape to the same.

    >>> print(nn.Tanhshrink()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.036   0.      2.0049]
    """

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.tanhshrink(x)
