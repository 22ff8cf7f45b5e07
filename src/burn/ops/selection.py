"""Selection: what is kept, put in another order or written, by conditions, lengths and index values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import INTS, bool_
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops import indexing
from burn.ops.constants import constant
from burn.ops.declare import anything, composite, hosted, numeric, prepared
from burn.ops.dispatch import promoted
from burn.ops.joining import cat
from burn.ops.movement import positions, whole
from burn.ops.op import Op
from burn.ops.reduce import places
from burn.shape import Shape, as_ints, axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _check_ints(op: Op, name: str, value: Any) -> None:
    given = getattr(value, "dtype", type(value).__name__)
    if given not in INTS:
        raise DTypeError(f"{op.name}: {name} must be an int tensor, got {given}; convert it with .int()")


# Index values


def _wrap_rule(op: Op, x: Any, size: Any) -> Any:
    _check_ints(op, "x", x)
    lengths = as_ints(op.name, "size", size)
    if min(lengths, default=0) < 0:
        raise ArgumentError(f"{op.name}: size must be 0 or more, got {list(lengths)}")
    if isinstance(size, int):
        return x.shape, x.dtype, lengths
    if not x.shape or x.shape[-1] != len(lengths):
        raise ShapeError(f"{op.name}: {len(lengths)} sizes for tuples of indices of shape {tuple(x.shape)}")
    return x.shape, x.dtype, (lengths,)


@composite(rule=_wrap_rule, reference=lambda x, size: np.where(x < 0, x + np.asarray(size, x.dtype), x))
def wrap_indices(x: Tensor[B], size: Any) -> Tensor[B]:
    """Count negative index values from the end of a dim of `size`, as Python does.

    Where tuples of indices lie along the last dim, `size` is one number for each of them.

    >>> burn.tensor([0, -1]).wrap_indices(5).tolist()
    [0, 4]
    """
    if x.dtype.is_uint:
        return x
    ends = size if isinstance(size, int) else constant(size, x.dtype, x.device)
    return x.mask_where(x.lower(0), x + ends)


def _compress_rule(op: Op, x: Any, condition: Any, dim: Any) -> Any:
    if getattr(condition, "dtype", None) is not bool_ or len(condition.shape) != 1:
        given = f"{condition.dtype} of shape {tuple(condition.shape)}"
        raise DTypeError(f"{op.name}: condition must be a bool tensor of one dim, got {given}")
    place = None if dim is None else axis(op.name, dim, len(x.shape))
    size = math.prod(x.shape) if place is None else x.shape[place]
    if condition.shape[0] > size:
        raise ShapeError(f"{op.name}: {condition.shape[0]} truth values for {size} elements of x {tuple(x.shape)}")
    return None, x.dtype, (place,)


@composite(rule=_compress_rule)
def compress(x: Tensor[B], condition: Tensor[Any], dim: int | None = None) -> Tensor[B]:
    """Keep the slices along a dim where `condition` is true; without a dim, elements of the flattened tensor.

    A condition that ends early keeps nothing of what comes after it.

    >>> burn.tensor([[1, 2], [3, 4]]).compress(burn.tensor([False, True]), dim=0).tolist()
    [[3, 4]]
    """
    if dim is None:
        x, dim = x.reshape((math.prod(x.shape),)), 0
    found = indexing.argwhere(condition)
    return indexing.select(x, dim, found.reshape((found.shape[0],)))


def _reverse_rule(op: Op, x: Any, lengths: Any, time_dim: Any, batch_dim: Any) -> Any:
    _check_ints(op, "lengths", lengths)
    time, batch = axis(op.name, time_dim, len(x.shape)), axis(op.name, batch_dim, len(x.shape))
    if time == batch:
        raise ArgumentError(f"{op.name}: time_dim and batch_dim must differ, both are {time}")
    if tuple(lengths.shape) != (x.shape[batch],):
        raise ShapeError(
            f"{op.name}: lengths must have the shape ({x.shape[batch]},), one for each item of dim {batch} of "
            f"{tuple(x.shape)}, got {tuple(lengths.shape)}"
        )
    return x.shape, x.dtype, (time, batch)


@composite(rule=_reverse_rule)
def reverse_sequence(x: Tensor[B], lengths: Tensor[Any], time_dim: int = 0, batch_dim: int = 1) -> Tensor[B]:
    """Turn around the first `lengths[i]` steps of each item; what comes after them stays where it is.

    Arguments:
        time_dim: the dim of the steps.
        batch_dim: the dim of the items.

    >>> x = burn.tensor([[1, 2, 3], [4, 5, 6]])
    >>> x.reverse_sequence(burn.tensor([3, 2]), time_dim=1, batch_dim=0).tolist()
    [[3, 2, 1], [5, 4, 6]]
    """
    step = places(time_dim, x.shape, x.device)
    shape = [size if dim == batch_dim else 1 for dim, size in enumerate(x.shape)]
    length: Any = lengths.cast(x.device.int_dtype).reshape(shape)
    turned = (length - 1) - step
    index = turned.mask_where(turned.lower(0), step + length.zeros_like())
    return indexing.gather(x, time_dim, index.expand(x.shape))


def _batched_rule(op: Op, x: Any, indices: Any, batch_dims: Any) -> Any:
    _check_ints(op, "indices", indices)
    count = whole(op.name, "batch_dims", batch_dims)
    if not 0 <= count < min(len(x.shape), len(indices.shape)):
        raise ArgumentError(
            f"{op.name}: batch_dims must be 0 or more and below the ranks of x {tuple(x.shape)} and "
            f"indices {tuple(indices.shape)}, got {count}"
        )
    if x.shape[:count] != indices.shape[:count]:
        raise ShapeError(
            f"{op.name}: the first {count} dims of x {tuple(x.shape)} and indices {tuple(indices.shape)} must be equal"
        )
    depth = indices.shape[-1]
    if not 1 <= depth <= len(x.shape) - count:
        raise ShapeError(
            f"{op.name}: tuples of {depth} indices for the {len(x.shape) - count} dims of x {tuple(x.shape)} "
            f"after the batch"
        )
    return Shape((*indices.shape[:-1], *x.shape[count + depth :])), x.dtype, (count,)


@composite(rule=_batched_rule)
def gather_nd_batched(x: Tensor[B], indices: Tensor[Any], batch_dims: int = 0) -> Tensor[B]:
    """Read one slice for each tuple of `indices`, in the item of the first `batch_dims` dims that the tuple lies in.

    >>> x = burn.tensor([[1, 2], [3, 4]])
    >>> x.gather_nd_batched(burn.tensor([[1], [0]]), batch_dims=1).tolist()
    [2, 3]
    """
    if not batch_dims:
        return indexing.gather_nd(x, indices)
    last = len(indices.shape) - 1
    index: Any = indices.cast(x.device.int_dtype)
    columns = []
    for dim in range(batch_dims):
        shape = [size if place == dim else 1 for place, size in enumerate(indices.shape)]
        own = positions(indices.shape[dim], x.device).reshape(shape)
        columns.append(own.expand(indices.shape.with_dim(last, 1)))
    return indexing.gather_nd(x, cat([*columns, index], last))


def _cache_rule(op: Op, x: Any, values: Any, starts: Any, dim: Any, circular: Any) -> Any:
    place = axis(op.name, dim, len(x.shape))
    if place == 0:
        raise ArgumentError(f"{op.name}: dim must not be 0, which is the batch")
    if len(values.shape) != len(x.shape) or any(
        (mine > own if at == place else mine != own)
        for at, (own, mine) in enumerate(zip(x.shape, values.shape, strict=False))
    ):
        raise ShapeError(
            f"{op.name}: values {tuple(values.shape)} must have the shape of x {tuple(x.shape)}, "
            f"only dim {place} may be shorter"
        )
    if starts is not None:
        _check_ints(op, "starts", starts)
        if tuple(starts.shape) != (x.shape[0],):
            raise ShapeError(f"{op.name}: starts must have the shape ({x.shape[0]},), got {tuple(starts.shape)}")
    return x.shape, x.dtype, (place, bool(circular))


@composite(rule=_cache_rule, prepare=promoted("x", "values"))
def write_cache(
    x: Tensor[B], values: Tensor[B], starts: Tensor[Any] | None = None, dim: int = -2, circular: bool = False
) -> Tensor[B]:
    """Write `values` over part of a dim, for each item of the batch from its own start on.

    Arguments:
        starts: where to begin, a number for each item; 0 without.
        circular: whether what reaches beyond the end goes on at the front.

    >>> cache = Tensor.zeros([1, 3, 2])
    >>> cache.write_cache(burn.tensor([[[1.0, 2.0]]]), burn.tensor([1])).tolist()
    [[[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]]
    """
    steps = places(dim, values.shape, x.device)
    if starts is not None:
        steps = steps + starts.cast(x.device.int_dtype).reshape((x.shape[0],) + (1,) * (len(x.shape) - 1))
    if circular:
        steps = steps % x.shape[dim]
    return indexing.scatter(x, dim, steps.expand(values.shape), values, "assign")


def _classes_rule(op: Op, x: Any, values: Any, num_classes: Any, dim: Any) -> Any:
    count = whole(op.name, "num_classes", num_classes)
    if count < 0:
        raise ArgumentError(f"{op.name}: num_classes must be 0 or more, got {count}")
    if x.dtype is bool_:
        raise DTypeError(f"{op.name}: needs class numbers, got bool; convert it with .int()")
    if tuple(values.shape) != (2,):
        raise ShapeError(f"{op.name}: values must have the shape (2,): off and on; got {tuple(values.shape)}")
    place = axis(op.name, dim, len(x.shape) + 1)
    return x.shape.insert(place, count), values.dtype, (count, place)


@composite(rule=_classes_rule)
def one_hot_values(x: Tensor[B], values: Tensor[Any], num_classes: int, dim: int = -1) -> Tensor[B]:
    """Turn each class number into a vector along a new dim: `values[1]` at its place, `values[0]` elsewhere.

    A negative number counts from the last class; one outside the classes has no place.

    Arguments:
        num_classes: the length of the vectors.
        dim: where the new dim is.

    >>> burn.tensor([0, 2]).one_hot_values(burn.tensor([-1, 5]), 3).tolist()
    [[5, -1, -1], [-1, -1, 5]]
    """
    classes: Any = wrap_indices(x.cast(x.device.int_dtype), num_classes).unsqueeze_dim(dim)
    names = positions(num_classes, x.device).reshape((num_classes,) + (1,) * (len(x.shape) - dim))
    hot = classes.equal(names)
    off, on = (values.narrow(0, at, 1).reshape((1,) * len(hot.shape)) for at in range(2))
    return off.mask_where(hot, on)


# Distinct elements


def _unique_rule(op: Op, x: Any, dim: Any, in_order: Any, index_dtype: Any) -> Any:
    place = None if dim is None else axis(op.name, dim, len(x.shape))
    dtype = x.device.int_dtype if index_dtype is None else as_dtype(index_dtype)
    return [None] * 4, [x.dtype, dtype, dtype, dtype], (place, bool(in_order), dtype)


def _unique(x: Any, dim: int | None, in_order: bool, index_dtype: Any) -> Any:
    keys = x.astype(np.float32) if x.dtype.kind == "V" else x
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(-1)
    if not in_order:
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        first, inverse, counts = first[order], rank[inverse], counts[order]
    values = np.take(x.reshape(-1), first) if dim is None else np.take(x, first, axis=dim)
    return values, *(each.astype(index_dtype.numpy) for each in (first, inverse, counts))


@hosted(rule=_unique_rule, reference=_unique, prepare=prepared(anything), outputs=4)
def unique(
    x: Tensor[B], dim: int | None = None, in_order: bool = True, index_dtype: Any = None
) -> tuple[Tensor[B], Tensor[B], Tensor[B], Tensor[B]]:
    """Find the distinct elements, or along a dim the distinct slices.

    Gives them, the index at which each comes first, for each element which one it is, and how often each occurs.

    Arguments:
        in_order: sorted, or as they come first.
        index_dtype: the dtype of what is counted.

    >>> [each.tolist() for each in burn.tensor([3, 1, 3]).unique()]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    ...


# The largest and the smallest


def _top_rule(op: Op, x: Any, k: Any, dim: Any, largest: Any, in_order: Any) -> Any:
    place, count = axis(op.name, dim, len(x.shape)), whole(op.name, "k", k)
    if not 0 <= count <= x.shape[place]:
        size = x.shape[place]
        raise ArgumentError(f"{op.name}: k must be between 0 and {size}, the size of dim {place}, got {count}")
    shape = x.shape.with_dim(place, count)
    return [shape, shape], [x.dtype, x.device.int_dtype], (count, place, bool(largest), bool(in_order))


@composite(rule=_top_rule, prepare=prepared(numeric), outputs=2)
def extremes_with_indices(
    x: Tensor[B], k: int, dim: int = -1, largest: bool = True, in_order: bool = True
) -> tuple[Tensor[B], Tensor[B]]:
    """Take the `k` largest (or smallest) elements along a dim and tell where each came from.

    Of equal elements the first one is taken first. They come in order whether `in_order` asks or not.

    >>> [each.tolist() for each in burn.tensor([3, 1, 2]).extremes_with_indices(2, largest=False)]
    [[1, 2], [1, 2]]
    """
    if largest:
        return x.topk_with_indices(k, dim)
    values, order = x.sort_with_indices(dim)
    return values.narrow(dim, 0, k), order.narrow(dim, 0, k)
