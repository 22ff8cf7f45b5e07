"""Order: sorting, the largest elements, the middle one. NaN counts as larger than everything."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import HALVES, f32, from_numpy
from burn.errors import ArgumentError
from burn.ops import movement
from burn.ops.declare import composite, numeric, prepared, primitive
from burn.ops.op import Op
from burn.ops.reduce import at_position, choice_with_index_rule
from burn.shape import axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _sort_rule(op: Op, x: Any, dim: Any, descending: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    return [x.shape, x.shape], [x.dtype, x.device.int_dtype], (found, bool(descending))


def _order(x: Any, dim: int, descending: bool) -> Any:
    """The indices that sort `x`; equal elements stay in their order."""
    keys = x.astype(f32.numpy) if from_numpy(x.dtype) in HALVES else x
    if not descending:
        return np.argsort(keys, axis=dim, kind="stable")
    backward = np.argsort(np.flip(keys, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(backward, dim)


def _sort_reference(x: Any, dim: int, descending: bool) -> Any:
    indices = _order(x, dim, descending)
    return np.take_along_axis(x, indices, dim), indices


@primitive(
    rule=_sort_rule,
    reference=_sort_reference,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, out, dim: g[0].zeros_like().scatter(dim, out[1], g[0])),
    outputs=2,
)
def sort_with_indices(x: Tensor[B], dim: int, descending: bool = False) -> tuple[Tensor[B], Tensor[B]]:
    """Sort along a dim, and tell where each element came from. Equal elements keep their order.

    Arguments:
        descending: largest first.

    >>> [each.tolist() for each in burn.tensor([3, 1, 2]).sort_with_indices(0)]
    [[1, 2, 3], [1, 2, 0]]
    """
    ...


def _top_rule(op: Op, x: Any, k: Any, dim: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    try:
        count = operator.index(k)
    except TypeError:
        raise ArgumentError(f"{op.name}: k must be an int, got {k!r}") from None
    if not 0 <= count <= x.shape[found]:
        size = x.shape[found]
        raise ArgumentError(f"{op.name}: k must be between 0 and {size}, the size of dim {found}, got {count}")
    shape = x.shape.with_dim(found, count)
    return [shape, shape], [x.dtype, x.device.int_dtype], (count, found)


def _top_reference(x: Any, k: int, dim: int) -> Any:
    indices = np.take(_order(x, dim, True), np.arange(k), axis=dim)
    return np.take_along_axis(x, indices, dim), indices


@primitive(
    rule=_top_rule,
    reference=_top_reference,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, out, x_shape, dim: movement.zeros(x_shape, g[0]).scatter(dim, out[1], g[0])),
    outputs=2,
)
def topk_with_indices(x: Tensor[B], k: int, dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Take the `k` largest elements along a dim, largest first, and tell where each came from.

    >>> [each.tolist() for each in burn.tensor([3, 1, 2]).topk_with_indices(2, 0)]
    [[3, 2], [0, 2]]
    """
    ...


@composite()
def sort(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sort along a dim, smallest first.

    >>> burn.tensor([[3, 1], [2, 4]]).sort(1).tolist()
    [[1, 3], [2, 4]]
    """
    return x.sort_with_indices(dim)[0]


@composite()
def sort_descending(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sort along a dim, largest first.

    >>> burn.tensor([3, 1, 2]).sort_descending(0).tolist()
    [3, 2, 1]
    """
    return x.sort_descending_with_indices(dim)[0]


@composite()
def sort_descending_with_indices(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Sort along a dim, largest first, and tell where each element came from.

    >>> [each.tolist() for each in burn.tensor([3, 1, 2]).sort_descending_with_indices(0)]
    [[3, 2, 1], [0, 2, 1]]
    """
    return x.sort_with_indices(dim, True)


@composite()
def argsort(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the indices that sort along a dim, smallest first.

    >>> burn.tensor([3, 1, 2]).argsort(0).tolist()
    [1, 2, 0]
    """
    return x.detach().sort_with_indices(dim)[1]


@composite()
def argsort_descending(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the indices that sort along a dim, largest first.

    >>> burn.tensor([3, 1, 2]).argsort_descending(0).tolist()
    [0, 2, 1]
    """
    return x.detach().sort_with_indices(dim, True)[1]


@composite()
def topk(x: Tensor[B], k: int, dim: int) -> Tensor[B]:
    """Take the `k` largest elements along a dim, largest first.

    >>> burn.tensor([3, 1, 2]).topk(2, 0).tolist()
    [3, 2]
    """
    return x.topk_with_indices(k, dim)[0]


@composite()
def argtopk(x: Tensor[B], k: int, dim: int) -> Tensor[B]:
    """Find the indices of the `k` largest elements along a dim, largest first.

    >>> burn.tensor([3, 1, 2]).argtopk(2, 0).tolist()
    [0, 2]
    """
    return x.detach().topk_with_indices(k, dim)[1]


@composite(
    rule=choice_with_index_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, out, x_shape, dim: at_position(g[0], out[1], dim, x_shape)),
    outputs=2,
)
def median_with_indices(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Take the middle element along a dim (the lower of two), and its index. A NaN is the middle of all.

    >>> [each.tolist() for each in burn.tensor([4, 1, 3, 2]).median_with_indices(0)]
    [[2], [3]]
    """
    values, order = x.sort_with_indices(dim)
    size = x.shape[dim]
    indices = order.narrow(dim, (size - 1) // 2, 1)
    if x.dtype.is_float:
        has_nan = values.narrow(dim, size - 1, 1).is_nan()
        indices = indices.mask_where(has_nan, x.argmax(dim))
    return x.gather(dim, indices), indices


@composite()
def median(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the middle element along a dim; the lower of two, and NaN if there is one.

    >>> burn.tensor([4, 1, 3, 2]).median(0).tolist()
    [2]
    """
    return x.median_with_indices(dim)[0]
