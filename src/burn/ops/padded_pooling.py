"""Pooling with any padding: more at one side than at the other, more than half of the kernel, with holes.

The rows of `burn.ops.pooling` have kernels on every backend and pad both sides alike. These bring the
general case to them: maxima over an input padded beforehand, sums as a convolution with ones.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import f32, f64
from burn.errors import ArgumentError, ShapeError
from burn.ops import creation, pooling
from burn.ops.activation import number, wide
from burn.ops.constants import constant
from burn.ops.convolution import conv
from burn.ops.declare import composite, integral, numeric, only_floats, prepared
from burn.ops.movement import zeros
from burn.ops.op import Op
from burn.ops.padding import pad_or_crop
from burn.ops.windows import Array, Padding, Sizes, extent, paddings, positions, positive, spatial_rank
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

INDEXINGS = ("spatial", "row_major", "column_major")


def _count(
    size: int,
    kernel: int,
    stride: int,
    padding: tuple[int, int],
    dilation: int,
    ceil_mode: bool,
    partial: bool = False,
) -> int:
    """How many windows; a partial one at the end must start inside the input or the padding before it."""
    if not ceil_mode:
        if partial and 0 < extent(kernel, dilation) - size - sum(padding) < stride:
            return 1
        return positions(size, kernel, stride, padding, dilation)
    count = positions(size, kernel, stride, (padding[0], padding[1] + stride - 1), dilation)
    return count - 1 if (count - 1) * stride >= size + padding[0] else count


def _geometry(
    op: Op, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, partial: Any = False
) -> tuple[Shape, tuple[Sizes, Sizes, Padding, Sizes]]:
    """The shape of the result, and kernel, stride, padding and dilation in normal form."""
    rank = spatial_rank(op.name, x)
    size = positive(op.name, "kernel_size", kernel, rank)
    step = size if stride is None else positive(op.name, "stride", stride, rank)
    hole = positive(op.name, "dilation", dilation, rank)
    pads = paddings(op.name, padding, tuple(x[2:]), size, step, hole)
    if min(map(min, pads)) < 0:
        raise ArgumentError(f"{op.name}: padding must be 0 or more, got {padding!r}")
    sizes = [_count(*each, bool(ceil_mode), bool(partial)) for each in zip(x[2:], size, step, pads, hole, strict=True)]
    if min(sizes) < 1 or min(x[2:]) < 1:
        spans = tuple(extent(k, d) for k, d in zip(size, hole, strict=True))
        raise ShapeError(f"{op.name}: a kernel of {spans} (with dilation) is larger than x {tuple(x)} padded by {pads}")
    return Shape((*x[:2], *sizes)), (size, step, pads, hole)


def _is_plain(padding: Padding, kernel: Sizes) -> bool:
    """Whether both sides are padded alike, by at most half of the kernel."""
    return all(before == after and 2 * before <= k for (before, after), k in zip(padding, kernel, strict=True))


def _fits(spatial: Sizes, kernel: Sizes, padding: Padding, dilation: Sizes) -> bool:
    """Whether the padded input is as wide as a window in every dim."""
    sizes = zip(spatial, kernel, padding, dilation, strict=True)
    return all(size + sum(pair) >= extent(k, hole) for size, k, pair, hole in sizes)


def _fitted(spatial: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes) -> Padding:
    """The padding after which exactly `counts` windows fit; a negative end crops what no window reaches."""
    return tuple(
        (pair[0], (count - 1) * step + extent(k, hole) - size - pair[0])
        for size, count, k, step, pair, hole in zip(spatial, counts, kernel, stride, padding, dilation, strict=True)
    )


# Maxima


def _max_rule(
    op: Op, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, indexing: Any, partial: Any
) -> Any:
    shape, settings = _geometry(op, x.shape, kernel, stride, padding, dilation, ceil_mode, partial)
    if indexing not in INDEXINGS:
        raise ArgumentError(f"{op.name}: indexing must be one of {', '.join(map(repr, INDEXINGS))}, got {indexing!r}")
    return [shape, shape], [x.dtype, x.device.int_dtype], (*settings, bool(ceil_mode), indexing, bool(partial))


def _lowest(dtype: Any) -> float:
    return -math.inf if dtype.is_float else dtype.iinfo().min


def _unpadded_places(places: Any, canvas: Sizes, padding: Padding, spatial: Sizes) -> Any:
    """Flat places on a padded input as flat places on the input itself."""
    total: Any = None
    for dim, (size, pair) in enumerate(zip(spatial, padding, strict=True)):
        rest = math.prod(canvas[dim + 1 :])
        along = places // rest % canvas[dim] - pair[0]
        along = along.clamp(0, size - 1)  # a window of padding alone has no place of its own
        total = along if total is None else total * size + along
    return total


def _reordered(places: Any, spatial: Sizes, indexing: str) -> Any:
    """Places in each channel as places in the whole tensor; column-major ones count the first dim fastest."""
    if indexing == "column_major":
        total: Any = None
        for dim, size in enumerate(spatial):
            part = places // math.prod(spatial[dim + 1 :]) % size * math.prod(spatial[:dim])
            total = part if total is None else total + part
        places = total
    batch, channels = places.shape[:2]
    shape = (batch, channels, *(1,) * len(spatial))
    starts = np.arange(batch * channels).reshape(shape) * math.prod(spatial)
    return places + constant(starts, places.dtype, places.device)


@composite(rule=_max_rule, prepare=prepared(numeric), outputs=2)
def max_pool_padded(
    x: Tensor[B],
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    indexing: str = "spatial",
    partial: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each window, and its index, with any padding.

    Arguments:
        kernel_size, stride, dilation, ceil_mode: those of `max_pool2d`.
        padding: a number, or a pair (before, after) a dim.
        indexing: what an index counts: the elements of the flattened spatial dims ("spatial"), or of the whole tensor
            ("row_major"; under "column_major" the first spatial dim runs fastest).
        partial: whether an input narrower than a window, by less than a stride, still has one.

    >>> from burn.tensor.module import max_pool_padded
    >>> values, indices = max_pool_padded(burn.tensor([[[1.0, 3.0, 2.0]]]), 2, padding=[(1, 0)])
    >>> values.tolist(), indices.tolist()
    ([[[1.0, 3.0]]], [[[0, 1]]])
    """
    dtype, spatial = x.dtype, tuple(x.shape[2:])
    counts = tuple(_count(*each, ceil_mode, partial) for each in zip(spatial, kernel_size, stride, padding, dilation))
    image: Any = x if dtype.is_float else x.cast(f32 if dtype.bits <= 16 else f64)
    if _is_plain(padding, kernel_size) and (ceil_mode or _fits(spatial, kernel_size, padding, dilation)):
        pads = tuple(before for before, _ in padding)
        values, places = pooling.max_pool(image, kernel_size, stride, pads, dilation, ceil_mode)
    else:
        fitted = _fitted(spatial, counts, kernel_size, stride, padding, dilation)
        image = pad_or_crop(image, ((0, 0), (0, 0), *fitted), _lowest(dtype))
        values, places = pooling.max_pool(image, kernel_size, stride, 0, dilation, False)
        places = _unpadded_places(places, tuple(image.shape[2:]), fitted, spatial)
    if indexing != "spatial":
        places = _reordered(places, spatial, indexing)
    return values.cast(dtype), places


