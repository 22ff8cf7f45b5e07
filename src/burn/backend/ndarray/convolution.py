"""Convolution kernels."""

from __future__ import annotations

from burn.ops.convolution import conv, conv_weight_backward, conv_x_backward


class Convolution:
    """Matrix products over sliding windows, one a group."""

    conv = staticmethod(conv.op.reference)  # type: ignore[attr-defined]
    conv_x_backward = staticmethod(conv_x_backward.op.reference)  # type: ignore[attr-defined]
    conv_weight_backward = staticmethod(conv_weight_backward.op.reference)  # type: ignore[attr-defined]
