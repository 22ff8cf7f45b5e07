"""A norm chosen by a config, for layers that leave the choice to their user.

NormalizationConfig.Batch(BatchNormConfig(0)).with_num_features(64).init(device)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Enumeration, variant
from burn.device import Device
from burn.module import ModuleEnum
from burn.nn.identity import Identity
from burn.nn.norm.batch import BatchNorm, BatchNormConfig
from burn.nn.norm.group import GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig
from burn.nn.norm.layer import LayerNorm, LayerNormConfig, RmsNorm, RmsNormConfig
from burn.tensor import Tensor

FEATURES = {
    "Batch": "num_features", "Group": "num_channels", "Instance": "num_channels", "Layer": "d_model", "Rms": "d_model",
}  # fmt: skip
"""What each config calls its number of features."""


class NormalizationConfig(Enumeration):
    """Which norm, with its own config: for the fields of configs.

    >>> config = nn.NormalizationConfig.Batch(nn.BatchNormConfig(8))
    >>> config.with_num_features(16).num_features()
    16
    """

    Batch = variant(BatchNormConfig)
    Group = variant(GroupNormConfig)
    Instance = variant(InstanceNormConfig)
    Layer = variant(LayerNormConfig)
    Rms = variant(RmsNormConfig)
    Identity = variant()

    def init(self, device: Device | None = None) -> Normalization:
        """The module."""
        kind: Any = Normalization
        made = Identity() if self._is_unit() else vars(self)["_0"].init(device)
        return kind(self._variant_name(), made)  # type: ignore[no-any-return]

    def num_features(self) -> int:
        """The number of features that are normalized; 0 for the identity."""
        if self._is_unit():
            return 0
        return getattr(vars(self)["_0"], FEATURES[self._variant_name()])  # type: ignore[no-any-return]

    def with_num_features(self, num_features: int) -> NormalizationConfig:
        """The same norm for another number of features, `num_features`."""
        if self._is_unit():
            return self
        kind: Any = type(self)
        changed = {FEATURES[self._variant_name()]: num_features}
        return kind(vars(self)["_0"].replace(**changed))  # type: ignore[no-any-return]


class Normalization(ModuleEnum):
    """One of the norms, as `NormalizationConfig` makes it. The order is that of records.

    >>> norm = nn.NormalizationConfig.Layer(nn.LayerNormConfig(4)).init()
    >>> norm.variant, norm.num_features()
    ('Layer', 4)
    """

    Batch: BatchNorm
    Group: GroupNorm
    Instance: InstanceNorm
    Layer: LayerNorm
    Rms: RmsNorm
    Identity: Identity

    if TYPE_CHECKING:

        def forward(self, x: Tensor) -> Tensor: ...

    def num_features(self) -> int:
        """The number of features that are normalized; 0 for the identity."""
        norm = self.value
        if isinstance(norm, Identity):
            return 0
        return norm.num_channels if isinstance(norm, GroupNorm | InstanceNorm) else norm.gamma.shape[0]
