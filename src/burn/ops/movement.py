"""Movement: operations that only rearrange elements. Joining and cutting are in `burn.ops.joining`."""

from __future__ import annotations

import builtins
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, DataError, ShapeError, shown
from burn.ops import creation, views
from burn.ops.declare import composite, primitive
from burn.ops.op import Op
from burn.shape import Shape, as_ints, axes, axis, expanded, reshaped
from burn.symbolic import index

if TYPE_CHECKING:
    from burn.device import Device
    from burn.ops.declare import B
    from burn.shape import ShapeLike
    from burn.tensor import Tensor


def zeros(shape: Any, like: Any) -> Any:
    """Zeros of another shape, in the dtype and on the device of `like`."""
    return creation.full(0, shape, like.dtype, device=like.device)


def positions(count: int, device: Device) -> Any:
    """The numbers from 0 up to `count`, in the device's int dtype."""
    return creation.arange(0, count, 1, device.int_dtype, device=device)


def whole(operation: str, name: str, value: Any) -> int:
    """Read one int."""
    try:
        return index(value)
    except (TypeError, DataError):
        raise ArgumentError(f"{operation}: {name} must be an int, got {shown(value)}") from None


# Views


def _reshape_rule(op: Op, x: Any, shape: Any) -> Any:
    target = reshaped(x.shape, as_ints(op.name, "shape", shape), op.name)
    return target, x.dtype, (tuple(target),)


@primitive(
    rule=_reshape_rule, view=views.reshaped, reference=np.reshape, vjp=dict(x=lambda g, x_shape: g.reshape(x_shape))
)
def reshape(x: Tensor[B], *shape: ShapeLike) -> Tensor[B]:
    """Give the same elements another shape: one -1 is inferred, 0 keeps the size at its place.

    >>> burn.tensor([1, 2, 3, 4, 5, 6]).reshape([2, -1]).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    ...


def _expand_rule(op: Op, x: Any, shape: Any) -> Any:
    target = expanded(x.shape, as_ints(op.name, "shape", shape), op.name)
    return target, x.dtype, (tuple(target),)


def sum_to(g: Any, shape: Any) -> Any:
    """Sum a gradient over the dims along which `shape` was expanded to it."""
    dims = _summed(g.shape, tuple(shape))
    if dims:
        g = g.sum_dims(dims)
    return g.reshape(shape) if len(g.shape) != len(shape) else g


@functools.lru_cache(4096)
def _summed(whole: Shape, part: tuple[int, ...]) -> tuple[int, ...]:
    """The dims along which `part` was expanded to `whole`."""
    extra = len(whole) - len(part)
    return (*range(extra), *(extra + i for i, size in enumerate(part) if size == 1 and whole[extra + i] != 1))


@primitive(
    rule=_expand_rule, view=views.expanded, reference=np.broadcast_to, vjp=dict(x=lambda g, x_shape: sum_to(g, x_shape))
)
def expand(x: Tensor[B], *shape: ShapeLike) -> Tensor[B]:
    """Repeat size-1 dims without copying, up to a shape; -1 keeps a size, and new dims come first.

    >>> burn.tensor([[1], [2]]).expand([-1, 3]).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    ...


def _permute_rule(op: Op, x: Any, dims: Any) -> Any:
    order = axes(op.name, dims, len(x.shape))
    if len(order) != len(x.shape):
        raise ShapeError(
            f"{op.name}: {list(order)} must name each dim of {tuple(x.shape)} once: all {len(x.shape)} of them"
        )
    return x.shape.permute(order), x.dtype, (order,)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@primitive(
    rule=_permute_rule,
    view=views.permuted,
    reference=np.transpose,
    vjp=dict(x=lambda g, dims: g.permute(_inverse(dims))),
)
def permute(x: Tensor[B], *dims: ShapeLike) -> Tensor[B]:
    """Put the dims in another order.

    Arguments:
        dims: for each dim of the result, which dim of `x` it is.

    >>> Tensor.zeros([2, 3, 4]).permute([2, 0, 1]).shape
    Shape([4, 2, 3])
    """
    ...


