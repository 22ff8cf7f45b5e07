"""Pooling: one number for each window of the spatial dims.

Windows, rounding and counts are PyTorch's: with `ceil_mode` a last window may reach over the end if
it starts inside, and `count_include_pad` counts padded elements, never what lies beyond them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops.declare import integral, only_floats, prepared, primitive
from burn.ops.indexing_references import checked
from burn.ops.op import Op
from burn.ops.windows import (
    Array,
    Sizes,
    add_windows,
    extent,
    not_negative,
    padded,
    positions,
    positive,
    spatial_rank,
    unpadded,
    widened,
    windows,
)
from burn.shape import Shape, as_tuple

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _geometry(
    op: Op, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any
) -> tuple[Shape, tuple[Sizes, Sizes, Sizes, Sizes]]:
    """The shape of the result, and kernel, stride, padding and dilation in normal form."""
    name = op.name
    rank = spatial_rank(name, x)
    size = positive(name, "kernel_size", kernel, rank)
    step = size if stride is None else positive(name, "stride", stride, rank)
    pad = not_negative(name, "padding", padding, rank)
    hole = positive(name, "dilation", dilation, rank)
    spans = tuple(extent(k, d) for k, d in zip(size, hole, strict=True))
    if any(2 * p > k for p, k in zip(pad, size, strict=True)):
        raise ArgumentError(f"{name}: padding {list(pad)} must be at most half of the kernel {list(size)}")
    sizes = [_count(*each, ceil_mode) for each in zip(x[2:], size, step, pad, hole, strict=True)]
    if min(sizes) < 1 or min(x[2:]) < 1:
        raise ShapeError(
            f"{name}: a kernel of {spans} (with dilation) is larger than x {tuple(x)} padded by {list(pad)}"
        )
    return Shape((*x[:2], *sizes)), (size, step, pad, hole)


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows; a partial one at the end must start inside the input or its padding before it."""
    if not ceil_mode:
        return positions(size, kernel, stride, (padding, padding), dilation)
    count = positions(size, kernel, stride, (padding, padding + stride - 1), dilation)
    return count - 1 if (count - 1) * stride >= size + padding else count


