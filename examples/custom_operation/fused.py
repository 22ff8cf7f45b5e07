"""`relu(lhs @ rhs + bias)` as one operation, in a file that touches nothing of the framework.

1. The body makes it work on every device, and says what the operation means.
2. A kernel replaces the body on `NdArray`: one pass of blocked products, the bias and the relu on the way out.
3. The backward rules are written once for all devices; on `LibTorch` another set takes its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.backend import NdArray
from burn.extension import backward, kernel, operation, reduce_to_shape
from burn.tensor import Tensor, activation


def _through_relu(g: Tensor, out: Tensor) -> Tensor:
    """The gradient below the relu, from the result that was kept."""
    return g.mask_fill(out <= 0.0, 0.0)


def _lhs(g: Tensor, rhs: Tensor, out: Tensor, lhs_shape: Any) -> Tensor:
    return reduce_to_shape(_through_relu(g, out).matmul(rhs.transpose()), lhs_shape)


def _rhs(g: Tensor, lhs: Tensor, out: Tensor, rhs_shape: Any) -> Tensor:
    return reduce_to_shape(lhs.transpose().matmul(_through_relu(g, out)), rhs_shape)


def _bias(g: Tensor, out: Tensor, bias_shape: Any) -> Tensor:
    return reduce_to_shape(_through_relu(g, out), bias_shape)


@operation(bound="compute", vjp=dict(lhs=_lhs, rhs=_rhs, bias=_bias))
def matmul_add_relu_custom(lhs: Tensor, rhs: Tensor, bias: Tensor) -> Tensor:
    """Multiply, add a bias that broadcasts, and cut off below zero, as one operation."""
    return matmul_add_relu_reference(lhs, rhs, bias)


def matmul_add_relu_reference(lhs: Tensor, rhs: Tensor, bias: Tensor) -> Tensor:
    """The same with plain operations: what the fused one is tested against."""
    return activation.relu(lhs.matmul(rhs) + bias)


ROWS_PER_BLOCK = 64


@kernel(matmul_add_relu_custom, NdArray)
def matmul_add_relu_ndarray(device: NdArray, lhs: Any, rhs: Any, bias: Any) -> Any:
    """Block by block of rows, so that the product is still in the cache when bias and relu meet it."""
    rows, columns = lhs.shape[-2], rhs.shape[-1]
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    output = np.empty(np.broadcast_shapes((*batch, rows, columns), bias.shape), np.result_type(lhs, rhs, bias))
    bias = np.broadcast_to(bias, output.shape)
    for start in range(0, rows, ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        part = output[..., block, :]
        np.matmul(lhs[..., block, :], rhs, out=part)
        part += bias[..., block, :]
        np.maximum(part, 0, out=part)
    return output


def register_torch() -> None:
    """A backward for one stack only, `Autodiff(LibTorch(...))`: the shared step runs in torch itself."""
    from burn.backend import LibTorch

    def through_relu(g: Tensor, out: Tensor) -> Tensor:
        handle = g.into_primitive() * (out.into_primitive() > 0)
        return Tensor.from_primitive(handle, g.device)

    @backward(matmul_add_relu_custom, LibTorch)
    def rules() -> dict[str, Any]:
        return dict(
            lhs=lambda g, rhs, out: through_relu(g, out).matmul(rhs.transpose()),
            rhs=lambda g, lhs, out: lhs.transpose().matmul(through_relu(g, out)),
            bias=lambda g, out: through_relu(g, out),
        )
