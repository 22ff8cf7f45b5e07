"""Norms: values brought to a common scale along some dims."""

from burn.nn.norm.batch import BatchNorm, BatchNormConfig
from burn.nn.norm.choice import Normalization, NormalizationConfig
from burn.nn.norm.group import GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig
from burn.nn.norm.layer import LayerNorm, LayerNormConfig, RmsNorm, RmsNormConfig
from burn.nn.norm.local_response import LocalResponseNorm, LocalResponseNormConfig

__all__ = [
    "BatchNorm", "BatchNormConfig", "GroupNorm", "GroupNormConfig", "InstanceNorm", "InstanceNormConfig",
    "LayerNorm", "LayerNormConfig", "LocalResponseNorm", "LocalResponseNormConfig", "Normalization",
    "NormalizationConfig", "RmsNorm", "RmsNormConfig",
]  # fmt: skip
