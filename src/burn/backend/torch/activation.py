"""Activation kernels."""

from __future__ import annotations

import torch
from torch.nn import functional

aten = torch.ops.aten


class Activation:
    """Torch's own kernels for the rows in `burn.ops.activation` and `burn.ops.softmax`."""

    relu, sigmoid, softmax, log_softmax = torch.relu, torch.sigmoid, torch.softmax, torch.log_softmax
    gelu = staticmethod(functional.gelu)
    silu = staticmethod(functional.silu)
    mish = staticmethod(functional.mish)
    log_sigmoid = staticmethod(functional.logsigmoid)
    leaky_relu = staticmethod(functional.leaky_relu)
    elu = staticmethod(functional.elu)
    selu = staticmethod(functional.selu)
    hardtanh = staticmethod(functional.hardtanh)
    relu6 = staticmethod(functional.relu6)
    hard_swish = staticmethod(functional.hardswish)
    softsign = staticmethod(functional.softsign)
    tanhshrink = staticmethod(functional.tanhshrink)
    softplus = staticmethod(functional.softplus)
    glu = staticmethod(functional.glu)

    @staticmethod
    def gelu_approximate(x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x, approximate="tanh")

    @staticmethod
    def relu_backward(output: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return aten.threshold_backward(gradient, output, 0)  # type: ignore[no-any-return]

    @staticmethod
    def sigmoid_backward(output: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return aten.sigmoid_backward(gradient, output)  # type: ignore[no-any-return]

    @staticmethod
    def silu_backward(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return aten.silu_backward(gradient, x)  # type: ignore[no-any-return]

    @staticmethod
    def gelu_backward(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        return aten.gelu_backward(gradient, x)  # type: ignore[no-any-return]

    @staticmethod
    def softmax_backward(output: torch.Tensor, gradient: torch.Tensor, dim: int) -> torch.Tensor:
        return aten._softmax_backward_data(gradient, output, dim, output.dtype)  # type: ignore[no-any-return]

    @staticmethod
    def log_softmax_backward(output: torch.Tensor, gradient: torch.Tensor, dim: int) -> torch.Tensor:
        return aten._log_softmax_backward_data(gradient, output, dim, output.dtype)  # type: ignore[no-any-return]
