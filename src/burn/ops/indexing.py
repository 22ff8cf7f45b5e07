"""Indexing: reading and writing parts of a tensor, by ranges, by index values and by truth values.

A range is `(start, size, step)`: the elements `start`, `start + step` and so on, `size` of them. Both
Burn's slices and NumPy's become such ranges, so one primitive serves both. Nothing is written in
place: the rows that write give a new tensor.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import INTS, bool_
from burn.errors import ArgumentError, AutodiffError, DTypeError, IndexingError, ShapeError
from burn.ops import creation
from burn.ops import indexing_references as reference
from burn.ops.declare import composite, primitive
from burn.ops.dispatch import as_element, filling, promoted
from burn.ops.movement import positions, whole, zeros
from burn.ops.op import Op
from burn.ops.views import sliced
from burn.shape import Shape, axis
from burn.symbolic import index

if TYPE_CHECKING:
    from burn.ops.declare import B, Operand
    from burn.tensor import Tensor


class IndexingUpdateOp(StrEnum):
    """How written values meet what is there. The names in lower case mean the same.

    >>> from burn.tensor import IndexingUpdateOp
    >>> x = burn.tensor([1, 2, 3])
    >>> x.scatter(0, burn.tensor([0]), burn.tensor([7]), IndexingUpdateOp.Assign).tolist()
    [7, 2, 3]
    """

    Assign = "assign"
    Add = "add"
    Mul = "mul"
    Min = "min"
    Max = "max"


def _update(op: Op, x: Any, update: Any) -> str:
    try:
        chosen = IndexingUpdateOp(update).value
    except ValueError:
        names = ", ".join(repr(each.value) for each in IndexingUpdateOp)
        raise ArgumentError(f"{op.name}: update must be one of {names}, got {update!r}") from None
    if chosen != "assign" and not x.dtype.is_arithmetic:
        raise DTypeError(
            f"{op.name}: {x.dtype} only stores values; use update='assign', or cast first with .cast('f32')"
        )
    return chosen


def _check_indices(op: Op, indices: Any) -> None:
    if not hasattr(indices, "dtype"):
        raise DTypeError(f"{op.name}: indices must be a Tensor, got {indices!r}; write burn.tensor([{indices!r}])")
    if indices.dtype not in INTS:
        raise DTypeError(f"{op.name}: indices must be an int tensor, got {indices.dtype}; convert it with .int()")


# By ranges


def one_range(shape: Any, dim: int, chosen: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Ranges that keep every dim whole but one."""
    return [chosen if place == dim else (0, size, 1) for place, size in enumerate(shape)]


def _normal_ranges(op: Op, shape: Any, ranges: Any) -> tuple[tuple[int, int, int], ...]:
    try:
        listed = [(index(start), index(size), index(step)) for start, size, step in ranges]
    except (TypeError, ValueError):
        listed = None
    if listed is None or len(listed) != len(shape):
        raise ArgumentError(
            f"{op.name}: ranges must be one (start, size, step) for each dim of {tuple(shape)}, got {ranges!r}"
        )
    for dim, (start, size, step) in enumerate(listed):
        last = start + (size - 1) * step
        if size < 0 or step == 0 or (size > 0 and not (0 <= start < shape[dim] and 0 <= last < shape[dim])):
            raise ShapeError(
                f"{op.name}: (start, size, step) = {(start, size, step)} reaches outside dim {dim} of size {shape[dim]}"
            )
    return tuple((start, size, step) if size else (0, 0, 1) for start, size, step in listed)


def _slice_rule(op: Op, x: Any, ranges: Any) -> Any:
    found = _normal_ranges(op, x.shape, ranges)
    return Shape(size for _, size, _ in found), x.dtype, (found,)


def _put_back(g: Any, x_shape: Any, ranges: Any) -> Any:
    return slice_assign(zeros(x_shape, g), ranges, g)


@primitive(rule=_slice_rule, view=sliced, reference=reference.slice, vjp=dict(x=_put_back))
def slice(x: Tensor[B], ranges: Any) -> Tensor[B]:
    """Read a range of each dim, given as (start, size, step); `Tensor.slice` takes Burn's forms."""
    ...


def _check_tensor(op: Op, values: Any, hint: str) -> None:
    if not hasattr(values, "shape"):
        raise DTypeError(f"{op.name}: values must be a Tensor, got {values!r}; {hint}")


