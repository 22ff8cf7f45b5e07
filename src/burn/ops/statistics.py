"""Variance and covariance, computed in two passes: first the mean, then the distances from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.ops.reduce import widened
from burn.shape import Shape, axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _variance_rule(op: Op, x: Any, dim: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    shape = x.shape.with_dim(found, 1)
    if op.outputs == 1:
        return shape, x.dtype, (found,)
    return [shape, shape], [x.dtype, x.dtype], (found,)


def _covariance_rule(op: Op, x: Any, dim: Any, correction: Any) -> Any:
    if len(x.shape) != 2:
        raise ShapeError(f"{op.name}: needs a matrix, got shape {tuple(x.shape)}")
    found = axis(op.name, dim, 2)
    if not isinstance(correction, int | float):
        raise ArgumentError(f"{op.name}: correction must be a number, got {correction!r}")
    columns = x.shape[1 - found]
    return Shape(columns, columns), x.dtype, (found, float(correction))


def _centred(x: Any, dim: int) -> tuple[Any, Any]:
    """The distances from the mean, and the mean; half precision is widened to f32."""
    wide = widened(x)
    mean = wide.mean_dim(dim)
    return wide - mean, mean


def _freedom(count: int, correction: float) -> float:
    """What a sum of squares is divided by; 0 where there are too few elements, which gives NaN."""
    return max(count - correction, 0.0)


def _variance(x: Any, dim: int, correction: int) -> tuple[Any, Any]:
    centred, mean = _centred(x, dim)
    variance = (centred * centred).sum_dim(dim) / _freedom(x.shape[dim], correction)
    return cast_to(variance, x.dtype), cast_to(mean, x.dtype)


def _backward(g: Any, x: Any, dim: int, correction: int) -> Any:
    """The gradient of a variance."""
    return g * (_centred(x, dim)[0] * 2.0 / _freedom(x.shape[dim], correction))


def _backward_pair(g: Any, x: Any, dim: int, correction: int) -> Any:
    """The gradient of a variance and a mean, either of which may be missing."""
    variance, mean = g
    parts = []
    if variance is not None:
        parts.append(_backward(variance, x, dim, correction))
    if mean is not None:
        parts.append((mean / float(x.shape[dim])).expand(x.shape))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@composite(rule=_variance_rule, prepare=prepared(only_floats), vjp=dict(x=lambda g, x, dim: _backward(g, x, dim, 1)))
def var(x: Tensor[B], dim: int) -> Tensor[B]:
    """Compute the variance along a dim, dividing by one less than the number of elements.

    >>> burn.tensor([1.0, 2.0, 3.0]).var(0).tolist()
    [1.0]
    """
    return _variance(x, dim, 1)[0]  # type: ignore[no-any-return]


@composite(rule=_variance_rule, prepare=prepared(only_floats), vjp=dict(x=lambda g, x, dim: _backward(g, x, dim, 0)))
def var_bias(x: Tensor[B], dim: int) -> Tensor[B]:
    """Compute the variance along a dim, dividing by the number of elements.

    >>> burn.tensor([1.0, 3.0]).var_bias(0).tolist()
    [1.0]
    """
    return _variance(x, dim, 0)[0]  # type: ignore[no-any-return]


@composite(
    rule=_variance_rule,
    prepare=prepared(only_floats),
    vjp=dict(x=lambda g, x, dim: _backward_pair(g, x, dim, 1)),
    outputs=2,
)
def var_mean(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Compute the variance (dividing by one less than the count) and the mean along a dim.

    >>> [each.tolist() for each in burn.tensor([1.0, 2.0, 3.0]).var_mean(0)]
    [[1.0], [2.0]]
    """
    return _variance(x, dim, 1)


@composite(
    rule=_variance_rule,
    prepare=prepared(only_floats),
    vjp=dict(x=lambda g, x, dim: _backward_pair(g, x, dim, 0)),
    outputs=2,
)
def var_mean_bias(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Compute the variance (dividing by the count) and the mean along a dim.

    >>> [each.tolist() for each in burn.tensor([1.0, 3.0]).var_mean_bias(0)]
    [[1.0], [2.0]]
    """
    return _variance(x, dim, 0)


@composite(rule=_covariance_rule, prepare=prepared(only_floats))
def cov(x: Tensor[B], dim: int, correction: float = 1) -> Tensor[B]:
    """Compute the covariance of the columns of a matrix whose observations run along `dim`.

    Arguments:
        correction: what is taken from the number of observations before dividing by it.

    >>> burn.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]).cov(0).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    centred = _centred(x, dim)[0]
    rows = centred.transpose() if dim == 1 else centred
    return cast_to(rows.transpose().matmul(rows) / _freedom(x.shape[dim], correction), x.dtype)
