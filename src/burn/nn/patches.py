"""Patches: images cut into windows, and windows added up to images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config, Pair
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.ops.spatial import fold4d, unfold4d
from burn.tensor import Tensor


class Unfold4dConfig(Config):
    """Settings of `Unfold4d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a patch.
        stride: from one patch to the next; 1.
        dilation: from one element of a patch to the next; 1.
        padding: zeros around the image; 0.

    >>> nn.Unfold4dConfig([2, 2]).init()
    Unfold4d {kernel_size: [2, 2], stride: [1, 1], dilation: [1, 1], padding: [0, 0]}
    """

    kernel_size: Pair[int]
    stride: Pair[int] = (1, 1)
    dilation: Pair[int] = (1, 1)
    padding: Pair[int] = (0, 0)

    def init(self, device: Device | None = None) -> Unfold4d:
        """The module; it has no parameters."""
        faults = too_small(1, kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        refuse(self, faults + too_small(0, padding=self.padding))
        return Unfold4d._from_fields(self.kernel_size, self.stride, self.dilation, self.padding)


class Unfold4d(Module, config=Unfold4dConfig):
    """Cuts images into patches.

    `torch.nn.Unfold`. (batch, channels, height, width) to (batch, channels * kernel, patches).

    Arguments:
        kernel_size: the size of a patch.
        stride: from one patch to the next; 1.
        dilation: from one element of a patch to the next; 1.
        padding: zeros around the image; 0.

    >>> nn.Unfold4d(2, stride=2)(Tensor.ones([1, 3, 4, 4])).shape
    Shape([1, 12, 4])
    """

    kernel_size: Pair[int]
    stride: Pair[int]
    dilation: Pair[int]
    padding: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: Pair[int] | int,
            stride: Pair[int] | int = ...,
            dilation: Pair[int] | int = ...,
            padding: Pair[int] | int = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, channels * kernel, patches)."""
        return unfold4d(x, self.kernel_size, self.stride, self.padding, self.dilation)


class Fold4dConfig(Config):
    """Settings of `Fold4d`; `init(device=None)` makes it.

    Arguments:
        output_size: height and width of the images.
        kernel_size: the size of a patch.
        stride: from one patch to the next; 1.
        dilation: from one element of a patch to the next; 1.
        padding: zeros around the image; 0.

    >>> nn.Fold4dConfig([4, 4], [2, 2]).init()
    Fold4d {output_size: [4, 4], kernel_size: [2, 2], stride: [1, 1], dilation: [1, 1], padding: [0, 0]}
    """

    output_size: Pair[int]
    kernel_size: Pair[int]
    stride: Pair[int] = (1, 1)
    dilation: Pair[int] = (1, 1)
    padding: Pair[int] = (0, 0)

    def init(self, device: Device | None = None) -> Fold4d:
        """The module; it has no parameters."""
        sizes = {"output_size": self.output_size, "kernel_size": self.kernel_size}
        faults = too_small(1, **sizes, stride=self.stride, dilation=self.dilation)
        refuse(self, faults + too_small(0, padding=self.padding))
        return Fold4d._from_fields(self.output_size, self.kernel_size, self.stride, self.dilation, self.padding)


class Fold4d(Module, config=Fold4dConfig):
    """Adds patches up to images: where patches overlap, their elements are summed.

    `torch.nn.Fold`. (batch, channels * kernel, patches) to (batch, channels, *output_size).

    Arguments:
        output_size: height and width of the images.
        kernel_size: the size of a patch.
        stride: from one patch to the next; 1.
        dilation: from one element of a patch to the next; 1.
        padding: zeros around the image; 0.

    >>> nn.Fold4d(4, 2, stride=2)(Tensor.ones([1, 12, 4])).shape
    Shape([1, 3, 4, 4])
    """

    output_size: Pair[int]
    kernel_size: Pair[int]
    stride: Pair[int]
    dilation: Pair[int]
    padding: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            output_size: Pair[int] | int,
            kernel_size: Pair[int] | int,
            stride: Pair[int] | int = ...,
            dilation: Pair[int] | int = ...,
            padding: Pair[int] | int = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels * kernel, patches) to (batch, channels, *output_size)."""
        return fold4d(x, self.output_size, self.kernel_size, self.stride, self.padding, self.dilation)