def _slice_assign_rule(op: Op, x: Any, values: Any, ranges: Any) -> Any:
    found = _normal_ranges(op, x.shape, ranges)
    expected = Shape(size for _, size, _ in found)
    _check_tensor(op, values, "slice_fill takes numbers")
    if values.shape != expected:
        raise ShapeError(
            f"{op.name}: values have shape {tuple(values.shape)} and the slice {tuple(expected)}; "
            f"write values.expand({list(expected)}) to repeat them"
        )
    return x.shape, x.dtype, (found,)


def _blank(g: Any, ranges: Any) -> Any:
    return slice_fill(g, ranges, 0.0)


@primitive(
    rule=_slice_assign_rule,
    reference=reference.slice_assign,
    prepare=promoted("x", "values"),
    vjp=dict(x=_blank, values=lambda g, ranges: slice(g, ranges)),
)
def slice_assign(x: Tensor[B], ranges: Any, values: Tensor[B]) -> Tensor[B]:
    """Write values over a range of each dim, given as (start, size, step)."""
    ...


def _slice_fill_rule(op: Op, x: Any, value: Any, ranges: Any) -> Any:
    return x.shape, x.dtype, (_normal_ranges(op, x.shape, ranges),)


@composite(rule=_slice_fill_rule, prepare=filling("value"), vjp=dict(x=_blank))
def slice_fill(x: Tensor[B], ranges: Any, value: Operand) -> Tensor[B]:
    """Write one number over a range of each dim, given as (start, size, step)."""
    values = creation.full(value, (1,) * len(ranges), x.dtype, device=x.device)
    return slice_assign(x, ranges, values.expand([size for _, size, _ in ranges]))


def _select_dim_rule(op: Op, x: Any, dim: Any, index: Any) -> Any:
    dim, index = axis(op.name, dim, len(x.shape)), whole(op.name, "index", index)
    size = x.shape[dim]
    if not -size <= index < size:
        raise IndexingError(f"{op.name}: index {index} is out of range for dim {dim} of size {size}")
    return x.shape.remove(dim), x.dtype, (dim, index % size)


@composite(rule=_select_dim_rule, reference=lambda x, dim, index: np.take(x, index, axis=dim))
def select_dim(x: Tensor[B], dim: int, index: int) -> Tensor[B]:
    """Read one place of a dim, which goes away.

    Arguments:
        index: counted from the end where it is negative.

    >>> burn.tensor([[1, 2], [3, 4]]).select_dim(1, -1).tolist()
    [2, 4]
    """
    return slice(x, one_range(x.shape, dim, (index, 1, 1))).reshape(x.shape.remove(dim))


# By index values


def _select_rule(op: Op, x: Any, indices: Any, dim: Any) -> Any:
    dim = axis(op.name, dim, len(x.shape))
    _check_indices(op, indices)
    if len(indices.shape) != 1:
        raise ShapeError(
            f"{op.name}: indices must have one dim, got shape {tuple(indices.shape)}; x.take({dim}, indices) takes any"
        )
    return x.shape.with_dim(dim, indices.shape[0]), x.dtype, (dim,)


def _add_rows(g: Any, indices: Any, x_shape: Any, dim: int) -> Any:
    return select_assign(zeros(x_shape, g), dim, indices, g)


@primitive(rule=_select_rule, reference=reference.select, vjp=dict(x=_add_rows))
def select(x: Tensor[B], dim: int, indices: Tensor[Any]) -> Tensor[B]:
    """Read whole slices along a dim, one for each of the indices.

    >>> burn.tensor([[1, 2], [3, 4]]).select(1, burn.tensor([1, 1, 0])).tolist()
    [[2, 2, 1], [4, 4, 3]]
    """
    ...


def _no_gradient(operation: str, update: str) -> AutodiffError:
    return AutodiffError(
        f"{operation}: update={update!r} passes no gradient, only 'add' and 'assign' do; detach the operands"
    )


def _kept(operation: str, g: Any, update: str, erased: Callable[[], Any]) -> Any:
    """The gradient of what was there: all of it under addition, none of it where values were assigned."""
    if update in ("mul", "min", "max"):
        raise _no_gradient(operation, update)
    return g if update == "add" else erased()


