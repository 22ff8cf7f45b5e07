"""Reductions: many elements to one. A reduced dim is kept with size 1; a full reduction has shape [1].

The primitives reduce a tuple of dims. NaN wins every maximum and minimum, and of equal elements the
first one is chosen.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import HALVES, bool_, f32, from_numpy, i64, u64
from burn.errors import ShapeError
from burn.ops import movement
from burn.ops.declare import anything, composite, numeric, prepared, primitive
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.shape import Shape, axes, axis
from burn.symbolic import is_symbolic

if TYPE_CHECKING:
    from burn.device import Device
    from burn.ops.declare import B
    from burn.tensor import Tensor

    Dims = int | Sequence[int]

# Rules and references


def reduced(op: Op, x: Any, dims: Any) -> tuple[Shape, tuple[int, ...]]:
    """The shape with size 1 at the reduced dims, and these sorted and counted from the front."""
    found = tuple(sorted(axes(op.name, dims, len(x.shape))))
    return Shape(1 if dim in found else size for dim, size in enumerate(x.shape)), found


def reduction_rule(op: Op, x: Any, dims: Any) -> Any:
    """The rule of a row that reduces `dims` and keeps the dtype."""
    shape, found = reduced(op, x, dims)
    return shape, x.dtype, (found,)


def _truth_rule(op: Op, x: Any, dims: Any) -> Any:
    shape, found = reduced(op, x, dims)
    return shape, bool_, (found,)


def refuse_empty(op: Op, x: Any, dims: Sequence[int]) -> None:
    """Nothing can be chosen from no elements."""
    for dim in dims:
        if x.shape[dim] == 0:
            raise ShapeError(f"{op.name}: dim {dim} of {tuple(x.shape)} is empty: there is nothing to choose from")


def _choice_rule(op: Op, x: Any, dims: Any) -> Any:
    shape, found = reduced(op, x, dims)
    refuse_empty(op, x, found)
    return shape, x.dtype, (found,)


def _largest_rule(op: Op, x: Any, dim: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    refuse_empty(op, x, (found,))
    return x.shape.with_dim(found, 1), x.dtype, (found,)


def _position_rule(op: Op, x: Any, dim: Any) -> Any:
    shape, _, attributes = _largest_rule(op, x, dim)
    return shape, x.device.int_dtype, attributes


def choice_with_index_rule(op: Op, x: Any, dim: Any) -> Any:
    """One element along a dim, and its index."""
    shape, dtype, attributes = _largest_rule(op, x, dim)
    return [shape, shape], [dtype, x.device.int_dtype], attributes


def accumulator(x: Any) -> Any:
    """The NumPy dtype in which sums of `x` are kept: f32 for half precision, otherwise its own."""
    return f32.numpy if from_numpy(x.dtype) in HALVES else x.dtype


def _accumulated(function: Any) -> Callable[[Any, tuple[int, ...]], Any]:
    """A NumPy reduction whose running value has the accumulator's dtype."""

    def reference(x: Any, dims: tuple[int, ...]) -> Any:
        return function(x, axis=dims, keepdims=True, dtype=accumulator(x)).astype(x.dtype, copy=False)

    return reference


def _chosen(function: Any) -> Callable[[Any, tuple[int, ...]], Any]:
    """A NumPy reduction that picks one of the elements."""
    return lambda x, dims: function(x, axis=dims, keepdims=True)


def _truth(function: Any) -> Callable[[Any, tuple[int, ...]], Any]:
    return lambda x, dims: function(x.astype(bool, copy=False), axis=dims, keepdims=True)


def _position(function: Any) -> Callable[[Any, int], Any]:
    return lambda x, dim: function(x, axis=dim, keepdims=True)


# Gradients


def places(dim: int, shape: Shape, device: Device) -> Any:
    """The indices of a dim, shaped to broadcast along it."""
    sizes = [size if each == dim else 1 for each, size in enumerate(shape)]
    return movement.positions(shape[dim], device).reshape(sizes)


