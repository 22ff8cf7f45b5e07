"""Activations as modules."""

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
from burn.nn.activation.choice import Activation, ActivationConfig
from burn.nn.activation.gated import GLU, SwiGlu, SwiGluConfig
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

__all__ = [
    "GLU", "Activation", "ActivationConfig", "Celu", "CeluConfig", "Elu", "EluConfig", "Gelu", "HardShrink",
    "HardShrinkConfig", "HardSigmoid", "HardSigmoidConfig", "HardSwish", "Hardtanh", "HardtanhConfig", "LeakyRelu",
    "LeakyReluConfig", "LogSigmoid", "Mish", "PRelu", "PReluConfig", "RRelu", "RReluConfig", "Relu", "Relu6", "Selu",
    "Shrink", "ShrinkConfig", "SiLU", "Sigmoid", "SoftShrink", "SoftShrinkConfig", "Softplus", "SoftplusConfig",
    "Softsign", "SwiGlu", "SwiGluConfig", "Tanh", "Tanhshrink", "Threshold", "ThresholdConfig", "ThresholdedRelu",
    "ThresholdedReluConfig",
]  # fmt: skip