def _written(operation: str, update: str, read: Callable[[], Any]) -> Any:
    """The gradient of written values: what is read at their places."""
    if update in ("mul", "min", "max"):
        raise _no_gradient(operation, update)
    return read()


def _select_assign_rule(op: Op, x: Any, indices: Any, values: Any, dim: Any, update: Any) -> Any:
    expected, _, (dim,) = _select_rule(op, x, indices, dim)
    _check_values(op, values, expected)
    return x.shape, x.dtype, (dim, _update(op, x, update))


def _check_values(op: Op, values: Any, expected: Any) -> None:
    if not hasattr(values, "shape"):  # showing a tensor would read it
        _check_tensor(op, values, f"write Tensor.full({list(expected)}, {values!r}, x.device)")
    if values.shape != expected:
        raise ShapeError(f"{op.name}: values have shape {tuple(values.shape)}, the indices ask for {tuple(expected)}")


def _without_rows(g: Any, indices: Any, values_shape: Any, dim: int, update: str) -> Any:
    return _kept("select_assign", g, update, lambda: select_assign(g, dim, indices, zeros(values_shape, g), "assign"))


@primitive(
    rule=_select_assign_rule,
    reference=reference.select_assign,
    prepare=promoted("x", "values"),
    vjp=dict(
        x=_without_rows,
        values=lambda g, indices, dim, update: _written("select_assign", update, lambda: select(g, dim, indices)),
    ),
)
def select_assign(x: Tensor[B], dim: int, indices: Tensor[Any], values: Tensor[B], update: Any = "add") -> Tensor[B]:
    """Add values to whole slices along a dim, or combine them as `update` says.

    Indices may repeat. Under "assign" it is then undefined which of the values stays.

    >>> x = burn.tensor([[1, 2], [3, 4]])
    >>> x.select_assign(0, burn.tensor([1]), burn.tensor([[10, 20]])).tolist()
    [[1, 2], [13, 24]]
    """
    ...


def _check_gather(op: Op, x: Any, indices: Any, dim: Any) -> int:
    place = axis(op.name, dim, len(x.shape))
    _check_indices(op, indices)
    if len(indices.shape) != len(x.shape) or any(
        size > x.shape[other] for other, size in enumerate(indices.shape) if other != place
    ):
        raise ShapeError(
            f"{op.name}: indices of shape {tuple(indices.shape)} do not fit {tuple(x.shape)}: "
            f"they need as many dims, none longer except dim {place}"
        )
    return place


def _gather_rule(op: Op, x: Any, indices: Any, dim: Any) -> Any:
    return indices.shape, x.dtype, (_check_gather(op, x, indices, dim),)


def _add_elements(g: Any, indices: Any, x_shape: Any, dim: int) -> Any:
    return scatter(zeros(x_shape, g), dim, indices, g)


@primitive(rule=_gather_rule, reference=reference.gather, vjp=dict(x=_add_elements))
def gather(x: Tensor[B], dim: int, indices: Tensor[Any]) -> Tensor[B]:
    """Read one element for each of the `indices`: along `dim` at the index, along other dims at its own place.

    >>> burn.tensor([[1, 2], [3, 4]]).gather(1, burn.tensor([[1], [0]])).tolist()
    [[2], [3]]
    """
    ...


def _scatter_rule(op: Op, x: Any, indices: Any, values: Any, dim: Any, update: Any) -> Any:
    dim = _check_gather(op, x, indices, dim)
    _check_values(op, values, indices.shape)
    return x.shape, x.dtype, (dim, _update(op, x, update))


def _without_elements(g: Any, indices: Any, values_shape: Any, dim: int, update: str) -> Any:
    return _kept("scatter", g, update, lambda: scatter(g, dim, indices, zeros(values_shape, g), "assign"))


@primitive(
    rule=_scatter_rule,
    reference=reference.scatter,
    prepare=promoted("x", "values"),
    vjp=dict(
        x=_without_elements,
        values=lambda g, indices, dim, update: _written("scatter", update, lambda: gather(g, dim, indices)),
    ),
)
def scatter(x: Tensor[B], dim: int, indices: Tensor[Any], values: Tensor[B], update: Any = "add") -> Tensor[B]:
    """Add each of the `values` to one element: along `dim` at its index, along other dims at its own place.

    Arguments:
        indices: of the shape of `values`; they may repeat.
        update: "add", "mul", "min", "max" or "assign". Under "assign" it is undefined which of several values stays.

    >>> x = burn.tensor([[0, 0], [0, 0]])
    >>> x.scatter(1, burn.tensor([[1], [0]]), burn.tensor([[5], [6]])).tolist()
    [[0, 5], [6, 0]]
    """
    ...


