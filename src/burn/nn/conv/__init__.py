"""Convolutions, transposed convolutions and deformable ones."""

from burn.nn.conv.convolution import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig
from burn.nn.conv.deformable import DeformConv2d, DeformConv2dConfig
from burn.nn.conv.transposed import (
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    ConvTranspose3d,
    ConvTranspose3dConfig,
)

__all__ = [
    "Conv1d", "Conv1dConfig", "Conv2d", "Conv2dConfig", "Conv3d", "Conv3dConfig",
    "ConvTranspose1d", "ConvTranspose1dConfig", "ConvTranspose2d", "ConvTranspose2dConfig",
    "ConvTranspose3d", "ConvTranspose3dConfig", "DeformConv2d", "DeformConv2dConfig",
]  # fmt: skip