def _unpool_rule(op: Op, x: Any, places: Any, output_size: Any, indexing: Any) -> Any:
    rank = spatial_rank(op.name, x.shape)
    if tuple(places.shape) != tuple(x.shape):
        raise ShapeError(
            f"{op.name}: x has shape {tuple(x.shape)} and indices {tuple(places.shape)}; they must be the same"
        )
    if indexing not in ("spatial", "row_major"):
        raise ArgumentError(f"{op.name}: indexing must be 'spatial' or 'row_major', got {indexing!r}")
    spatial = positive(op.name, "output_size", output_size, rank)
    return Shape((*x.shape[:2], *spatial)), x.dtype, (spatial, indexing)


def _prepare_unpool(op: Op, operands: list[Any]) -> list[Any]:
    x, places = operands
    return [numeric.coerce(op, x), integral.coerce(op, places)]


@composite(rule=_unpool_rule, prepare=_prepare_unpool)
def max_unpool(x: Tensor[B], indices: Tensor[Any], output_size: Any, indexing: str = "spatial") -> Tensor[B]:
    """Put maxima back where they were found in spatial dims of `output_size`, with 0 everywhere else.

    `indices` are those of `max_pool_padded` with the same `indexing`.

    >>> from burn.tensor.module import max_unpool
    >>> max_unpool(burn.tensor([[[3.0, 4.0]]]), burn.tensor([[[1, 2]]]), output_size=[4]).tolist()
    [[[0.0, 3.0, 4.0, 0.0]]]
    """
    shape = (*x.shape[:2], *output_size)
    if indexing == "row_major":
        count = math.prod(x.shape)
        flat = zeros((math.prod(shape),), x)
        return flat.scatter(0, indices.reshape((count,)), x.reshape((count,)), "assign").reshape(shape)  # type: ignore[no-any-return]
    count = math.prod(x.shape[2:])
    flat = zeros((*shape[:2], math.prod(output_size)), x)
    rows = (*shape[:2], count)
    return flat.scatter(2, indices.reshape(rows), x.reshape(rows), "assign").reshape(shape)  # type: ignore[no-any-return]