def _check_tuples(op: Op, x: Any, indices: Any) -> Shape:
    _check_indices(op, indices)
    if not indices.shape or not 1 <= indices.shape[-1] <= len(x.shape):
        raise ShapeError(
            f"{op.name}: the last dim of indices holds one index for each leading dim of {tuple(x.shape)}: "
            f"it must have size 1 to {len(x.shape)}, got indices of shape {tuple(indices.shape)}"
        )
    return Shape((*indices.shape[:-1], *x.shape[indices.shape[-1] :]))


def _gather_nd_rule(op: Op, x: Any, indices: Any) -> Any:
    return _check_tuples(op, x, indices), x.dtype, ()


def _add_slices(g: Any, indices: Any, x_shape: Any) -> Any:
    return scatter_nd(zeros(x_shape, g), indices, g, "add")


@primitive(rule=_gather_nd_rule, reference=reference.gather_nd, vjp=dict(x=_add_slices))
def gather_nd(x: Tensor[B], indices: Tensor[Any]) -> Tensor[B]:
    """Read one slice for each tuple of indices; the tuples lie along the last dim.

    >>> burn.tensor([[1, 2], [3, 4]]).gather_nd(burn.tensor([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """
    ...


def _scatter_nd_rule(op: Op, x: Any, indices: Any, values: Any, update: Any) -> Any:
    _check_values(op, values, _check_tuples(op, x, indices))
    return x.shape, x.dtype, (_update(op, x, update),)


def _without_slices(g: Any, indices: Any, values_shape: Any, update: str) -> Any:
    return _kept("scatter_nd", g, update, lambda: scatter_nd(g, indices, zeros(values_shape, g), "assign"))


@primitive(
    rule=_scatter_nd_rule,
    reference=reference.scatter_nd,
    prepare=promoted("x", "values"),
    vjp=dict(
        x=_without_slices,
        values=lambda g, indices, update: _written("scatter_nd", update, lambda: gather_nd(g, indices)),
    ),
)
def scatter_nd(x: Tensor[B], indices: Tensor[Any], values: Tensor[B], update: Any) -> Tensor[B]:
    """Combine `values` with the slices that tuples of `indices` address.

    Arguments:
        update: "add", "mul", "min", "max" or "assign".

    >>> x = burn.tensor([[1, 2], [3, 4]])
    >>> x.scatter_nd(burn.tensor([[0, 1], [1, 0]]), burn.tensor([10, 20]), "add").tolist()
    [[1, 12], [23, 4]]
    """
    ...


def _take_rule(op: Op, x: Any, indices: Any, dim: Any) -> Any:
    dim = axis(op.name, dim, len(x.shape))
    _check_indices(op, indices)
    return Shape((*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])), x.dtype, (dim,)


@composite(rule=_take_rule, reference=lambda x, indices, dim: np.take(x, indices, axis=dim))
def take(x: Tensor[B], dim: int, indices: Tensor[Any]) -> Tensor[B]:
    """Read whole slices along a dim; the dims of the indices, however many, take its place.

    >>> burn.tensor([10, 20, 30]).take(0, burn.tensor([[0, 2], [1, 1]])).tolist()
    [[10, 30], [20, 20]]
    """
    found = select(x, dim, indices.reshape((math.prod(indices.shape),)))
    return found.reshape((*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :]))


# By truth values


def _truths(op: Op, operands: list[Any]) -> list[Any]:
    return [operands[0].bool()]


@primitive(
    rule=lambda op, x: (None, x.device.int_dtype, ()),
    reference=np.argwhere,
    prepare=_truths,
)
def argwhere(x: Tensor[B]) -> Tensor[B]:
    """Find the elements that are not zero: one row of indices for each, in row-major order.

    >>> burn.tensor([[0, 7], [8, 0]]).argwhere().tolist()
    [[0, 1], [1, 0]]
    """
    ...


