"""Patches: images cut into windows, and windows added up to images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Config, Pair
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.ops.spatial import fold4d, unfold4d
from burn.tensor import Tensor


class Unfold4dConfig(Config):
    """Settings of patches: their size, how far apart they and their elements lie, and what is around the image."""

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
    """Cuts images into patches."""

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

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """(batch, channels, height, width) to (batch, channels * kernel, patches)."""
        return unfold4d(x, self.kernel_size, self.stride, self.padding, self.dilation)


class Fold4dConfig(Config):
    """Settings of images made of patches: their size, then the settings that would cut them."""

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
    """Adds patches up to images: where patches overlap, their elements are summed."""

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

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """(batch, channels * kernel, patches) to (batch, channels, *output_size)."""
        return fold4d(x, self.output_size, self.kernel_size, self.stride, self.padding, self.dilation)
