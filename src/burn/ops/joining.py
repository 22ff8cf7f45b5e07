"""Joining and cutting: one tensor of several, and several of one."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops import creation, indexing
from burn.ops.declare import composite, primitive
from burn.ops.dispatch import filling, promoted, remembered
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.shape import Shape, as_ints, axis

if TYPE_CHECKING:
    from burn.ops.declare import B, Operand
    from burn.tensor import Tensor


# Joining


def _at_least_one(op: Op, tensors: list[Any]) -> list[Any]:
    if not tensors:
        raise ArgumentError(f"{op.name}: needs at least one tensor, got an empty list")
    return promoted()(op, tensors)  # type: ignore[no-any-return]


def _cat_rule(op: Op, tensors: Any, dim: Any) -> Any:
    first = tensors[0].shape
    dim = axis(op.name, dim, len(first))
    for index, each in enumerate(tensors):
        if len(each.shape) != len(first):
            raise ShapeError(
                f"{op.name}: tensors[0] has shape {tuple(first)} and tensors[{index}] {tuple(each.shape)}: "
                f"{len(first)} != {len(each.shape)} dims"
            )
        for place, (left, right) in enumerate(zip(first, each.shape, strict=True)):
            if place != dim and left != right:
                raise ShapeError(
                    f"{op.name}: tensors[0] has shape {tuple(first)} and tensors[{index}] {tuple(each.shape)}: "
                    f"{left} != {right} at dim {place}, and only dim {dim} may differ"
                )
    return first.with_dim(dim, sum(each.shape[dim] for each in tensors)), tensors[0].dtype, (dim,)


def _parts(g: Any, shapes: Any, dim: int) -> list[Any]:
    return g.split_with_sizes([shape[dim] for shape in shapes], dim)  # type: ignore[no-any-return]


@primitive(
    rule=_cat_rule,
    reference=lambda tensors, dim: np.concatenate(tensors, axis=dim),
    prepare=_at_least_one,
    vjp=dict(tensors=lambda g, tensors_shape, dim: _parts(g, tensors_shape, dim)),
)
def cat(tensors: Sequence[Tensor[B]], dim: int = 0) -> Tensor[B]:
    """Join `tensors` along a dim; the other dims must be equal.

    >>> Tensor.cat([burn.tensor([[1, 2]]), burn.tensor([[3, 4]])], dim=1).tolist()
    [[1, 2, 3, 4]]
    """
    ...


def stack(tensors: Sequence[Tensor[B]], dim: int = 0) -> Tensor[B]:
    """Join `tensors` of one shape along a new dim.

    >>> Tensor.stack([burn.tensor([1, 2]), burn.tensor([3, 4])], dim=1).tolist()
    [[1, 3], [2, 4]]
    """
    if not hasattr(tensors, "__iter__"):
        raise ArgumentError(
            f"stack: tensors must be a list of tensors, got {type(tensors).__name__}; write stack([x, y])"
        )
    listed = list(tensors)
    for index, each in enumerate(listed):
        if getattr(each, "shape", None) != listed[0].shape:
            shapes = f"tensors[0] has shape {tuple(listed[0].shape)} and tensors[{index}] {tuple(each.shape)}"
            raise ShapeError(f"stack: all shapes must be equal: {shapes}")
    if not listed:
        raise ArgumentError("stack: needs at least one tensor, got an empty list")
    place = axis("stack", dim, len(listed[0].shape) + 1)
    return cat([each.unsqueeze_dim(place) for each in listed], place)


# Repeating and rolling


def _repeat_rule(op: Op, x: Any, sizes: Any) -> Any:
    times = as_ints(op.name, "sizes", sizes)
    if len(times) > len(x.shape) or any(each < 0 for each in times):
        raise ShapeError(
            f"{op.name}: sizes={list(times)} must be at most {len(x.shape)} numbers of 0 or more, "
            f"one for each dim of {tuple(x.shape)}"
        )
    times += (1,) * (len(x.shape) - len(times))
    return Shape(size * count for size, count in zip(x.shape, times, strict=True)), x.dtype, (times,)


@composite(rule=_repeat_rule)
def repeat(x: Tensor[B], sizes: Any) -> Tensor[B]:
    """Lay copies side by side: `sizes[i]` of them along dim `i`; dims without a size stay as they are.

    >>> burn.tensor([[1, 2]]).repeat([2, 2]).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    apart = [size for each in x.shape for size in (1, each)]
    tiled = [size for each, times in zip(x.shape, sizes, strict=True) for size in (times, each)]
    whole = [size * times for size, times in zip(x.shape, sizes, strict=True)]
    return x.reshape(apart).expand(tiled).reshape(whole)