def _fitted(spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Any:
    """The number of windows, and the padding after which exactly these fit."""
    each = list(zip(spatial, kernel, stride, padding, dilation, strict=True))
    counts = tuple(_count(*one, ceil_mode) for one in each)
    pads = tuple(
        (pad, (count - 1) * step + extent(k, hole) - size - pad)
        for count, (size, k, step, pad, hole) in zip(counts, each, strict=True)
    )
    return counts, pads


def _same_shape(op: Op, gradient: Any, expected: Any) -> None:
    if tuple(gradient.shape) != tuple(expected):
        raise ShapeError(f"{op.name}: the gradient must have the shape {tuple(expected)}, got {tuple(gradient.shape)}")


# Maxima


def _max_rule(op: Op, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> Any:
    shape, settings = _geometry(op, x.shape, kernel, stride, padding, dilation, ceil_mode)
    return [shape, shape], [x.dtype, x.device.int_dtype], (*settings, bool(ceil_mode))


def _max_pool(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Any:
    spatial, rank = x.shape[2:], len(kernel)
    counts, pads = _fitted(spatial, kernel, stride, padding, dilation, ceil_mode)
    found = windows(padded(x, pads, -np.inf), kernel, stride, dilation)
    found = found.reshape(*x.shape[:2], *counts, int(np.prod(kernel)))
    table = np.zeros((1,) * (2 * rank), np.int64)  # the flat index of each element of each window
    inside = np.ones_like(table, bool)
    for dim in range(rank):
        where = np.arange(counts[dim])[:, None] * stride[dim] - padding[dim] + np.arange(kernel[dim]) * dilation[dim]
        shape = [1] * (2 * rank)
        shape[dim], shape[rank + dim] = counts[dim], kernel[dim]
        where = where.reshape(shape)
        table = table * spatial[dim] + np.clip(where, 0, spatial[dim] - 1)
        inside = inside & (where >= 0) & (where < spatial[dim])
    inside, table = inside.reshape(*counts, -1), table.reshape(*counts, -1)
    choice = np.argmax(widened(found), axis=-1)[..., None]
    everywhere = (*x.shape[:2], *inside.shape)
    chosen = np.take_along_axis(np.broadcast_to(inside, everywhere), choice, -1)
    first = np.broadcast_to(np.argmax(inside, axis=-1)[..., None], choice.shape)
    choice = np.where(chosen, choice, first)  # where all are -inf, a real element rather than a padded one
    values = np.take_along_axis(found, choice, -1)[..., 0]
    return values, np.take_along_axis(np.broadcast_to(table, everywhere), choice, -1)[..., 0]


def _max_backward_rule(op: Op, gradient: Any, indices: Any, x_spatial: Any) -> Any:
    rank = spatial_rank(op.name, gradient.shape, "gradient")
    _same_shape(op, gradient, indices.shape)
    spatial = positive(op.name, "x_spatial", x_spatial, rank)
    return Shape((*gradient.shape[:2], *spatial)), gradient.dtype, (spatial,)


def _max_pool_backward(gradient: Array, indices: Array, x_spatial: Sizes) -> Array:
    rows, size = int(np.prod(gradient.shape[:2])), int(np.prod(x_spatial))
    count = int(np.prod(gradient.shape[2:]))
    values = widened(gradient).reshape(rows, count)
    result = np.zeros((rows, size), values.dtype)
    places = checked("max_pool_backward", indices, 2, size).reshape(rows, count)
    np.add.at(result, (np.arange(rows)[:, None], places), values)
    return result.reshape(*gradient.shape[:2], *x_spatial).astype(gradient.dtype, copy=False)


def _gathered(g: Any, indices: Any) -> Any:
    """The elements that were the maxima."""
    batch, channels, *spatial = g.shape
    count = int(np.prod(indices.shape[2:]))
    flat = g.reshape((batch, channels, int(np.prod(spatial))))
    return flat.gather(2, indices.reshape((batch, channels, count))).reshape(indices.shape)


def _prepare_backward(op: Op, operands: list[Any]) -> list[Any]:
    gradient, indices = operands
    return [only_floats.coerce(op, gradient), integral.coerce(op, indices)]


@primitive(
    rule=_max_backward_rule,
    reference=_max_pool_backward,
    prepare=_prepare_backward,
    vjp=dict(gradient=lambda g, indices: _gathered(g, indices)),
)
def max_pool_backward(gradient: Tensor[B], indices: Tensor[Any], x_spatial: Any) -> Tensor[B]:
    """Carry the gradient of maxima back to where they were found in an input of `x_spatial`."""
    ...


@primitive(
    rule=_max_rule,
    reference=_max_pool,
    prepare=prepared(only_floats),
    outputs=2,
    vjp=dict(x=lambda g, out, x_shape: max_pool_backward(g[0], out[1], x_shape[2:])),
)
def max_pool(
    x: Tensor[B], kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each window, and its index in the flattened spatial dims.

    Without a stride the windows lie side by side.
    """
    ...


def _outputs(op: Op, x: Any, output_size: Any) -> Sizes:
    rank = spatial_rank(op.name, x.shape)
    if min(x.shape[2:]) < 1:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has an empty spatial dim")
    return positive(op.name, "output_size", output_size, rank)


def _adaptive_max_rule(op: Op, x: Any, output_size: Any) -> Any:
    output = _outputs(op, x, output_size)
    shape = Shape((*x.shape[:2], *output))
    return [shape, shape], [x.dtype, x.device.int_dtype], (output,)


def _parts(size: int, count: int) -> list[slice]:
    """`count` ranges that cover `size` elements, as even as can be; neighbours may share an element."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _adaptive_max_pool(x: Array, output_size: Sizes) -> Any:
    spatial = x.shape[2:]
    table = np.arange(int(np.prod(spatial)), dtype=np.int64).reshape(spatial)
    values = np.empty((*x.shape[:2], *output_size), x.dtype)
    indices = np.empty(values.shape, np.int64)
    parts = [_parts(*each) for each in zip(spatial, output_size, strict=True)]
    for place in np.ndindex(*output_size):
        window = tuple(part[i] for part, i in zip(parts, place, strict=True))
        found = x[(slice(None), slice(None), *window)]
        found = found.reshape(*x.shape[:2], int(np.prod(found.shape[2:])))
        choice = np.argmax(widened(found), axis=-1)[..., None]
        values[(..., *place)] = np.take_along_axis(found, choice, -1)[..., 0]
        indices[(..., *place)] = table[window].reshape(-1)[choice[..., 0]]
    return values, indices


@primitive(
    rule=_adaptive_max_rule,
    reference=_adaptive_max_pool,
    prepare=prepared(only_floats),
    outputs=2,
    vjp=dict(x=lambda g, out, x_shape: max_pool_backward(g[0], out[1], x_shape[2:])),
)
def adaptive_max_pool(x: Tensor[B], output_size: Any) -> tuple[Tensor[B], Tensor[B]]:
    """Divide the spatial dims into `output_size` windows; take each one's maximum and its flat index."""
    ...


# Means


def _avg_rule(op: Op, x: Any, kernel: Any, stride: Any, padding: Any, count_include_pad: Any, ceil_mode: Any) -> Any:
    shape, (size, step, pad, _) = _geometry(op, x.shape, kernel, stride, padding, 1, ceil_mode)
    return shape, x.dtype, (size, step, pad, bool(count_include_pad), bool(ceil_mode))


def _counts(spatial: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, include: bool) -> Array:
    """By how much the sum of each window is divided."""
    total = np.ones((), np.float64)
    for size, count, k, step, pad in zip(spatial, counts, kernel, stride, padding, strict=True):
        start = np.arange(count) * step - pad
        stop = np.minimum(start + k, size + pad)
        if not include:
            start, stop = np.maximum(start, 0), np.minimum(stop, size)
        total = total[..., None] * (stop - start)
    return total


def _avg_pool(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool, ceil_mode: bool
) -> Array:
    ones, rank = (1,) * len(kernel), len(kernel)
    counts, pads = _fitted(x.shape[2:], kernel, stride, padding, ones, ceil_mode)
    total = windows(padded(widened(x), pads), kernel, stride, ones).sum(axis=tuple(range(2 + rank, 2 + 2 * rank)))
    divisor = _counts(x.shape[2:], counts, kernel, stride, padding, count_include_pad)
    return (total / divisor.astype(total.dtype)).astype(x.dtype, copy=False)  # type: ignore[no-any-return]


def _avg_backward_rule(
    op: Op,
    gradient: Any,
    x_spatial: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    count_include_pad: Any,
    ceil_mode: Any,
) -> Any:
    rank = spatial_rank(op.name, gradient.shape, "gradient")
    spatial = as_tuple(op.name, "x_spatial", x_spatial, rank)
    x = Shape((*gradient.shape[:2], *spatial))
    expected, (size, step, pad, _) = _geometry(op, x, kernel, stride, padding, 1, ceil_mode)
    _same_shape(op, gradient, expected)
    return x, gradient.dtype, (spatial, size, step, pad, bool(count_include_pad), bool(ceil_mode))


def _avg_pool_backward(
    gradient: Array, x_spatial: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, include: bool, ceil_mode: bool
) -> Array:
    ones = (1,) * len(kernel)
    counts, pads = _fitted(x_spatial, kernel, stride, padding, ones, ceil_mode)
    values = widened(gradient)
    values = values / _counts(x_spatial, counts, kernel, stride, padding, include).astype(values.dtype)
    spread = np.broadcast_to(values[(..., *(None,) * len(kernel))], (*values.shape, *kernel))
    canvas = tuple(size + sum(pair) for size, pair in zip(x_spatial, pads, strict=True))
    result = unpadded(add_windows(spread, canvas, kernel, stride, ones), pads, x_spatial)
    return result.astype(gradient.dtype, copy=False)


def _means(g: Any, kernel_size: Any, stride: Any, padding: Any, count_include_pad: bool, ceil_mode: bool) -> Any:
    return avg_pool(g, kernel_size, stride, padding, count_include_pad, ceil_mode)


@primitive(
    rule=_avg_backward_rule,
    reference=_avg_pool_backward,
    prepare=prepared(only_floats),
    vjp=dict(gradient=_means),
)
def avg_pool_backward(
    gradient: Tensor[B],
    x_spatial: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:
    """Carry the gradient of means back to an input whose spatial sizes are `x_spatial`."""
    ...


@primitive(
    rule=_avg_rule,
    reference=_avg_pool,
    prepare=prepared(only_floats),
    vjp=dict(
        x=lambda g, x_shape, kernel_size, stride, padding, count_include_pad, ceil_mode: avg_pool_backward(
            g, x_shape[2:], kernel_size, stride, padding, count_include_pad, ceil_mode
        )
    ),
)
def avg_pool(
    x: Tensor[B],
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:
    """Take the mean of each window. Without a stride the windows lie side by side."""
    ...


def _adaptive_rule(op: Op, x: Any, output_size: Any) -> Any:
    output = _outputs(op, x, output_size)
    return Shape((*x.shape[:2], *output)), x.dtype, (output,)


def _adaptive_avg_pool(x: Array, output_size: Sizes) -> Array:
    """The mean of a box is the mean of means along each dim."""
    result = widened(x)
    for dim, count in enumerate(output_size, 2):
        moved = np.moveaxis(result, dim, 0)
        means = [moved[part].mean(axis=0) for part in _parts(moved.shape[0], count)]
        result = np.stack(means, axis=dim)
    return result.astype(x.dtype, copy=False)


def _adaptive_backward_rule(op: Op, gradient: Any, x_spatial: Any) -> Any:
    rank = spatial_rank(op.name, gradient.shape, "gradient")
    spatial = positive(op.name, "x_spatial", x_spatial, rank)
    return Shape((*gradient.shape[:2], *spatial)), gradient.dtype, (spatial,)


def _adaptive_avg_pool_backward(gradient: Array, x_spatial: Sizes) -> Array:
    result = widened(gradient)
    for dim, size in enumerate(x_spatial, 2):
        moved = np.moveaxis(result, dim, 0)
        spread = np.zeros((size, *moved.shape[1:]), result.dtype)
        for i, part in enumerate(_parts(size, moved.shape[0])):
            spread[part] += moved[i] / (part.stop - part.start)
        result = np.moveaxis(spread, 0, dim)
    return result.astype(gradient.dtype, copy=False)


def _adaptive_means(g: Any, gradient_shape: Any) -> Any:
    return adaptive_avg_pool(g, gradient_shape[2:])


@primitive(
    rule=_adaptive_backward_rule,
    reference=_adaptive_avg_pool_backward,
    prepare=prepared(only_floats),
    vjp=dict(gradient=_adaptive_means),
)
def adaptive_avg_pool_backward(gradient: Tensor[B], x_spatial: Any) -> Tensor[B]:
    """Carry the gradient of adaptive means back to an input whose spatial sizes are `x_spatial`."""
    ...


@primitive(
    rule=_adaptive_rule,
    reference=_adaptive_avg_pool,
    prepare=prepared(only_floats),
    vjp=dict(x=lambda g, x_shape: adaptive_avg_pool_backward(g, x_shape[2:])),
)
def adaptive_avg_pool(x: Tensor[B], output_size: Any) -> Tensor[B]:
    """Divide the spatial dims into `output_size` windows and take the mean of each."""
    ...