def at_position(g: Any, index: Any, dim: int, shape: Shape) -> Any:
    """A gradient placed at the chosen index of a dim, and 0 elsewhere."""
    elsewhere = places(dim, shape, g.device).not_equal(index)
    return g.expand(shape).mask_fill(elsewhere, 0.0)


def _shared(g: Any, x: Any, out: Any, dims: tuple[int, ...]) -> Any:
    """A gradient split evenly among the elements that equal the result."""
    winners = x.equal(out).cast(g.dtype)
    return g * winners / winners.sum_dims(dims)


def _product_of_others(x: Any, dims: tuple[int, ...]) -> Any:
    """For each element, the product of all others that are reduced with it: exact where some are 0."""
    if len(dims) == 1:
        return _others_along(x, dims[0])
    kept = [dim for dim in range(len(x.shape)) if dim not in dims]
    order = [*kept, *dims]
    moved = x.permute(order)
    flat = moved.reshape([*(x.shape[dim] for dim in kept), Shape(x.shape[dim] for dim in dims).num_elements()])
    others = _others_along(flat, len(kept)).reshape(moved.shape)
    return others.permute([order.index(dim) for dim in range(len(order))])


def _others_along(x: Any, dim: int) -> Any:
    before = _products_before(x, dim)
    after = _products_before(x.flip([dim]), dim).flip([dim])
    return before * after


def _products_before(x: Any, dim: int) -> Any:
    """The product of what comes before each element; 1 for the first."""
    first = places(dim, x.shape, x.device).equal(0)
    return x.roll_dim(1, dim).mask_fill(first, 1.0).cumprod(dim)


# Primitives


@primitive(
    rule=reduction_rule,
    reference=_accumulated(np.sum),
    reduction="sum",
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x_shape: g.expand(x_shape)),
)
def sum_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Sum along several dims, which are kept with size 1.

    >>> burn.tensor([[1, 2], [3, 4]]).sum_dims([0, 1]).tolist()
    [[10]]
    """
    ...


@primitive(
    rule=reduction_rule,
    reference=_accumulated(np.prod),
    reduction="prod",
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x, dims: g * _product_of_others(x, dims) if dims else g),
)
def prod_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Multiply along several dims, which are kept with size 1.

    >>> burn.tensor([[1, 2], [3, 4]]).prod_dims([0, 1]).tolist()
    [[24]]
    """
    ...


@primitive(
    rule=_choice_rule, reference=_chosen(np.max), reduction="max", prepare=prepared(numeric), vjp=dict(x=_shared)
)
def max_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Take the largest element along several dims; equal elements share the gradient.

    >>> burn.tensor([[1, 2], [3, 4]]).max_dims([0, 1]).tolist()
    [[4]]
    """
    ...


@primitive(
    rule=_choice_rule, reference=_chosen(np.min), reduction="min", prepare=prepared(numeric), vjp=dict(x=_shared)
)
def min_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Take the smallest element along several dims; equal elements share the gradient.

    >>> burn.tensor([[1, 2], [3, 4]]).min_dims([0, 1]).tolist()
    [[1]]
    """
    ...


@primitive(rule=_truth_rule, reference=_truth(np.any), reduction="any", prepare=prepared(anything))
def any_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Tell whether any element along several dims is not zero.

    >>> burn.tensor([[0, 0], [0, 4]]).any_dims([0, 1]).tolist()
    [[True]]
    """
    ...


@primitive(rule=_truth_rule, reference=_truth(np.all), reduction="all", prepare=prepared(anything))
def all_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Tell whether no element along several dims is zero.

    >>> burn.tensor([[0, 1], [3, 4]]).all_dims([0, 1]).tolist()
    [[False]]
    """
    ...


@primitive(rule=_position_rule, reference=_position(np.argmax), prepare=prepared(numeric))
def argmax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the index of the largest element along a dim: the first NaN, else the first of equal ones."""
    ...


@primitive(rule=_position_rule, reference=_position(np.argmin), prepare=prepared(numeric))
def argmin(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the index of the smallest element along a dim: the first NaN, else the first of equal ones."""
    ...


