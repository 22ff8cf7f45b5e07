"""Pixel shuffle: channels laid out as pixels, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.errors import ShapeError
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.ops.windows import check_rank
from burn.tensor import Tensor


class PixelShuffleConfig(Config):
    """Settings of `PixelShuffle`; `init(device=None)` makes it.

    Arguments:
        upscale_factor: by how much height and width grow.

    >>> nn.PixelShuffleConfig(2).init()
    PixelShuffle {upscale_factor: 2}
    """

    upscale_factor: int

    def init(self, device: Device | None = None) -> PixelShuffle:
        """The module; it has no parameters."""
        refuse(self, too_small(1, upscale_factor=self.upscale_factor))
        return PixelShuffle._from_fields(self.upscale_factor)


class PixelShuffle(Module, config=PixelShuffleConfig):
    """Makes images larger out of their channels: each `factor * factor` channels become a block of pixels.

    `torch.nn.PixelShuffle`. (batch, channels * factor², height, width) to (batch, channels, height * factor, width
    * factor).

    Arguments:
        upscale_factor: by how much height and width grow.

    >>> nn.PixelShuffle(2)(Tensor.ones([1, 8, 3, 3])).shape
    Shape([1, 2, 6, 6])
    """

    upscale_factor: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, upscale_factor: int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels * factor², height, width) to (batch, channels, height * factor, width * factor)."""
        check_rank("PixelShuffle", x.shape, 2)
        batch, channels, height, width = x.shape
        factor = self.upscale_factor
        kept, rest = divmod(channels, factor * factor)
        if rest:
            raise ShapeError(
                f"PixelShuffle: the channels of x {tuple(x.shape)} must be a multiple of {factor} * {factor}"
            )
        blocks = x.reshape((batch, kept, factor, factor, height, width)).permute((0, 1, 4, 2, 5, 3))
        return blocks.reshape((batch, kept, height * factor, width * factor))


class PixelUnshuffleConfig(Config):
    """Settings of `PixelUnshuffle`; `init(device=None)` makes it.

    Arguments:
        downscale_factor: by how much height and width shrink.

    >>> nn.PixelUnshuffleConfig(2).init()
    PixelUnshuffle {downscale_factor: 2}
    """

    downscale_factor: int

    def init(self, device: Device | None = None) -> PixelUnshuffle:
        """The module; it has no parameters."""
        refuse(self, too_small(1, downscale_factor=self.downscale_factor))
        return PixelUnshuffle._from_fields(self.downscale_factor)


class PixelUnshuffle(Module, config=PixelUnshuffleConfig):
    """Makes images smaller and gives them more channels: a block of pixels becomes `factor * factor` channels.

    `torch.nn.PixelUnshuffle`. (batch, channels, height * factor, width * factor) to (batch, channels * factor²,
    height, width).

    Arguments:
        downscale_factor: by how much height and width shrink.

    >>> nn.PixelUnshuffle(2)(Tensor.ones([1, 2, 6, 6])).shape
    Shape([1, 8, 3, 3])
    """

    downscale_factor: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, downscale_factor: int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height * factor, width * factor) to (batch, channels * factor², height, width)."""
        check_rank("PixelUnshuffle", x.shape, 2)
        batch, channels, height, width = x.shape
        factor = self.downscale_factor
        if height % factor or width % factor:
            raise ShapeError(f"PixelUnshuffle: height and width of x {tuple(x.shape)} must be multiples of {factor}")
        rows, columns = height // factor, width // factor
        blocks = x.reshape((batch, channels, rows, factor, columns, factor)).permute((0, 1, 3, 5, 2, 4))
        return blocks.reshape((batch, channels * factor * factor, rows, columns))
