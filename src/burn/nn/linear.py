"""The linear layer: `y = x W + b` over the last dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.initializer import DEFAULT, Initializer
from burn.ops.layers import linear
from burn.tensor import Tensor


class LinearConfig(Config):
    """Settings of `Linear`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_output: how many go out.
        bias: whether `b` is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> nn.LinearConfig(3, 4).init()
    Linear {d_input: 3, d_output: 4, bias: true, params: 16}
    """

    d_input: int
    d_output: int
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> Linear:
        """A layer whose parameters are drawn when they are first used."""
        sizes = {"d_input": self.d_input, "d_output": self.d_output}
        faults = [f"{name} must be 1 or more, got {size}" for name, size in sizes.items() if size < 1]
        if faults:
            raise ArgumentError(f"LinearConfig: {'; '.join(faults)}")

        def new(*shape: int) -> Param:
            return self.initializer.init(shape, device, self.d_input, self.d_output)

        return Linear._from_fields(new(self.d_input, self.d_output), new(self.d_output) if self.bias else None)


class Linear(Module, config=LinearConfig):
    """Maps the last dim from `d_input` to `d_output` features: `x W + b`.

    `torch.nn.Linear`. (..., d_input) to (..., d_output). The weight is (d_input, d_output).

    Arguments:
        d_input: how many features come in.
        d_output: how many go out.
        bias: whether `b` is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Linear(3, 4)
    >>> layer(Tensor.ones([2, 3])).shape
    Shape([2, 4])
    >>> layer
    Linear {d_input: 3, d_output: 4, bias: true, params: 16}
    """

    weight: Param  # (d_input, d_output)
    bias: Param | None  # (d_output,)

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_input: int,
            d_output: int,
            bias: bool = True,
            initializer: Initializer | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """`x W + b`: (..., d_input) to (..., d_output)."""
        return linear(x, self.weight, self.bias)

    def custom_content(self, content: Content) -> Content:
        """The sizes, and whether there is a bias."""
        d_input, d_output = self.weight.shape
        return content.add("d_input", d_input).add("d_output", d_output).add("bias", self.bias is not None)
