"""Activation functions: `activation.gelu(x)`, `activation.softmax(x, dim=-1)`."""

from burn.ops.activation import (
    celu,
    elu,
    gelu,
    gelu_approximate,
    glu,
    hard_shrink,
    hard_sigmoid,
    hard_swish,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    shrink,
    sigmoid,
    silu,
    soft_shrink,
    softplus,
    softsign,
    swish,
    tanhshrink,
    threshold,
    thresholded_relu,
)
from burn.ops.aggregation import hardmax
from burn.ops.elementwise import tanh
from burn.ops.softmax import log_softmax, quiet_softmax, softmax, softmin

__all__ = [
    "celu", "elu", "gelu", "gelu_approximate", "glu", "hard_shrink", "hard_sigmoid", "hard_swish", "hardmax",
    "hardtanh", "leaky_relu", "log_sigmoid", "log_softmax", "mish", "prelu", "quiet_softmax", "relu", "relu6", "selu",
    "shrink", "sigmoid", "silu", "soft_shrink", "softmax", "softmin", "softplus", "softsign", "swish", "tanh",
    "tanhshrink", "threshold", "thresholded_relu",
]  # fmt: skip
