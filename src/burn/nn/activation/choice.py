"""An activation chosen by a config, for layers that leave the choice to their user.

ActivationConfig.Relu.init(device)
ActivationConfig.LeakyRelu(LeakyReluConfig(0.1)).init(device)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Enumeration, variant
from burn.device import Device
from burn.module import ModuleEnum
from burn.nn.activation.bent import (
    Celu,
    CeluConfig,
    Elu,
    EluConfig,
    Hardtanh,
    HardtanhConfig,
    LeakyRelu,
    LeakyReluConfig,
    RRelu,
    RReluConfig,
    Threshold,
    ThresholdConfig,
    ThresholdedRelu,
    ThresholdedReluConfig,
)
from burn.nn.activation.gated import SwiGlu, SwiGluConfig
from burn.nn.activation.prelu import PRelu, PReluConfig
from burn.nn.activation.simple import (
    Gelu,
    HardSwish,
    LogSigmoid,
    Mish,
    Relu,
    Relu6,
    Selu,
    Sigmoid,
    SiLU,
    Softsign,
    Tanh,
    Tanhshrink,
)
from burn.nn.activation.smooth import (
    HardShrink,
    HardShrinkConfig,
    HardSigmoid,
    HardSigmoidConfig,
    Shrink,
    ShrinkConfig,
    Softplus,
    SoftplusConfig,
    SoftShrink,
    SoftShrinkConfig,
)
from burn.nn.identity import Identity
from burn.tensor import Tensor


class ActivationConfig(Enumeration):
    """Which activation, with its own config where it has settings: for the fields of configs.

    >>> nn.ActivationConfig.LeakyRelu(nn.LeakyReluConfig(0.2)).init()
    Activation::LeakyRelu {
      0: LeakyRelu {negative_slope: 0.2}
    }
    >>> nn.PositionWiseFeedForward(8, 16, activation=nn.ActivationConfig.Relu)(Tensor.ones([1, 8])).shape
    Shape([1, 8])
    """

    Gelu = variant()
    GeluApproximate = variant()
    PRelu = variant(PReluConfig)
    Relu = variant()
    LeakyRelu = variant(LeakyReluConfig)
    SwiGlu = variant(SwiGluConfig)
    Sigmoid = variant()
    Tanh = variant()
    HardSigmoid = variant(HardSigmoidConfig)
    Identity = variant()
    Selu = variant()
    HardSwish = variant()
    Softplus = variant(SoftplusConfig)
    Softsign = variant()
    Elu = variant(EluConfig)
    Celu = variant(CeluConfig)
    ThresholdedRelu = variant(ThresholdedReluConfig)
    HardShrink = variant(HardShrinkConfig)
    SoftShrink = variant(SoftShrinkConfig)
    Shrink = variant(ShrinkConfig)
    Hardtanh = variant(HardtanhConfig)
    LogSigmoid = variant()
    Mish = variant()
    RRelu = variant(RReluConfig)
    Relu6 = variant()
    SiLU = variant()
    Tanhshrink = variant()
    Threshold = variant(ThresholdConfig)

    def init(self, device: Device | None = None) -> Activation:
        """The module."""
        name = self._variant_name()
        if self._is_unit():
            made: Any = Gelu.new_approximate() if name == "GeluApproximate" else _PLAIN[name]()
        else:
            made = vars(self)["_0"].init(device)
        kind: Any = Activation
        return kind(type(made).__name__, made)  # type: ignore[no-any-return]


class Activation(ModuleEnum):
    """One of the activations, as `ActivationConfig` makes it. The order is that of records.

    >>> activation = nn.ActivationConfig.Gelu.init()
    >>> activation.variant, activation(Tensor.zeros([2])).tolist()
    ('Gelu', [0.0, 0.0])
    """

    Gelu: Gelu
    PRelu: PRelu
    Relu: Relu
    LeakyRelu: LeakyRelu
    SwiGlu: SwiGlu
    Sigmoid: Sigmoid
    Tanh: Tanh
    HardSigmoid: HardSigmoid
    Identity: Identity
    Selu: Selu
    HardSwish: HardSwish
    Softplus: Softplus
    Softsign: Softsign
    Elu: Elu
    Celu: Celu
    ThresholdedRelu: ThresholdedRelu
    HardShrink: HardShrink
    SoftShrink: SoftShrink
    Shrink: Shrink
    Hardtanh: Hardtanh
    LogSigmoid: LogSigmoid
    Mish: Mish
    RRelu: RRelu
    Relu6: Relu6
    SiLU: SiLU
    Tanhshrink: Tanhshrink
    Threshold: Threshold

    if TYPE_CHECKING:

        def forward(self, x: Tensor) -> Tensor: ...


_PLAIN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Gelu, HardSwish, Identity, LogSigmoid, Mish, Relu, Relu6, Selu, SiLU, Sigmoid, Softsign, Tanh,
                 Tanhshrink)
}  # fmt: skip
