"""The two simplest layers: an affine map, and a table of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.errors import DTypeError, ShapeError
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.linalg import as_rows
from burn.ops.movement import whole, zeros
from burn.ops.op import Op
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _linear_rule(op: Op, x: Any, weight: Any, bias: Any) -> Any:
    if len(weight.shape) != 2:
        raise ShapeError(f"{op.name}: weight must have the shape (in, out), got {tuple(weight.shape)}")
    if not x.shape or x.shape[-1] != weight.shape[0]:
        raise ShapeError(
            f"{op.name}: the last dim of x {tuple(x.shape)} must be the first of weight {tuple(weight.shape)} (in, out)"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[1],):
        raise ShapeError(
            f"{op.name}: bias must have the shape ({weight.shape[1]},) for weight {tuple(weight.shape)}, "
            f"got {tuple(bias.shape)}"
        )
    return Shape((*x.shape[:-1], weight.shape[1])), x.dtype, ()


def _product(x: Any, weight: Any) -> Any:
    """Rows of any rank times a matrix."""
    if len(x.shape) == 1:
        return x.reshape((1, x.shape[0])).matmul(weight).reshape((weight.shape[1],))
    return x.matmul(weight)


@composite(
    rule=_linear_rule,
    prepare=prepared(only_floats, "x", "weight", "bias"),
    bound="compute",
    vjp=dict(
        x=lambda g, weight: _product(g, weight.transpose()),
        weight=lambda g, x: as_rows(x).transpose().matmul(as_rows(g)),
        bias=lambda g: g,
    ),
)
def linear(x: Tensor[B], weight: Tensor[Any], bias: Tensor[Any] | None = None) -> Tensor[B]:
    """Map the last dim of `x` by `weight` (in, out) and add `bias`.

    >>> from burn.tensor.module import linear
    >>> x, weight = burn.tensor([[1.0, 2.0]]), burn.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> linear(x, weight).tolist()
    [[1.0, 2.0, 3.0]]
    """
    result = _product(x, weight)
    return result if bias is None else result + bias  # type: ignore[no-any-return]


def _ints(op: Op, indices: Any) -> Any:
    if not indices.dtype.is_int:
        raise DTypeError(f"{op.name}: indices must be an int tensor, got {indices.dtype}; convert it with .int()")
    return indices


def _prepare_embedding(op: Op, operands: list[Any]) -> list[Any]:
    first, indices = operands
    return [only_floats.coerce(op, first), _ints(op, indices)]


def _embedding_rule(op: Op, weights: Any, indices: Any) -> Any:
    if len(weights.shape) != 2:
        raise ShapeError(f"{op.name}: weights must have the shape (count, size), got {tuple(weights.shape)}")
    return Shape((*indices.shape, weights.shape[1])), weights.dtype, ()


def _table_gradient(g: Any, indices: Any, weights_shape: Any) -> Any:
    return embedding_backward(g, indices, weights_shape[0])


@composite(rule=_embedding_rule, prepare=_prepare_embedding, vjp=dict(weights=_table_gradient))
def embedding(weights: Tensor[B], indices: Tensor[Any]) -> Tensor[B]:
    """Replace each of the `indices` by that row of `weights` (count, size), which adds a last dim.

    >>> from burn.tensor.module import embedding
    >>> weights = burn.tensor([[0.0, 0.5], [1.0, 1.5]])
    >>> embedding(weights, burn.tensor([[1, 0]])).tolist()
    [[[1.0, 1.5], [0.0, 0.5]]]
    """
    flat = indices.reshape((math.prod(indices.shape),))
    return weights.select(0, flat).reshape((*indices.shape, weights.shape[1]))


def _embedding_backward_rule(op: Op, gradient: Any, indices: Any, count: Any) -> Any:
    if tuple(gradient.shape[:-1]) != tuple(indices.shape):
        raise ShapeError(
            f"{op.name}: the gradient {tuple(gradient.shape)} must have the shape of indices {tuple(indices.shape)} "
            "and one more dim"
        )
    rows = whole(op.name, "count", count)
    return Shape((rows, gradient.shape[-1])), gradient.dtype, (rows,)


@composite(
    rule=_embedding_backward_rule,
    prepare=_prepare_embedding,
    vjp=dict(gradient=lambda g, indices: embedding(g, indices)),
)
def embedding_backward(gradient: Tensor[B], indices: Tensor[Any], count: int) -> Tensor[B]:
    """Add each gradient to the row its index names: the gradient of a table of `count` rows."""
    flat = indices.reshape((math.prod(indices.shape),))
    table: Any = zeros((count, gradient.shape[-1]), gradient)
    return table.select_assign(0, flat, as_rows(gradient))  # type: ignore[no-any-return]