@composite()
def nonzero(x: Tensor[B]) -> list[Tensor[B]]:
    """Find the elements that are not zero: for each dim, their indices along it.

    >>> [each.tolist() for each in burn.tensor([[0, 7], [8, 0]]).nonzero()]
    [[0, 1], [1, 0]]
    """
    found = argwhere(x)
    return [select_dim(found, 1, dim) for dim in builtins.range(len(x.shape))]


def _mask_select_rule(op: Op, x: Any, mask: Any) -> Any:
    given = getattr(mask, "dtype", type(mask).__name__)
    if given is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {given}; write mask.bool()")
    if mask.shape != x.shape:
        raise ShapeError(
            f"{op.name}: the mask has shape {tuple(mask.shape)} and the tensor {tuple(x.shape)}; "
            f"write mask.expand({list(x.shape)}) to repeat it"
        )
    return None, x.dtype, ()


@composite(rule=_mask_select_rule)
def mask_select(x: Tensor[B], mask: Tensor[Any]) -> Tensor[B]:
    """Read the elements where the mask is true, in row-major order, into one dim.

    >>> x = burn.tensor([[1, 5], [7, 2]])
    >>> x.mask_select(x > 2).tolist()
    [5, 7]
    """
    size = math.prod(x.shape)
    found = argwhere(mask.reshape((size,)))
    return select(x.reshape((size,)), 0, found.reshape((found.shape[0],)))


# Classes as vectors


def _one_hot_rule(op: Op, x: Any, num_classes: Any) -> Any:
    shape, dtype, (count, *_) = _one_hot_fill_rule(op, x, num_classes, 1, 0, -1)
    return shape, dtype, (count,)


@composite(rule=_one_hot_rule)
def one_hot(x: Tensor[B], num_classes: int) -> Tensor[B]:
    """Turn each class number into a vector that is 1 at its place and 0 elsewhere.

    A number outside the classes is an error; `one_hot_fill` counts negative ones from the end and passes over others.

    Arguments:
        num_classes: the length of the vectors.

    >>> burn.tensor([0, 2]).one_hot(3).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    classes = x.cast(x.device.int_dtype).reshape((-1,))
    try:
        known: Any = select(positions(num_classes, x.device), 0, classes)
    except IndexingError as error:
        raise reference.not_a_class("one_hot", error) from None
    return one_hot_fill(known.reshape(x.shape).cast(x.dtype), num_classes, 1, 0, -1)


def _one_hot_fill_rule(op: Op, x: Any, num_classes: Any, on_value: Any, off_value: Any, axis_: Any) -> Any:
    count = whole(op.name, "num_classes", num_classes)
    place = axis(op.name, axis_, len(x.shape) + 1)
    if count < 1:
        raise ArgumentError(f"{op.name}: num_classes must be 1 or more, got {count}")
    if x.dtype is bool_:
        raise DTypeError(f"{op.name}: needs class numbers, got bool; convert it with .int()")
    for name, value in (("on_value", on_value), ("off_value", off_value)):
        if x.dtype in INTS and float(value) != int(value):
            raise DTypeError(f"{op.name}: {name}={value} does not fit {x.dtype}; convert the classes with .float()")
    values = (as_element(on_value, x.dtype), as_element(off_value, x.dtype))
    return x.shape.insert(place, count), x.dtype, (count, *values, place)


@composite(rule=_one_hot_fill_rule)
def one_hot_fill(
    x: Tensor[B], num_classes: int, on_value: int | float, off_value: int | float, axis: int = -1
) -> Tensor[B]:
    """Turn each class number into a vector along a new dim: `on_value` at its place, `off_value` elsewhere.

    A negative number counts from the last class; one outside the classes has no place.

    Arguments:
        num_classes: the length of the vectors.
        axis: where the new dim is.

    >>> burn.tensor([0, 2]).one_hot_fill(3, 5, -1).tolist()
    [[5, -1, -1], [-1, -1, 5]]
    """
    classes = x.cast(x.device.int_dtype)
    classes = classes.mask_where(classes.lower(0), classes + num_classes).unsqueeze_dim(axis)
    names = positions(num_classes, x.device).reshape((num_classes,) + (1,) * (len(x.shape) - axis))
    off = creation.full(off_value, (), x.dtype, device=x.device)
    return off.mask_fill(classes.equal(names), on_value)