def _repeat_dim_rule(op: Op, x: Any, dim: Any, times: Any) -> Any:
    dim, times = axis(op.name, dim, len(x.shape)), whole(op.name, "times", times)
    if times < 0:
        raise ShapeError(f"{op.name}: times must be 0 or more, got {times}")
    return x.shape.with_dim(dim, x.shape[dim] * times), x.dtype, (dim, times)


@composite(rule=_repeat_dim_rule)
def repeat_dim(x: Tensor[B], dim: int, times: int) -> Tensor[B]:
    """Lay `times` copies side by side along a dim.

    >>> burn.tensor([[1, 2]]).repeat_dim(0, 3).tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
    return x.repeat([times if place == dim else 1 for place in range(len(x.shape))])


def _roll_rule(op: Op, x: Any, shifts: Any, dims: Any) -> Any:
    offsets, places = as_ints(op.name, "shifts", shifts), as_ints(op.name, "dims", dims)
    if len(offsets) != len(places):
        raise ArgumentError(
            f"{op.name}: shifts={list(offsets)} and dims={list(places)} must have the same length: "
            f"{len(offsets)} != {len(places)}"
        )
    totals: dict[int, int] = {}
    for offset, place in zip(offsets, places, strict=True):
        dim = axis(op.name, place, len(x.shape))
        totals[dim] = totals.get(dim, 0) + offset
    found = tuple(sorted(totals))
    return x.shape, x.dtype, (tuple(totals[dim] % max(1, x.shape[dim]) for dim in found), found)


@composite(
    rule=_roll_rule,
    reference=lambda x, shifts, dims: np.roll(x, shifts, dims),
    vjp=dict(x=lambda g, shifts, dims: g.roll([-each for each in shifts], dims)),
)
def roll(x: Tensor[B], shifts: Any, dims: Any) -> Tensor[B]:
    """Move elements along `dims`; what leaves at one end comes in at the other.

    Arguments:
        shifts: how far along each dim, backwards where negative. Repeated dims add up.

    >>> burn.tensor([1, 2, 3, 4]).roll([1], [0]).tolist()
    [4, 1, 2, 3]
    """
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if shift:
            x = cat([narrow(x, dim, size - shift, shift), narrow(x, dim, 0, size - shift)], dim)
    return x


def _roll_dim_rule(op: Op, x: Any, shift: Any, dim: Any) -> Any:
    (shift,), (dim,) = _roll_rule(op, x, shift, dim)[2]
    return x.shape, x.dtype, (shift, dim)


@composite(rule=_roll_dim_rule, reference=np.roll)
def roll_dim(x: Tensor[B], shift: int, dim: int) -> Tensor[B]:
    """Move elements by `shift` along one dim; what leaves at one end comes in at the other.

    >>> burn.tensor([1, 2, 3, 4]).roll_dim(-1, 0).tolist()
    [2, 3, 4, 1]
    """
    return x.roll([shift], [dim])


# Padding

MODES = ("constant", "reflect", "edge")


def _pad_rule(op: Op, x: Any, value: Any, pads: Any, mode: Any) -> Any:
    if mode not in MODES:
        raise ArgumentError(f"{op.name}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    pairs = _pairs(op, pads)
    if len(pairs) > len(x.shape):
        raise ShapeError(f"{op.name}: {len(pairs)} pairs of paddings for a tensor of shape {tuple(x.shape)}")
    first = len(x.shape) - len(pairs)
    pairs = ((0, 0),) * first + pairs
    sizes = []
    for dim, (size, (before, after)) in enumerate(zip(x.shape, pairs, strict=True)):
        if before < 0 or after < 0:
            raise ShapeError(f"{op.name}: paddings must be 0 or more, got {(before, after)} at dim {dim}")
        if mode == "reflect" and max(before, after) >= max(size, 1):
            raise ShapeError(f"{op.name}: reflecting {max(before, after)} elements needs a dim longer than {size}")
        if mode == "edge" and not size and before + after:
            raise ShapeError(f"{op.name}: dim {dim} of {tuple(x.shape)} is empty: it has no edge to repeat")
        sizes.append(before + size + after)
    return Shape(sizes), x.dtype, (pairs, mode)


def _pairs(op: Op, pads: Any) -> tuple[tuple[int, int], ...]:
    """Pairs for the last dims; four numbers are left, right, top and bottom of the last two."""
    try:
        listed = [as_ints(op.name, "pads", each) for each in pads]
    except TypeError:
        listed = []
    if len(listed) == 4 and all(len(each) == 1 for each in listed):
        (left,), (right,), (top,), (bottom,) = listed
        return (top, bottom), (left, right)
    if not listed or any(len(each) != 2 for each in listed):
        raise ArgumentError(
            f"{op.name}: pads must be (left, right, top, bottom) or a list of (before, after) pairs "
            f"for the last dims, got {pads!r}"
        )
    return tuple((before, after) for before, after in listed)


@composite(rule=_pad_rule, prepare=filling("value"))
def pad(x: Tensor[B], pads: Any, value: Operand = 0.0, mode: str = "constant") -> Tensor[B]:
    """Add elements around the last dims.

    Arguments:
        pads: a pair (before, after) for each of the last dims, or (left, right, top, bottom).
        value: what is added in mode "constant".
        mode: "constant", "reflect" (without the edge) or "edge" (the edge repeated).

    >>> burn.tensor([1, 2]).pad([(2, 1)]).tolist()
    [0, 0, 1, 2, 0]
    """
    if mode == "constant":
        sizes = [before + size + after for size, (before, after) in zip(x.shape, pads, strict=True)]
        ranges = [(before, size, 1) for size, (before, _) in zip(x.shape, pads, strict=True)]
        whole = creation.full(value, sizes, x.dtype, device=x.device)
        return indexing.slice_assign(whole, ranges, x)
    for dim, (before, after) in enumerate(pads):
        if before or after:
            x = cat([*_border(x, dim, before, mode, 0), x, *_border(x, dim, after, mode, -1)], dim)
    return x


def _border(x: Any, dim: int, count: int, mode: str, side: int) -> list[Any]:
    """What stands beside `x` at its front (`side` 0) or its back (-1)."""
    if not count:
        return []
    size = x.shape[dim]
    if mode == "edge":
        return [narrow(x, dim, side % size, 1).expand(x.shape.with_dim(dim, count))]
    return [narrow(x, dim, 1 if side == 0 else size - 1 - count, count).flip([dim])]


# Cutting


def _narrow_rule(op: Op, x: Any, dim: Any, start: Any, length: Any) -> Any:
    dim = axis(op.name, dim, len(x.shape))
    start, length = whole(op.name, "start", start), whole(op.name, "length", length)
    if start < 0 or length < 0 or start + length > x.shape[dim]:
        raise ShapeError(f"{op.name}: start={start}, length={length} reach outside dim {dim} of size {x.shape[dim]}")
    return x.shape.with_dim(dim, length), x.dtype, (dim, start, length)


@composite(rule=_narrow_rule)
def narrow(x: Tensor[B], dim: int, start: int, length: int) -> Tensor[B]:
    """Keep `length` elements of a dim from `start` on.

    >>> burn.tensor([1, 2, 3, 4]).narrow(0, 1, 2).tolist()
    [2, 3]
    """
    return indexing.slice(x, indexing.one_range(x.shape, dim, (start, length, 1)))


def _filling(operation: str, x: Any, sizes: Any, dim: Any) -> tuple[tuple[int, ...], int]:
    """Sizes that fill a dim, and which one."""
    found, place = as_ints(operation, "sizes", sizes), axis(operation, dim, len(x.shape))
    if any(size < 0 for size in found) or sum(found) != x.shape[place]:
        raise ShapeError(
            f"{operation}: {list(found)} must be sizes of 0 or more that add up to {x.shape[place]}, "
            f"the size of dim {place} of {tuple(x.shape)}"
        )
    return found, place


def _cut_rule(op: Op, x: Any, sizes: Any, dim: Any) -> Any:
    found, place = _filling(op.name, x, sizes, dim)
    return [x.shape.with_dim(place, size) for size in found], [x.dtype] * len(found), (found, place)


def _rejoined(g: Any, x_shape: Any, sizes: Any, dim: int) -> Any:
    """The gradients of the parts side by side, zeros for parts that nobody used."""
    like = next(each for each in g if each is not None)

    def blank(size: int) -> Any:
        return creation.full(0.0, x_shape.with_dim(dim, size), like.dtype, device=like.device)

    return cat([blank(size) if each is None else each for each, size in zip(g, sizes, strict=True)], dim)


# One operation for all parts: its gradient is one join, where that of many slices would be a sum of as many tensors.
@composite(rule=remembered(_cut_rule), vjp=dict(x=_rejoined), bound="compute", outputs=2)
def cut(x: Tensor[B], sizes: Any, dim: int = 0) -> tuple[Tensor[B], ...]:
    """Cut a dim into parts of the given sizes, which must fill it."""
    starts = accumulate(sizes, initial=0)
    return tuple(
        indexing.slice(x, indexing.one_range(x.shape, dim, (start, size, 1))) for start, size in zip(starts, sizes)
    )


@composite()
def split_with_sizes(x: Tensor[B], split_sizes: Any, dim: int = 0) -> list[Tensor[B]]:
    """Cut a dim into parts of `split_sizes`, which must fill it.

    >>> [each.tolist() for each in burn.tensor([1, 2, 3]).split_with_sizes([1, 2])]
    [[1], [2, 3]]
    """
    return list(cut(x, *_filling("split_with_sizes", x, split_sizes, dim)))


@composite()
def split(x: Tensor[B], split_size: int, dim: int = 0) -> list[Tensor[B]]:
    """Cut a dim into parts of `split_size`; the last one may be smaller.

    >>> [each.tolist() for each in burn.tensor([1, 2, 3, 4, 5]).split(2)]
    [[1, 2], [3, 4], [5]]
    """
    if hasattr(split_size, "__len__") and not hasattr(split_size, "handle"):
        raise ArgumentError(f"split: split_size is one int, got {split_size}; write x.split_with_sizes({split_size})")
    dim, split_size = axis("split", dim, len(x.shape)), whole("split", "split_size", split_size)
    size = x.shape[dim]
    if split_size < 0 or (split_size == 0 and size):
        raise ArgumentError(f"split: split_size must be 1 or more, got {split_size}")
    starts = builtins.range(0, size, split_size) if size else [0]
    return list(cut(x, [min(split_size, size - start) for start in starts], dim))


@composite()
def chunk(x: Tensor[B], chunks: int, dim: int = 0) -> list[Tensor[B]]:
    """Cut a dim into at most `chunks` parts of equal size; the last one may be smaller, or missing.

    >>> [each.tolist() for each in burn.tensor([1, 2, 3, 4, 5]).chunk(2)]
    [[1, 2, 3], [4, 5]]
    """
    dim, chunks = axis("chunk", dim, len(x.shape)), whole("chunk", "chunks", chunks)
    if chunks < 1:
        raise ArgumentError(f"chunk: chunks must be 1 or more, got {chunks}")
    if not x.shape[dim]:
        return [x] * chunks
    return split(x, -(-x.shape[dim] // chunks), dim)
