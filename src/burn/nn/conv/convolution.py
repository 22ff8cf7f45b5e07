"""Convolutions: a kernel slides over one, two or three dims and weighs what it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, overload

from burn.config import Config, Pair, Triple
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.conv.parameters import convolution_parameters
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.ops import convolution_layers
from burn.tensor import Tensor

POSITIONS = ("channels_in", "channels_out", "kernel_size", "stride", "padding", "dilation", "groups", "bias")
"""The order of arguments that begin with numbers of channels, such as `Conv2d(1, 8, 3)`."""


class Conv1dConfig(Config):
    """Settings of `Conv1d`; `init(device=None)` makes it.

    Arguments:
        channels_in: how many channels come in.
        channels_out: how many go out.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig1d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv1dConfig(3, 8, 5).init()
    """

    _positions: ClassVar = POSITIONS
    channels_in: int
    channels_out: int
    kernel_size: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: PaddingConfig1d = PaddingConfig1d.Valid
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> Conv1d:
        """A layer whose parameters are drawn when they are first used."""
        channels = (self.channels_in, self.channels_out)
        weight, bias = convolution_parameters(self, channels, (self.kernel_size,), device)
        return Conv1d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups, self.padding
        )


class Conv1d(Module, config=Conv1dConfig):
    """Convolves (batch, channels_in, length) to (batch, channels_out, positions).

    `torch.nn.Conv1d`. In each dim `(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Arguments:
        channels_in: how many channels come in.
        channels_out: how many go out.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig1d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv1d(3, 8, 5)
    >>> layer(Tensor.ones([2, 3, 20])).shape
    Shape([2, 8, 16])
    """

    weight: Param  # (channels_out, channels_in / groups, kernel_size)
    bias: Param | None  # (channels_out,)
    stride: int
    kernel_size: int
    dilation: int
    groups: int
    padding: PaddingConfig1d

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: int,
            stride: int = 1,
            *,
            dilation: int = 1,
            groups: int = 1,
            padding: PaddingConfig1d | str | int | Sequence[int] = ...,
            bias: bool = True,
            initializer: Initializer | str = ...,
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
            padding: PaddingConfig1d,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """For each position the sum of the kernel's elements times what they cover, plus the bias."""
        return convolution_layers.conv1d(
            x, self.weight, self.bias, self.stride, self.padding.pairs, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


class Conv2dConfig(Config):
    """Settings of `Conv2d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig2d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv2dConfig([1, 8], [3, 3]).init()
    """

    _positions: ClassVar = POSITIONS
    channels: Pair[int]
    kernel_size: Pair[int]
    stride: Pair[int] = (1, 1)
    dilation: Pair[int] = (1, 1)
    groups: int = 1
    padding: PaddingConfig2d = PaddingConfig2d.Valid
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> Conv2d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = convolution_parameters(self, self.channels, self.kernel_size, device)
        return Conv2d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups, self.padding
        )


class Conv2d(Module, config=Conv2dConfig):
    """Convolves (batch, channels_in, height, width) to (batch, channels_out, rows, columns).

    `torch.nn.Conv2d`. In each dim `(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig2d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv2d(1, 8, 3)
    >>> layer(Tensor.ones([2, 1, 28, 28])).shape
    Shape([2, 8, 26, 26])
    """

    weight: Param  # (channels_out, channels_in / groups, kernel height, kernel width)
    bias: Param | None  # (channels_out,)
    stride: Pair[int]
    kernel_size: Pair[int]
    dilation: Pair[int]
    groups: int
    padding: PaddingConfig2d

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: Pair[int] | int,
            stride: Pair[int] | int = ...,
            padding: PaddingConfig2d | str | int | Sequence[int] = ...,
            dilation: Pair[int] | int = ...,
            groups: int = 1,
            bias: bool = True,
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
            padding: PaddingConfig2d | str | int | Sequence[int] = ...,
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
            padding: PaddingConfig2d,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """For each position the sum of the kernel's elements times what they cover, plus the bias."""
        return convolution_layers.conv2d(
            x, self.weight, self.bias, self.stride, self.padding.pairs, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


class Conv3dConfig(Config):
    """Settings of `Conv3d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig3d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv3dConfig([1, 2], [3, 3, 3]).init()
    """

    _positions: ClassVar = POSITIONS
    channels: Pair[int]
    kernel_size: Triple[int]
    stride: Triple[int] = (1, 1, 1)
    dilation: Triple[int] = (1, 1, 1)
    groups: int = 1
    padding: PaddingConfig3d = PaddingConfig3d.Valid
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> Conv3d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = convolution_parameters(self, self.channels, self.kernel_size, device)
        return Conv3d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation, self.groups, self.padding
        )


class Conv3d(Module, config=Conv3dConfig):
    """Convolves (batch, channels_in, depth, height, width) to (batch, channels_out, layers, rows, columns).

    `torch.nn.Conv3d`. In each dim `(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        groups: of channels, each by itself; 1.
        padding: around the input: `PaddingConfig3d`, numbers, or "same"; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.Conv3d(1, 2, 3)
    >>> layer(Tensor.ones([1, 1, 6, 6, 6])).shape
    Shape([1, 2, 4, 4, 4])
    """

    weight: Param  # (channels_out, channels_in / groups, kernel depth, kernel height, kernel width)
    bias: Param | None  # (channels_out,)
    stride: Triple[int]
    kernel_size: Triple[int]
    dilation: Triple[int]
    groups: int
    padding: PaddingConfig3d

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            channels_in: int,
            channels_out: int,
            kernel_size: Triple[int] | int,
            stride: Triple[int] | int = ...,
            padding: PaddingConfig3d | str | int | Sequence[int] = ...,
            dilation: Triple[int] | int = ...,
            groups: int = 1,
            bias: bool = True,
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
            padding: PaddingConfig3d | str | int | Sequence[int] = ...,
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
            padding: PaddingConfig3d,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """For each position the sum of the kernel's elements times what they cover, plus the bias."""
        return convolution_layers.conv3d(
            x, self.weight, self.bias, self.stride, self.padding.pairs, self.dilation, self.groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return _content(self, content)


def _content(layer: Conv1d | Conv2d | Conv3d, content: Content) -> Content:
    content.add("stride", layer.stride).add("kernel_size", layer.kernel_size).add("dilation", layer.dilation)
    return content.add("groups", layer.groups).add("padding", layer.padding.spelled())
