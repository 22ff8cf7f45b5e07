"""Gated units: one half of the features weighs the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.linear import Linear, LinearConfig
from burn.ops.activation import glu, silu
from burn.tensor import Tensor


class GLU(Module):
    """Weighs the first half along `dim` (the last one) by the sigmoid of the second half.

    `torch.nn.GLU`. Half the size along `dim`.

    >>> nn.GLU()(Tensor.ones([2, 6])).shape
    Shape([2, 3])
    """

    dim: int = -1

    def forward(self, x: Tensor) -> Tensor:
        """The same shape with half the size along `dim`."""
        return glu(x, self.dim)


class SwiGluConfig(Config):
    """Settings of `SwiGlu`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_output: how many go out.
        bias: whether the maps have one; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> nn.SwiGluConfig(4, 8).init()
    SwiGlu {d_input: 4, d_output: 8, bias: false, params: 64}
    """

    d_input: int
    d_output: int
    bias: bool = False
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> SwiGlu:
        """A layer whose parameters are drawn when they are first used."""
        refuse(self, too_small(1, d_input=self.d_input, d_output=self.d_output))
        linear = LinearConfig(self.d_input, self.d_output, self.bias, self.initializer)
        return SwiGlu._from_fields(linear.init(device), linear.init(device))


class SwiGlu(Module, config=SwiGluConfig):
    """Weighs one linear map by the SiLU of another: `silu(inner(x)) * outer(x)`.

    (..., d_input) to (..., d_output).

    Arguments:
        d_input: how many features come in.
        d_output: how many go out.
        bias: whether the maps have one; False.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> nn.SwiGlu(4, 8)(Tensor.ones([2, 4])).shape
    Shape([2, 8])
    """

    linear_inner: Linear
    linear_outer: Linear

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_input: int,
            d_output: int,
            bias: bool = False,
            initializer: Initializer | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(self, linear_inner: Linear, linear_outer: Linear) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """`silu(inner(x)) * outer(x)`: (..., d_input) to (..., d_output)."""
        return silu(self.linear_inner.forward(x)) * self.linear_outer.forward(x)

    def custom_content(self, content: Content) -> Content:
        """The sizes, and whether there are biases."""
        d_input, d_output = self.linear_inner.weight.shape
        bias = self.linear_inner.bias is not None
        return content.add("d_input", d_input).add("d_output", d_output).add("bias", bias)
