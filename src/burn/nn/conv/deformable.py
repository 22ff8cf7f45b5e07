"""Deformable convolution: the elements of the kernel look where another layer tells them to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, overload

from burn.config import Config, Pair
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.conv.parameters import deformable_parameters
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.padding import PaddingConfig2d
from burn.ops.deformable import deform_conv2d
from burn.ops.windows import check_rank, paddings
from burn.tensor import Tensor


class DeformConv2dConfig(Config):
    """Settings of `DeformConv2d`; `init(device=None)` makes it.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        weight_groups: channels that share weights; 1.
        offset_groups: channels that share offsets; 1.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.DeformConv2dConfig([1, 4], [3, 3]).init()
    """

    _positions: ClassVar = (
        "channels_in", "channels_out", "kernel_size", "stride", "padding", "dilation", "weight_groups", "bias",
    )  # fmt: skip
    channels: Pair[int]
    kernel_size: Pair[int]
    stride: Pair[int] = (1, 1)
    dilation: Pair[int] = (1, 1)
    weight_groups: int = 1
    offset_groups: int = 1
    padding: PaddingConfig2d = PaddingConfig2d.Valid
    bias: bool = True
    initializer: Initializer = DEFAULT

    def init(self, device: Device | None = None) -> DeformConv2d:
        """A layer whose parameters are drawn when they are first used."""
        weight, bias = deformable_parameters(self, device)
        return DeformConv2d._from_fields(
            weight, bias, self.stride, self.kernel_size, self.dilation,
            self.weight_groups, self.offset_groups, self.padding,
        )  # fmt: skip


class DeformConv2d(Module, config=DeformConv2dConfig):
    """Convolves (batch, channels_in, height, width), each element of the kernel moved by an offset of its own.

    `torchvision.ops.DeformConv2d`. `offset` (batch, groups * kernel * 2, rows, columns) holds a pair (down, right)
    in pixels for each offset group and element of the kernel, `mask` (batch, groups * kernel, rows, columns) a
    factor.

    Arguments:
        channels: how many come in and go out; a layer takes them as `channels_in, channels_out`.
        kernel_size: the size of the kernel.
        stride: from one position to the next; 1.
        dilation: from one element of the kernel to the next; 1.
        weight_groups: channels that share weights; 1.
        offset_groups: channels that share offsets; 1.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        bias: whether one is added; True.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.

    >>> layer = nn.DeformConv2d(1, 4, 3)
    >>> layer(Tensor.ones([1, 1, 5, 5]), Tensor.zeros([1, 18, 3, 3])).shape
    Shape([1, 4, 3, 3])
    """

    weight: Param  # (channels_out, channels_in / weight_groups, kernel height, kernel width)
    bias: Param | None  # (channels_out,)
    stride: Pair[int]
    kernel_size: Pair[int]
    dilation: Pair[int]
    weight_groups: int
    offset_groups: int
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
            weight_groups: int = 1,
            bias: bool = True,
            *,
            offset_groups: int = 1,
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
            weight_groups: int = 1,
            offset_groups: int = 1,
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
            weight_groups: int,
            offset_groups: int,
            padding: PaddingConfig2d,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """Convolve `x` at moved places.

        For each offset group and element of the kernel, `offset` (batch, groups * kernel * 2, rows, columns)
        holds a pair (down, right) in pixels, and `mask` (batch, groups * kernel, rows, columns) a factor.
        """
        check_rank("deform_conv2d", x.shape, 2)
        kernel, stride, dilation = (tuple(each) for each in (self.kernel_size, self.stride, self.dilation))
        pairs = paddings("deform_conv2d", self.padding.pairs, tuple(x.shape[2:]), kernel, stride, dilation)
        if any(before != after for before, after in pairs):
            x, pairs = x.pad(pairs), ((0, 0), (0, 0))  # outside the image it reads zeros too
        padding = [before for before, _ in pairs]
        return deform_conv2d(
            x, offset, self.weight, mask, self.bias, stride, padding, dilation, self.weight_groups, self.offset_groups
        )

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("stride", self.stride).add("kernel_size", self.kernel_size).add("dilation", self.dilation)
        content.add("weight_groups", self.weight_groups).add("offset_groups", self.offset_groups)
        return content.add("padding", self.padding.spelled())
