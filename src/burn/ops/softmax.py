"""Softmax and its relatives: numbers along a dim turned into shares of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import ShapeError
from burn.ops.activation import wide
from burn.ops.declare import composite, floating, prepared
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.shape import Shape, axis, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _along_rule(op: Op, x: Any, dim: Any) -> Any:
    return x.shape, x.dtype, (axis(op.name, dim, len(x.shape)),)


def _shifted(x: Any, dim: int) -> Any:
    """`x` less its largest element along `dim`: its exponentials do not overflow."""
    return x - x.max_dim(dim) if x.shape[dim] else x


def _softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    return softmax_backward(out, g, dim)


def _log_softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    return log_softmax_backward(out, g, dim)


@composite(
    rule=_along_rule,
    prepare=prepared(floating),
    vjp=dict(x=_softmax_gradient),
)
def softmax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Turn the numbers along `dim` into positive shares that sum to 1.

    >>> burn.tensor([[0.0, 0.0], [1.0, 3.0]]).softmax(dim=1).to_data()
    TensorData([[0.5, 0.5], [0.11920292, 0.880797]], shape=[2, 2], dtype=f32)
    """
    shares = _shifted(wide(x), dim).exp()
    return cast_to(shares / shares.sum_dim(dim), x.dtype)


@composite(
    rule=_along_rule,
    prepare=prepared(floating),
    vjp=dict(x=_log_softmax_gradient),
)
def log_softmax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the logarithm of the softmax along `dim`, exact where a share underflows.

    >>> burn.tensor([0.0, 1000.0]).log_softmax(dim=0).tolist()
    [-1000.0, 0.0]
    """
    shifted = _shifted(wide(x), dim)
    return cast_to(shifted - shifted.exp().sum_dim(dim).log(), x.dtype)


@composite()
def softmin(x: Tensor[B], dim: int) -> Tensor[B]:
    """Turn the numbers along `dim` into shares, the smallest number getting the largest.

    >>> from burn.tensor import activation
    >>> activation.softmin(burn.tensor([1.0, 3.0]), dim=0).to_data()
    TensorData([0.880797, 0.11920292], shape=[2], dtype=f32)
    """
    return softmax(x.float().neg(), dim)


@composite(
    rule=_along_rule,
    prepare=prepared(floating),
    vjp=dict(x=_softmax_gradient),
)
def quiet_softmax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Turn the numbers along `dim` into shares with one share for nothing: `exp(x) / (1 + sum(exp(x)))`.

    >>> from burn.tensor import activation
    >>> activation.quiet_softmax(burn.tensor([0.0, 0.0, 0.0]), dim=0).tolist()
    [0.25, 0.25, 0.25]
    """
    values = wide(x)
    if not x.shape[dim]:
        return x
    largest = values.max_dim(dim).clamp_min(0.0)
    shares = (values - largest).exp()
    return cast_to(shares / (shares.sum_dim(dim) + largest.neg().exp()), x.dtype)


def _backward_rule(op: Op, output: Any, gradient: Any, dim: Any) -> Any:
    if output.shape != gradient.shape:
        raise ShapeError(f"{op.name}: output has shape {tuple(output.shape)} and gradient {tuple(gradient.shape)}")
    return output.shape, output.dtype, (axis(op.name, dim, len(output.shape)),)


@composite(rule=_backward_rule, prepare=prepared(floating, "output", "gradient"))
def softmax_backward(output: Tensor[B], gradient: Tensor[B], dim: int) -> Tensor[B]:
    """Compute the gradient of `softmax` from its output."""
    weighted = output * gradient
    return weighted - output * weighted.sum_dim(dim)


@composite(rule=_backward_rule, prepare=prepared(floating, "output", "gradient"))
def log_softmax_backward(output: Tensor[B], gradient: Tensor[B], dim: int) -> Tensor[B]:
    """Compute the gradient of `log_softmax` from its output."""
    return gradient - output.exp() * gradient.sum_dim(dim)


def _entropy_rule(op: Op, logits: Any, target_probs: Any) -> Any:
    axis(op.name, -1, len(logits.shape))
    broadcast(op.name, logits.shape, target_probs.shape)
    return Shape((1,)), logits.dtype, ()


@composite(rule=_entropy_rule, prepare=prepared(floating, "logits", "target_probs"))
def cross_entropy_with_logits(logits: Tensor[B], target_probs: Tensor[Any]) -> Tensor[B]:
    """Compute the mean cross entropy, of shape [1], between softmaxed `logits` and shares along the last dim.

    Arguments:
        target_probs: the shares, which sum to 1 in each row.

    >>> from burn.tensor import loss
    >>> logits, target = burn.tensor([[2.0, 0.0]]), burn.tensor([[1.0, 0.0]])
    >>> loss.cross_entropy_with_logits(logits, target).to_data()
    TensorData([0.12692805], shape=[1], dtype=f32)
    """
    return (log_softmax(logits, -1) * target_probs).sum_dim(-1).mean().neg()