# Sums


def _window_sums(x: Any, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes) -> Any:
    """The sum of each window: one channel convolved with ones."""
    batch, channels, *spatial = x.shape
    fitted = _fitted(tuple(spatial), counts, kernel, stride, padding, dilation)
    ones = creation.full(1.0, (1, 1, *kernel), x.dtype, device=x.device)
    total = conv(x.reshape((batch * channels, 1, *spatial)), ones, stride, fitted, dilation)
    return total.reshape((batch, channels, *counts))


@functools.lru_cache(256)
def _divisors(
    spatial: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes, include: bool
) -> Array:
    """How many elements each window has: of the input, or of the input and its padding."""
    total = np.ones((), np.float64)
    for size, count, k, step, pair, hole in zip(spatial, counts, kernel, stride, padding, dilation, strict=True):
        places = np.arange(count)[:, None] * step - pair[0] + np.arange(k) * hole
        inside = (places < size + pair[1]) if include else (places >= 0) & (places < size)
        total = total[..., None] * inside.sum(axis=1)
    return np.maximum(total, 1.0)


def _avg_rule(
    op: Op, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, include: Any, ceil_mode: Any, partial: Any
) -> Any:
    shape, settings = _geometry(op, x.shape, kernel, stride, padding, dilation, ceil_mode, partial)
    return shape, x.dtype, (*settings, bool(include), bool(ceil_mode), bool(partial))


@composite(rule=_avg_rule, prepare=prepared(only_floats))
def avg_pool_padded(
    x: Tensor[B],
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    partial: bool = False,
) -> Tensor[B]:
    """Take the mean of each window, with any padding and with holes.

    Arguments:
        kernel_size, stride, dilation, ceil_mode: those of `max_pool2d`.
        padding: a number, or a pair (before, after) a dim.
        count_include_pad: whether the padding counts in the mean.
        partial: whether an input narrower than a window, by less than a stride, still has one.

    >>> from burn.tensor.module import avg_pool_padded
    >>> avg_pool_padded(burn.tensor([[[1.0, 3.0, 2.0]]]), 2, padding=[(1, 0)]).tolist()
    [[[0.5, 2.5]]]
    """
    spatial = tuple(x.shape[2:])
    fits = ceil_mode or _fits(spatial, kernel_size, padding, dilation)
    if fits and _is_plain(padding, kernel_size) and set(dilation) == {1}:
        pads = tuple(before for before, _ in padding)
        return pooling.avg_pool(x, kernel_size, stride, pads, count_include_pad, ceil_mode)
    counts = tuple(_count(*each, ceil_mode, partial) for each in zip(spatial, kernel_size, stride, padding, dilation))
    total = _window_sums(wide(x), counts, kernel_size, stride, padding, dilation)
    divisors = _divisors(spatial, counts, kernel_size, stride, padding, dilation, count_include_pad)
    return (total / constant(divisors, total.dtype, x.device)).cast(x.dtype)  # type: ignore[no-any-return]


def _lp_rule(
    op: Op, x: Any, p: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, partial: Any
) -> Any:
    order = number(op, "p", p)
    if not order > 0:
        raise ArgumentError(f"{op.name}: p must be above 0, got {order}")
    shape, settings = _geometry(op, x.shape, kernel, stride, padding, dilation, ceil_mode, partial)
    return shape, x.dtype, (order, *settings, bool(ceil_mode), bool(partial))


@composite(rule=_lp_rule, prepare=prepared(only_floats))
def lp_pool(
    x: Tensor[B],
    p: float,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    partial: bool = False,
) -> Tensor[B]:
    """Take the p-norm of each window: the p-th root of the sum of its p-th powers.

    Arguments:
        kernel_size, stride, dilation, ceil_mode: those of `max_pool2d`.
        padding: a number, or a pair (before, after) a dim.
        partial: whether an input narrower than a window, by less than a stride, still has one.

    >>> from burn.tensor.module import lp_pool
    >>> lp_pool(burn.tensor([[[3.0, 4.0, 6.0, 8.0]]]), p=2.0, kernel_size=2).tolist()
    [[[5.0, 10.0]]]
    """
    spatial = tuple(x.shape[2:])
    counts = tuple(_count(*each, ceil_mode, partial) for each in zip(spatial, kernel_size, stride, padding, dilation))
    values: Any = wide(x).abs()
    powers = values if p == 1.0 else values * values if p == 2.0 else values**p
    total = _window_sums(powers, counts, kernel_size, stride, padding, dilation)
    root = total if p == 1.0 else total.sqrt() if p == 2.0 else total ** (1.0 / p)
    return root.cast(x.dtype)  # type: ignore[no-any-return]
