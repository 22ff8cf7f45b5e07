"""Choices along a dim and shapes that follow another tensor: the last of equal extremes, diagonals, broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.dtype import dtype as as_dtype
from burn.errors import ShapeError
from burn.ops.declare import composite, numeric, prepared
from burn.ops.movement import diagonals, whole
from burn.ops.op import Op
from burn.ops.reduce import refuse_empty
from burn.shape import Shape, as_ints, axis, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _position_rule(op: Op, x: Any, dim: Any) -> Any:
    place = axis(op.name, dim, len(x.shape))
    refuse_empty(op, x, (place,))
    return x.shape.with_dim(place, 1), x.device.int_dtype, (place,)


@composite(rule=_position_rule, prepare=prepared(numeric))
def argmax_last(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the index of the largest element along a dim; of equal ones, the last.

    >>> burn.tensor([1, 3, 3]).argmax_last(0).tolist()
    [2]
    """
    return (x.detach().flip([dim]).argmax(dim) * -1) + (x.shape[dim] - 1)


@composite(rule=_position_rule, prepare=prepared(numeric))
def argmin_last(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the index of the smallest element along a dim; of equal ones, the last.

    >>> burn.tensor([1, 1, 3]).argmin_last(0).tolist()
    [1]
    """
    return (x.detach().flip([dim]).argmin(dim) * -1) + (x.shape[dim] - 1)


def _eye_rule(op: Op, x: Any, diagonal: Any, dtype: Any) -> Any:
    if len(x.shape) != 2:
        raise ShapeError(f"{op.name}: needs a matrix, got shape {tuple(x.shape)}")
    target = x.dtype if dtype is None else as_dtype(dtype)
    return x.shape, target, (whole(op.name, "diagonal", diagonal), target)


@composite(rule=_eye_rule)
def eye_like(x: Tensor[B], diagonal: int = 0, dtype: Any = None) -> Tensor[B]:
    """Make a matrix of the shape of `x` with 1 on a diagonal and 0 elsewhere.

    Arguments:
        diagonal: above the main one where positive, below it where negative.

    >>> burn.tensor([[5.0, 5.0], [5.0, 5.0]]).eye_like(diagonal=1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return diagonals(x.shape, x.device).equal(diagonal).cast(dtype)  # type: ignore[no-any-return]


def _broadcast_rule(op: Op, x: Any, shape: Any) -> Any:
    target = broadcast(op.name, x.shape, Shape(as_ints(op.name, "shape", shape)))
    return target, x.dtype, (tuple(target),)


@composite(rule=_broadcast_rule)
def broadcast_with(x: Tensor[B], shape: Any) -> Tensor[B]:
    """Repeat dims so that `x` and a tensor of `shape` would broadcast to the result: a 1 in `shape` keeps a size.

    >>> burn.tensor([[1], [2]]).broadcast_with((1, 3)).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    return x.expand(shape)
