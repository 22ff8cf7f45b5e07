"""Pools: windows of an input reduced to one number each."""

from burn.nn.pool.adaptive import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool1dConfig,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    AdaptiveAvgPool3d,
    AdaptiveAvgPool3dConfig,
)
from burn.nn.pool.average import AvgPool1d, AvgPool1dConfig, AvgPool2d, AvgPool2dConfig, AvgPool3d, AvgPool3dConfig
from burn.nn.pool.maximum import MaxPool1d, MaxPool1dConfig, MaxPool2d, MaxPool2dConfig, MaxPool3d, MaxPool3dConfig

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool1dConfig", "AdaptiveAvgPool2d", "AdaptiveAvgPool2dConfig",
    "AdaptiveAvgPool3d", "AdaptiveAvgPool3dConfig",
    "AvgPool1d", "AvgPool1dConfig", "AvgPool2d", "AvgPool2dConfig", "AvgPool3d", "AvgPool3dConfig",
    "MaxPool1d", "MaxPool1dConfig", "MaxPool2d", "MaxPool2dConfig", "MaxPool3d", "MaxPool3dConfig",
]  # fmt: skip
