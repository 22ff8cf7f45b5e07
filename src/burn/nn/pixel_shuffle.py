"""Pixel shuffle: channels laid out as pixels, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.device import Device
from burn.errors import ShapeError
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.ops.windows import check_rank
from burn.tensor import Tensor


class PixelShuffleConfig(Config):
    """Settings: by how much height and width grow."""

    upscale_factor: int

    def init(self, device: Device | None = None) -> PixelShuffle:
        """The module; it has no parameters."""
        refuse(self, too_small(1, upscale_factor=self.upscale_factor))
        return PixelShuffle._from_fields(self.upscale_factor)


class PixelShuffle(Module, config=PixelShuffleConfig):
    """Makes images larger out of their channels: each `factor * factor` channels become a block of pixels."""

    upscale_factor: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, upscale_factor: int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
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
    """Settings: by how much height and width shrink."""

    downscale_factor: int

    def init(self, device: Device | None = None) -> PixelUnshuffle:
        """The module; it has no parameters."""
        refuse(self, too_small(1, downscale_factor=self.downscale_factor))
        return PixelUnshuffle._from_fields(self.downscale_factor)


class PixelUnshuffle(Module, config=PixelUnshuffleConfig):
    """Makes images smaller and gives them more channels: each block of pixels becomes `factor * factor` channels."""

    downscale_factor: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, downscale_factor: int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """(batch, channels, height * factor, width * factor) to (batch, channels * factor², height, width)."""
        check_rank("PixelUnshuffle", x.shape, 2)
        batch, channels, height, width = x.shape
        factor = self.downscale_factor
        if height % factor or width % factor:
            raise ShapeError(f"PixelUnshuffle: height and width of x {tuple(x.shape)} must be multiples of {factor}")
        rows, columns = height // factor, width // factor
        blocks = x.reshape((batch, channels, rows, factor, columns, factor)).permute((0, 1, 3, 5, 2, 4))
        return blocks.reshape((batch, channels * factor * factor, rows, columns))
