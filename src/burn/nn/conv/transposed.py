"""Transposed convolutions: each element of the input spreads a kernel over the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, overload

from burn.config import Config, Pair, Triple
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.conv.parameters import transposed_parameters
from burn.nn.initializer import DEFAULT, Initializer
from burn.ops import convolution_layers
from burn.tensor import Tensor

POSITIONS = (
    "channels_in", "channels_out", "kernel_size", "stride", "padding", "padding_out", "groups", "bias", "dilation",
)  # fmt: skip
"""The order of arguments that begin with numbers of channels, such as `ConvTranspose2d(8, 1, 3)`."""


class ConvTranspose1dConfig(Config):
    """Settings of `ConvTranspose1d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose1dConfig([3, 8], 4).init()
    """

    _positions: ClassVar = POSITIONS
    channels: Pair[int]
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: int = 0
    padding_out: int = 0
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> ConvTranspose1d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = transposed_parameters(self, self.channels, (self.kernel_size,), device)
        return ConvTranspose1d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups,
            self.padding, self.padding_out, self.channels,
        )  # fmt: skip


class ConvTranspose1d(Module, config=ConvTranspose1dConfig):
    """Spreads (batch, channels_in, length) to (batch, channels_out, positions).

    `torch.nn.ConvTranspose1d`. The transpose of a convolution: in each dim `(size - 1) * stride + dilation *
    (kernel_size - 1) + padding_out - 2 * padding + 1`.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose1d(3, 8, 4, stride=2, padding=1)
    >>> layer(Tensor.ones([2, 3, 10])).shape
    Shape([2, 8, 20])
    """

    weight: Param  # (channels_in, channels_out / groups, kernel_size)
    bias: Param | None  # (channels_out,)
    stride: int
    kernel_size: int
    dilation: int
    groups: int
    padding: int
    padding_out: int
    channels: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: int,
            stride: int = 1,
            padding: int = 0,
            padding_out: int = 0,
            groups: int = 1,
            bias: bool = True,
            dilation: int = 1,
            *,
            initializer: Initializer | str = ...,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            channels: Pair[int],
            kernel_size: int,
            stride: int = 1,
            dilation: int = 1,
            groups: int = 1,
            padding: int = 0,
            padding_out: int = 0,
            bias: bool = True,
            initializer: Initializer | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            weight: Tensor,
            bias: Tensor | None = None,
            *,
            stride: int,
            kernel_size: int,
            dilation: int,
            groups: int,
            padding: int,
            padding_out: int,
            channels: Pair[int],
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """`(length - 1) * stride + dilation * (kernel_size - 1) + padding_out - 2 * padding + 1` positions."""
        return convolution_layers.conv_transpose1d(
            x, self.weight, self.bias, self.stride, self.padding, self.padding_out, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


class ConvTranspose2dConfig(Config):
    """Settings of `ConvTranspose2d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose2dConfig([8, 1], [4, 4]).init()
    """

    _positions: ClassVar = POSITIONS
    channels: Pair[int]
    kernel_size: Pair[int]
    stride: Pair[int] = (1, 1)
    dilation: Pair[int] = (1, 1)
    groups: int = 1
    padding: Pair[int] = (0, 0)
    padding_out: Pair[int] = (0, 0)
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> ConvTranspose2d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = transposed_parameters(self, self.channels, self.kernel_size, device)
        return ConvTranspose2d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups,
            self.padding, self.padding_out, self.channels,
        )  # fmt: skip


class ConvTranspose2d(Module, config=ConvTranspose2dConfig):
    """Spreads (batch, channels_in, height, width) to (batch, channels_out, rows, columns).

    `torch.nn.ConvTranspose2d`. The transpose of a convolution: in each dim `(size - 1) * stride + dilation *
    (kernel_size - 1) + padding_out - 2 * padding + 1`.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)
    >>> layer(Tensor.ones([2, 8, 7, 7])).shape
    Shape([2, 1, 14, 14])
    """

    weight: Param  # (channels_in, channels_out / groups, kernel height, kernel width)
    bias: Param | None  # (channels_out,)
    stride: Pair[int]
    kernel_size: Pair[int]
    dilation: Pair[int]
    groups: int
    padding: Pair[int]
    padding_out: Pair[int]
    channels: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: Pair[int] | int,
            stride: Pair[int] | int = ...,
            padding: Pair[int] | int = ...,
            padding_out: Pair[int] | int = ...,
            groups: int = 1,
            bias: bool = True,
            dilation: Pair[int] | int = ...,
            *,
            initializer: Initializer | str = ...,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            channels: Pair[int],
            kernel_size: Pair[int] | int,
            stride: Pair[int] | int = ...,
            dilation: Pair[int] | int = ...,
            groups: int = 1,
            padding: Pair[int] | int = ...,
            padding_out: Pair[int] | int = ...,
            bias: bool = True,
            initializer: Initializer | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            weight: Tensor,
            bias: Tensor | None = None,
            *,
            stride: Pair[int],
            kernel_size: Pair[int],
            dilation: Pair[int],
            groups: int,
            padding: Pair[int],
            padding_out: Pair[int],
            channels: Pair[int],
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """In each dim `(size - 1) * stride + dilation * (kernel_size - 1) + padding_out - 2 * padding + 1`."""
        return convolution_layers.conv_transpose2d(
            x, self.weight, self.bias, self.stride, self.padding, self.padding_out, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


class ConvTranspose3dConfig(Config):
    """Settings of `ConvTranspose3d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose3dConfig([2, 1], [2, 2, 2]).init()
    """

    _positions: ClassVar = POSITIONS
    channels: Pair[int]
    kernel_size: Triple[int]
    stride: Triple[int] = (1, 1, 1)
    dilation: Triple[int] = (1, 1, 1)
    groups: int = 1
    padding: Triple[int] = (0, 0, 0)
    padding_out: Triple[int] = (0, 0, 0)
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> ConvTranspose3d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = transposed_parameters(self, self.channels, self.kernel_size, device)
        return ConvTranspose3d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups,
            self.padding, self.padding_out, self.channels,
        )  # fmt: skip


class ConvTranspose3d(Module, config=ConvTranspose3dConfig):
    """Spreads (batch, channels_in, depth, height, width) to (batch, channels_out, layers, rows, columns).

    `torch.nn.ConvTranspose3d`. The transpose of a convolution: in each dim `(size - 1) * stride + dilation *
    (kernel_size - 1) + padding_out - 2 * padding + 1`.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: elements that are cut off on both sides; 0.
        padding_out: lengthens the result at its end; 0.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.ConvTranspose3d(2, 1, 2, stride=2)
    >>> layer(Tensor.ones([1, 2, 3, 3, 3])).shape
    Shape([1, 1, 6, 6, 6])
    """

    weight: Param  # (channels_in, channels_out / groups, kernel depth, kernel height, kernel width)
    bias: Param | None  # (channels_out,)
    stride: Triple[int]
    kernel_size: Triple[int]
    dilation: Triple[int]
    groups: int
    padding: Triple[int]
    padding_out: Triple[int]
    channels: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: Triple[int] | int,
            stride: Triple[int] | int = ...,
            padding: Triple[int] | int = ...,
            padding_out: Triple[int] | int = ...,
            groups: int = 1,
            bias: bool = True,
            dilation: Triple[int] | int = ...,
            *,
            initializer: Initializer | str = ...,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            channels: Pair[int],
            kernel_size: Triple[int] | int,
            stride: Triple[int] | int = ...,
            dilation: Triple[int] | int = ...,
            groups: int = 1,
            padding: Triple[int] | int = ...,
            padding_out: Triple[int] | int = ...,
            bias: bool = True,
            initializer: Initializer | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            weight: Tensor,
            bias: Tensor | None = None,
            *,
            stride: Triple[int],
            kernel_size: Triple[int],
            dilation: Triple[int],
            groups: int,
            padding: Triple[int],
            padding_out: Triple[int],
            channels: Pair[int],
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """In each dim `(size - 1) * stride + dilation * (kernel_size - 1) + padding_out - 2 * padding + 1`."""
        return convolution_layers.conv_transpose3d(
            x, self.weight, self.bias, self.stride, self.padding, self.padding_out, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


def _content(layer: ConvTranspose1d | ConvTranspose2d | ConvTranspose3d, content: Content) -> Content:
    content.add("channels", layer.channels).add("stride", layer.stride).add("kernel_size", layer.kernel_size)
    content.add("dilation", layer.dilation).add("groups", layer.groups)
    return content.add("padding", layer.padding).add("padding_out", layer.padding_out)