# Sums, products and means


def _everything(x: Any) -> range:
    return range(len(x.shape))


@composite()
def sum(x: Tensor[B]) -> Tensor[B]:
    """Sum all elements into a tensor of shape [1]."""
    return x.sum_dims(_everything(x)).reshape((1,))


@composite()
def sum_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sum along a dim, which is kept with size 1.

    >>> burn.tensor([[1, 2], [3, 4]]).sum_dim(1).tolist()
    [[3], [7]]
    """
    return x.sum_dims(axis("sum_dim", dim, len(x.shape)))


@composite()
def sum_dims_squeeze(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Sum along several dims and drop them.

    >>> burn.tensor([[1, 2], [3, 4]]).sum_dims_squeeze([1]).tolist()
    [3, 7]
    """
    found = axes("sum_dims_squeeze", dims, len(x.shape))
    return x.sum_dims(found).reshape([size for dim, size in enumerate(x.shape) if dim not in found])


@composite()
def prod(x: Tensor[B]) -> Tensor[B]:
    """Multiply all elements into a tensor of shape [1]."""
    return x.prod_dims(_everything(x)).reshape((1,))


@composite()
def prod_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Multiply along a dim, which is kept with size 1.

    >>> burn.tensor([[1, 2], [3, 4]]).prod_dim(1).tolist()
    [[2], [12]]
    """
    return x.prod_dims(axis("prod_dim", dim, len(x.shape)))


def widened(x: Any) -> Any:
    """Half precision as f32, so that intermediate results neither overflow nor lose digits."""
    return x.cast(f32) if x.dtype in HALVES else x


def _count(shape: Shape, result: Shape) -> int:
    """How many elements went into each element of a result."""
    return shape.num_elements() // builtins.max(result.num_elements(), 1)


def _divisor(shape: Shape, result: Shape) -> Any:
    """The same as what a mean divides by: a float, or a size that may be another one."""
    count = _count(shape, result)
    return count if is_symbolic((count,)) else float(count)


@composite(
    rule=reduction_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x_shape: (g / (_divisor(x_shape, g.shape) or 1.0)).expand(x_shape)),
)
def mean_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Average along several dims, which are kept with size 1. Integers are truncated towards zero.

    >>> burn.tensor([[1.0, 2.0], [3.0, 4.0]]).mean_dims([0, 1]).tolist()
    [[2.5]]
    """
    if x.dtype.is_float:
        total = widened(x).sum_dims(dims)
        return cast_to(total / _divisor(x.shape, total.shape), x.dtype)
    total = (x if x.dtype is u64 else cast_to(x, i64)).sum_dims(dims)
    return cast_to(total.div(_count(x.shape, total.shape)), x.dtype)


@composite()
def mean_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Average along a dim, which is kept with size 1. Integers are truncated towards zero.

    >>> burn.tensor([[1.0, 2.0], [3.0, 4.0]]).mean_dim(1).tolist()
    [[1.5], [3.5]]
    """
    return x.mean_dims(axis("mean_dim", dim, len(x.shape)))


@composite()
def mean(x: Tensor[B]) -> Tensor[B]:
    """Average all elements into a tensor of shape [1]. Integers are truncated towards zero."""
    return x.mean_dims(_everything(x)).reshape((1,))


# Choices


@composite()
def max(x: Tensor[B]) -> Tensor[B]:
    """Take the largest of all elements; equal elements share the gradient."""
    return x.max_dims(_everything(x)).reshape((1,))


@composite()
def min(x: Tensor[B]) -> Tensor[B]:
    """Take the smallest of all elements; equal elements share the gradient."""
    return x.min_dims(_everything(x)).reshape((1,))


@composite(
    rule=_largest_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x, dim: at_position(g, x.argmax(dim), dim, x.shape)),
)
def max_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the largest element along a dim; the first of equal ones gets the gradient.

    >>> burn.tensor([[1, 2], [3, 4]]).max_dim(1).tolist()
    [[2], [4]]
    """
    return x.max_dims(dim)