def _flip_rule(op: Op, x: Any, dims: Any) -> Any:
    return x.shape, x.dtype, (axes(op.name, dims, len(x.shape)),)


@primitive(rule=_flip_rule, view=views.flipped, reference=np.flip, vjp=dict(x=lambda g, dims: g.flip(dims)))
def flip(x: Tensor[B], *dims: ShapeLike) -> Tensor[B]:
    """Reverse the order of the elements along the given dims.

    >>> burn.tensor([[1, 2], [3, 4]]).flip([1]).tolist()
    [[2, 1], [4, 3]]
    """
    ...


def _unfold_rule(op: Op, x: Any, dim: Any, size: Any, step: Any) -> Any:
    dim, size, step = axis(op.name, dim, len(x.shape)), whole(op.name, "size", size), whole(op.name, "step", step)
    if size < 1 or step < 1:
        raise ArgumentError(f"{op.name}: size and step must be 1 or more, got size={size}, step={step}")
    windows = max(0, (x.shape[dim] - size) // step + 1)
    return Shape((*x.shape.with_dim(dim, windows), size)), x.dtype, (dim, size, step)


def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    if x.shape[dim] < size:
        return np.empty((*x.shape[:dim], 0, *x.shape[dim + 1 :], size), x.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return windows[(builtins.slice(None),) * dim + (builtins.slice(None, None, step),)]


def _fold(g: Any, shape: Any, dim: int, size: int, step: int) -> Any:
    """Add the windows of a gradient back to where they came from."""
    count = g.shape[dim]
    starts = positions(count, g.device) * step
    indices = (starts.reshape((count, 1)) + positions(size, g.device)).reshape((count * size,))
    rows = g.movedim(-1, dim + 1).reshape((*shape[:dim], count * size, *shape[dim + 1 :]))
    return zeros(shape, g).select_assign(dim, indices, rows)


@primitive(
    rule=_unfold_rule,
    reference=_unfold,
    vjp=dict(x=lambda g, x_shape, dim, size, step: _fold(g, x_shape, dim, size, step)),
)
def unfold(x: Tensor[B], dim: int, size: int, step: int) -> Tensor[B]:
    """Look through windows of `size` every `step` places along a dim; the places in a window come last.

    >>> burn.tensor([1, 2, 3, 4, 5]).unfold(0, size=3, step=2).tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    ...


# The order of dims


def _swap_rule(op: Op, x: Any, dim1: Any, dim2: Any) -> Any:
    first, second = (axis(op.name, dim, len(x.shape)) for dim in (dim1, dim2))
    return x.shape.swap(first, second), x.dtype, (first, second)


@composite(rule=_swap_rule, reference=np.swapaxes)
def swap_dims(x: Tensor[B], dim1: int, dim2: int) -> Tensor[B]:
    """Exchange the dims `dim1` and `dim2`.

    >>> Tensor.zeros([2, 3, 4]).swap_dims(0, 2).shape
    Shape([4, 3, 2])
    """
    order = list(range(len(x.shape)))
    order[dim1], order[dim2] = dim2, dim1
    return permute(x, order)


def _transpose_rule(op: Op, x: Any) -> Any:
    if len(x.shape) < 2:
        raise ShapeError(f"{op.name}: {tuple(x.shape)} must have at least 2 dims, of which the last two are exchanged")
    return x.shape.swap(-1, -2), x.dtype, ()


@composite(rule=_transpose_rule, reference=lambda x: np.swapaxes(x, -1, -2))
def transpose(x: Tensor[B]) -> Tensor[B]:
    """Exchange the last two dims.

    >>> burn.tensor([[1, 2], [3, 4]]).transpose().tolist()
    [[1, 3], [2, 4]]
    """
    rank = len(x.shape)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _moved(rank: int, source: tuple[int, ...], destination: tuple[int, ...]) -> list[int]:
    order = [dim for dim in range(rank) if dim not in source]
    for target, dim in sorted(zip(destination, source, strict=True)):
        order.insert(target, dim)
    return order


def _movedim_rule(op: Op, x: Any, source: Any, destination: Any) -> Any:
    rank = len(x.shape)
    source, destination = axes(op.name, source, rank), axes(op.name, destination, rank)
    if len(source) != len(destination):
        raise ShapeError(f"{op.name}: {list(source)} and {list(destination)} must name equally many dims")
    return x.shape.permute(_moved(rank, source, destination)), x.dtype, (source, destination)


@composite(rule=_movedim_rule, reference=np.moveaxis)
def movedim(x: Tensor[B], source: Any, destination: Any) -> Tensor[B]:
    """Move dims from `source` to `destination`; the remaining ones keep their order.

    >>> Tensor.zeros([2, 3, 4]).movedim(0, -1).shape
    Shape([3, 4, 2])
    """
    return x.permute(_moved(len(x.shape), source, destination))


# Dims of size 1, and fewer dims


def _flattened(shape: Any, start: int, end: int) -> Shape:
    return Shape((*shape[:start], Shape(shape[start : end + 1]).num_elements(), *shape[end + 1 :]))


def _flatten_rule(op: Op, x: Any, start: Any, end: Any) -> Any:
    rank = max(1, len(x.shape))
    first, last = axis(op.name, start, rank), axis(op.name, end, rank)
    if first > last:
        raise ShapeError(f"{op.name}: start={start} comes after end={end} in a tensor of shape {tuple(x.shape)}")
    return _flattened(x.shape, first, last), x.dtype, (first, last)


@composite(rule=_flatten_rule)
def flatten(x: Tensor[B], start: int = 0, end: int = -1) -> Tensor[B]:
    """Make one dim of those from `start` to `end`, which is included.

    >>> Tensor.zeros([2, 3, 4]).flatten(1).shape
    Shape([2, 12])
    """
    return x.reshape(_flattened(x.shape, start, end))


def _without(shape: Any, dims: tuple[int, ...]) -> Shape:
    return Shape(size for dim, size in enumerate(shape) if dim not in dims)


def _squeezable(op: Op, x: Any, dims: Any) -> tuple[int, ...]:
    found = axes(op.name, dims, len(x.shape))
    for dim in found:
        if x.shape[dim] != 1:
            raise ShapeError(f"{op.name}: dim {dim} of {tuple(x.shape)} has size {x.shape[dim]}; only size 1 goes away")
    return found


def _squeeze_rule(op: Op, x: Any, dim: Any) -> Any:
    dims = _ones(x.shape) if dim is None else _squeezable(op, x, dim)
    return _without(x.shape, dims), x.dtype, (dims,)


def _ones(shape: Any) -> tuple[int, ...]:
    return tuple(dim for dim, size in enumerate(shape) if size == 1)


@composite(rule=_squeeze_rule, reference=np.squeeze)
def squeeze(x: Tensor[B], dim: Any = None) -> Tensor[B]:
    """Remove a dim, which must have size 1; without a dim, remove every dim of size 1.

    >>> Tensor.zeros([1, 3, 1]).squeeze().shape, Tensor.zeros([1, 3, 1]).squeeze(0).shape
    (Shape([3]), Shape([3, 1]))
    """
    return x.reshape(_without(x.shape, dim))


def _squeeze_dims_rule(op: Op, x: Any, dims: Any) -> Any:
    found = _squeezable(op, x, dims) or _ones(x.shape)
    return _without(x.shape, found), x.dtype, (found,)


@composite(rule=_squeeze_dims_rule)
def squeeze_dims(x: Tensor[B], dims: Any) -> Tensor[B]:
    """Remove `dims`, which must have size 1; an empty list means every dim of size 1.

    >>> Tensor.zeros([1, 3, 1]).squeeze_dims([0, 2]).shape
    Shape([3])
    """
    return x.reshape(_without(x.shape, dims))


def _unsqueeze_rule(op: Op, x: Any, rank: Any) -> Any:
    target = len(x.shape) + 1 if rank is None else whole(op.name, "rank", rank)
    if target < len(x.shape):
        raise ShapeError(f"{op.name}: {tuple(x.shape)} has {len(x.shape)} dims already, more than rank={rank}")
    return Shape((*(1,) * (target - len(x.shape)), *x.shape)), x.dtype, (target,)


@composite(rule=_unsqueeze_rule)
def unsqueeze(x: Tensor[B], rank: int | None = None) -> Tensor[B]:
    """Put dims of size 1 in front until there are `rank`; without a rank, put one.

    >>> Tensor.zeros([3]).unsqueeze().shape, Tensor.zeros([3]).unsqueeze(3).shape
    (Shape([1, 3]), Shape([1, 1, 3]))
    """
    assert rank is not None
    return x.reshape((*(1,) * (rank - len(x.shape)), *x.shape))


def _with_ones(shape: Any, places: tuple[int, ...]) -> Shape:
    sizes = iter(shape)
    return Shape(1 if dim in places else next(sizes) for dim in range(len(shape) + len(places)))


def _unsqueeze_dim_rule(op: Op, x: Any, dim: Any) -> Any:
    place = axis(op.name, dim, len(x.shape) + 1)
    return _with_ones(x.shape, (place,)), x.dtype, (place,)


@composite(rule=_unsqueeze_dim_rule, reference=np.expand_dims)
def unsqueeze_dim(x: Tensor[B], dim: int) -> Tensor[B]:
    """Put a dim of size 1 at `dim` of the result.

    >>> Tensor.zeros([2, 3]).unsqueeze_dim(1).shape
    Shape([2, 1, 3])
    """
    return x.reshape(_with_ones(x.shape, (dim,)))


def _unsqueeze_dims_rule(op: Op, x: Any, dims: Any) -> Any:
    wanted = as_ints(op.name, "dims", dims)
    rank = len(x.shape) + len(wanted)
    places: list[int] = []
    for dim in wanted:
        place = axis(op.name, dim, rank)
        while place in places:
            place += 1 if dim >= 0 else -1
        places.append(axis(op.name, place, rank))
    return _with_ones(x.shape, tuple(places)), x.dtype, (tuple(sorted(places)),)


@composite(rule=_unsqueeze_dims_rule)
def unsqueeze_dims(x: Tensor[B], dims: Any) -> Tensor[B]:
    """Put dims of size 1 at `dims` of the result; a repeated one moves on to the next free place.

    >>> Tensor.zeros([3]).unsqueeze_dims([0, -1]).shape
    Shape([1, 3, 1])
    """
    return x.reshape(_with_ones(x.shape, dims))


# Triangles of matrices


def diagonals(shape: Any, device: Device) -> Any:
    """For each place of a matrix, how far it lies above the main diagonal."""
    rows, columns = shape[-2:]
    return positions(columns, device) - positions(rows, device).reshape((rows, 1))


def _triangle_rule(op: Op, x: Any, diagonal: Any) -> Any:
    if len(x.shape) < 2:
        raise ShapeError(f"{op.name}: {tuple(x.shape)} must have at least 2 dims: the last two are the matrices")
    return x.shape, x.dtype, (whole(op.name, "diagonal", diagonal),)


@composite(rule=_triangle_rule, reference=np.tril, vjp=dict(x=lambda g, diagonal: g.tril(diagonal)))
def tril(x: Tensor[B], diagonal: int = 0) -> Tensor[B]:
    """Keep the lower triangle of the last two dims, and put 0 elsewhere.

    Arguments:
        diagonal: the last that is kept; above the main one where positive.

    >>> burn.tensor([[1, 2], [3, 4]]).tril().tolist()
    [[1, 0], [3, 4]]
    """
    return x.mask_fill(diagonals(x.shape, x.device).greater(diagonal), 0)


@composite(rule=_triangle_rule, reference=np.triu, vjp=dict(x=lambda g, diagonal: g.triu(diagonal)))
def triu(x: Tensor[B], diagonal: int = 0) -> Tensor[B]:
    """Keep the upper triangle of the last two dims, and put 0 elsewhere.

    Arguments:
        diagonal: the first that is kept; above the main one where positive.

    >>> burn.tensor([[1, 2], [3, 4]]).triu().tolist()
    [[1, 2], [0, 4]]
    """
    return x.mask_fill(diagonals(x.shape, x.device).lower(diagonal), 0)
