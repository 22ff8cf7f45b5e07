"""The activation functions that read well as methods; all of them are in `burn.tensor.activation`."""

from __future__ import annotations

from burn.ops import activation
from burn.ops import softmax as shares


class ActivationMethods:
    """Activation functions."""

    __slots__ = ()

    relu = activation.relu
    leaky_relu = activation.leaky_relu
    sigmoid = activation.sigmoid
    log_sigmoid = activation.log_sigmoid
    softplus = activation.softplus
    gelu = activation.gelu
    silu = activation.silu
    mish = activation.mish
    elu = activation.elu
    softmax = shares.softmax
    log_softmax = shares.log_softmax