@composite(
    rule=_largest_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x, dim: at_position(g, x.argmin(dim), dim, x.shape)),
)
def min_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the smallest element along a dim; the first of equal ones gets the gradient.

    >>> burn.tensor([[1, 2], [3, 4]]).min_dim(1).tolist()
    [[1], [3]]
    """
    return x.min_dims(dim)


@composite(
    rule=choice_with_index_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, out, x_shape, dim: at_position(g[0], out[1], dim, x_shape)),
    outputs=2,
)
def max_dim_with_indices(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element along a dim, and its index.

    >>> [each.tolist() for each in burn.tensor([[1, 2], [4, 3]]).max_dim_with_indices(1)]
    [[[2], [4]], [[1], [0]]]
    """
    indices = x.argmax(dim)
    return x.gather(dim, indices), indices


@composite(
    rule=choice_with_index_rule,
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, out, x_shape, dim: at_position(g[0], out[1], dim, x_shape)),
    outputs=2,
)
def min_dim_with_indices(x: Tensor[B], dim: int) -> tuple[Tensor[B], Tensor[B]]:
    """Take the smallest element along a dim, and its index.

    >>> [each.tolist() for each in burn.tensor([[1, 2], [4, 3]]).min_dim_with_indices(1)]
    [[[1], [3]], [[0], [1]]]
    """
    indices = x.argmin(dim)
    return x.gather(dim, indices), indices


@composite()
def max_abs(x: Tensor[B]) -> Tensor[B]:
    """Take the largest absolute value of all elements.

    >>> burn.tensor([1, -5, 3]).max_abs().tolist()
    [5]
    """
    return x.abs().max()


@composite()
def max_abs_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the largest absolute value along a dim.

    >>> burn.tensor([[1, -5], [3, 2]]).max_abs_dim(1).tolist()
    [[5], [3]]
    """
    return x.abs().max_dim(dim)


@composite()
def max_abs_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Take the largest absolute value along several dims.

    >>> burn.tensor([[1, -5], [3, 2]]).max_abs_dims([0, 1]).tolist()
    [[5]]
    """
    return x.abs().max_dims(dims)


# Truth


@composite()
def any(x: Tensor[B]) -> Tensor[B]:
    """Tell whether any element is not zero."""
    return x.any_dims(_everything(x)).reshape((1,))


@composite()
def any_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Tell whether any element along a dim is not zero.

    >>> burn.tensor([[0, 0], [0, 4]]).any_dim(1).tolist()
    [[False], [True]]
    """
    return x.any_dims(axis("any_dim", dim, len(x.shape)))


@composite()
def all(x: Tensor[B]) -> Tensor[B]:
    """Tell whether no element is zero."""
    return x.all_dims(_everything(x)).reshape((1,))


@composite()
def all_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Tell whether no element along a dim is zero.

    >>> burn.tensor([[0, 1], [3, 4]]).all_dim(1).tolist()
    [[False], [True]]
    """
    return x.all_dims(axis("all_dim", dim, len(x.shape)))


@composite()
def contains_nan(x: Tensor[B]) -> Tensor[B]:
    """Tell whether any element is NaN.

    >>> burn.tensor([1.0, np.nan]).contains_nan().tolist()
    [True]
    """
    return x.not_equal(x).any()


@composite(reference=lambda x, y, rtol, atol: np.isclose(x, y, rtol, atol))
def is_close(x: Tensor[B], y: Tensor[B] | float, *, rtol: float = 1e-5, atol: float = 1e-8) -> Tensor[B]:
    """Tell where `|x - y| <= atol + rtol * |y|`. Equal infinities are close, NaN never is.

    >>> burn.tensor([1.0, 2.0]).is_close(burn.tensor([1.0, 2.1])).tolist()
    [True, False]
    """
    difference: Any = (x - y).abs().float()
    size: Any = builtins.abs(y)
    near = difference.lower_equal(size * rtol + atol) & difference.is_finite()
    return x.equal(y) | near  # type: ignore[no-any-return]
