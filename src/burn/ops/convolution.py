"""Convolution: three rows closed under differentiation.

`conv` slides a kernel over an input. It is linear in both, so its two gradients are the rows
`conv_x_backward` and `conv_weight_backward`, and the gradients of each of the three are the other
two. A transposed convolution is `conv_x_backward` itself.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ShapeError
from burn.ops.declare import only_floats, prepared, primitive
from burn.ops.op import Op
from burn.ops.windows import (
    Array,
    Padding,
    Sizes,
    add_windows,
    extent,
    padded,
    paddings,
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

Settings = tuple[Sizes, Padding, Sizes, int]
"""Stride, padding, dilation and groups, in normal form."""


def geometry(
    operation: str, x: Sizes, weight: Sizes, stride: Any, padding: Any, dilation: Any, groups: Any
) -> tuple[Shape, Settings]:
    """The shape of a convolution and its settings in normal form; everything is checked here."""
    try:
        return _known(operation, x, weight, stride, padding, dilation, groups)
    except TypeError:  # a list among the settings
        return _geometry(operation, x, weight, stride, padding, dilation, groups)


def _geometry(
    operation: str, x: Sizes, weight: Sizes, stride: Any, padding: Any, dilation: Any, groups: Any
) -> tuple[Shape, Settings]:
    rank = spatial_rank(operation, x)
    if len(weight) != len(x):
        raise ShapeError(f"{operation}: x {tuple(x)} and weight {tuple(weight)} must have the same rank")
    kernel = tuple(weight[2:])
    if min(kernel) < 1:
        raise ShapeError(f"{operation}: weight {tuple(weight)} has an empty kernel")
    steps = positive(operation, "stride", stride, rank)
    holes = positive(operation, "dilation", dilation, rank)
    (parts,) = positive(operation, "groups", groups, 1)
    if x[1] % parts or weight[0] % parts:
        raise ShapeError(
            f"{operation}: groups={parts} must divide the {x[1]} channels of x {tuple(x)} "
            f"and the {weight[0]} channels of weight {tuple(weight)}"
        )
    if weight[1] * parts != x[1]:
        raise ShapeError(
            f"{operation}: x {tuple(x)} has {x[1]} channels and weight {tuple(weight)} takes "
            f"{weight[1]} in each of {parts} groups"
        )
    pads = paddings(operation, padding, tuple(x[2:]), kernel, steps, holes)
    sizes = [positions(*each) for each in zip(x[2:], kernel, steps, pads, holes, strict=True)]
    if min(sizes) < 1:
        spans = tuple(extent(k, d) for k, d in zip(kernel, holes, strict=True))
        raise ShapeError(
            f"{operation}: a kernel of {spans} (with dilation) is larger than x {tuple(x)} padded by {pads}; "
            f"weight is {tuple(weight)}"
        )
    return Shape((x[0], weight[0], *sizes)), (steps, pads, holes, parts)


_known = functools.lru_cache(4096)(_geometry)


# The three rows


def _conv_rule(op: Op, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
    shape, settings = geometry(op.name, x.shape, weight.shape, stride, padding, dilation, groups)
    return shape, x.dtype, settings


def _conv_x_rule(
    op: Op, gradient: Any, weight: Any, x_spatial: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    spatial = _spatial(op, "x_spatial", x_spatial, gradient, weight)
    (parts,) = positive(op.name, "groups", groups, 1)
    x = Shape((gradient.shape[0], weight.shape[1] * parts, *spatial))
    _check_gradient(op, gradient, x, weight.shape, stride, padding, dilation, groups)
    _, settings = geometry(op.name, x, weight.shape, stride, padding, dilation, groups)
    return x, gradient.dtype, (spatial, *settings)


def _conv_weight_rule(
    op: Op, x: Any, gradient: Any, kernel_spatial: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    kernel = _spatial(op, "kernel_spatial", kernel_spatial, x, gradient)
    (parts,) = positive(op.name, "groups", groups, 1)
    weight = Shape((gradient.shape[1], x.shape[1] // parts, *kernel))
    _check_gradient(op, gradient, x.shape, weight, stride, padding, dilation, groups)
    _, settings = geometry(op.name, x.shape, weight, stride, padding, dilation, groups)
    return weight, x.dtype, (kernel, *settings)


def _spatial(op: Op, name: str, value: Any, first: Any, second: Any) -> Sizes:
    rank = spatial_rank(op.name, first.shape, op.operands[0])
    if len(second.shape) != len(first.shape):
        raise ShapeError(
            f"{op.name}: {op.operands[0]} {tuple(first.shape)} and {op.operands[1]} {tuple(second.shape)} "
            "must have the same rank"
        )
    return as_tuple(op.name, name, value, rank)


def _check_gradient(op: Op, gradient: Any, x: Shape, weight: Shape, *settings: Any) -> None:
    expected, _ = geometry(op.name, x, weight, *settings)
    if expected != gradient.shape:
        raise ShapeError(
            f"{op.name}: x {tuple(x)} and weight {tuple(weight)} give {tuple(expected)}, "
            f"and the gradient has the shape {tuple(gradient.shape)}"
        )


def _columns(x: Array, kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes, groups: int) -> Array:
    """All windows as one matrix a group: (groups, batch * positions, channels / groups * kernel)."""
    found = windows(padded(widened(x), padding), kernel, stride, dilation)
    (batch, channels), rank = x.shape[:2], len(kernel)
    sizes = found.shape[2 : 2 + rank]
    parts = found.reshape(batch, groups, channels // groups, *sizes, *kernel)
    order = (1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    rows, width = batch * int(np.prod(sizes)), channels // groups * int(np.prod(kernel))
    return parts.transpose(order).reshape(groups, rows, width)


def _rows(gradient: Array, groups: int) -> Array:
    """A result as one matrix a group: (groups, batch * positions, channels / groups)."""
    batch, channels, *sizes = gradient.shape
    parts = widened(gradient).reshape(batch, groups, channels // groups, *sizes)
    order = (1, 0, *range(3, 3 + len(sizes)), 2)
    return parts.transpose(order).reshape(groups, batch * int(np.prod(sizes)), channels // groups)


def _kernels(weight: Array, groups: int) -> Array:
    """A weight as one matrix a group: (groups, out / groups, in / groups * kernel)."""
    out = weight.shape[0]
    return widened(weight).reshape(groups, out // groups, int(np.prod(weight.shape[1:])))


def _conv(x: Array, weight: Array, stride: Sizes, padding: Padding, dilation: Sizes, groups: int) -> Array:
    kernel = weight.shape[2:]
    sizes = [positions(*each) for each in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)]
    product = _columns(x, kernel, stride, padding, dilation, groups) @ _kernels(weight, groups).transpose(0, 2, 1)
    parts = product.reshape(groups, x.shape[0], *sizes, weight.shape[0] // groups)
    order = (1, 0, 2 + len(sizes), *range(2, 2 + len(sizes)))
    return parts.transpose(order).reshape(x.shape[0], weight.shape[0], *sizes).astype(x.dtype, copy=False)


def _conv_x_backward(
    gradient: Array, weight: Array, x_spatial: Sizes, stride: Sizes, padding: Padding, dilation: Sizes, groups: int
) -> Array:
    batch, _, *sizes = gradient.shape
    kernel, rank = weight.shape[2:], len(sizes)
    product = _rows(gradient, groups) @ _kernels(weight, groups)
    parts = product.reshape(groups, batch, *sizes, weight.shape[1], *kernel)
    order = (1, 0, 2 + rank, *range(2, 2 + rank), *range(3 + rank, 3 + 2 * rank))
    values = parts.transpose(order).reshape(batch, groups * weight.shape[1], *sizes, *kernel)
    canvas = tuple(size + sum(pair) for size, pair in zip(x_spatial, padding, strict=True))
    result = unpadded(add_windows(values, canvas, kernel, stride, dilation), padding, x_spatial)
    return result.astype(gradient.dtype, copy=False)


def _conv_weight_backward(
    x: Array, gradient: Array, kernel_spatial: Sizes, stride: Sizes, padding: Padding, dilation: Sizes, groups: int
) -> Array:
    columns = _columns(x, kernel_spatial, stride, padding, dilation, groups)
    product = _rows(gradient, groups).transpose(0, 2, 1) @ columns
    shape = (gradient.shape[1], x.shape[1] // groups, *kernel_spatial)
    return product.reshape(shape).astype(x.dtype, copy=False)


def x_gradient(g: Any, weight: Any, x_shape: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The gradient of a convolution with respect to its input."""
    return conv_x_backward(g, weight, x_shape[2:], stride, padding, dilation, groups)


def weight_gradient(g: Any, x: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The gradient of a convolution with respect to its weight."""
    return conv_weight_backward(x, g, weight_shape[2:], stride, padding, dilation, groups)


def _transposed_weight_gradient(
    g: Any, gradient: Any, weight_shape: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    return conv_weight_backward(g, gradient, weight_shape[2:], stride, padding, dilation, groups)


@primitive(
    rule=_conv_rule,
    reference=_conv,
    prepare=prepared(only_floats, "x", "weight"),
    bound="compute",
    vjp=dict(x=x_gradient, weight=weight_gradient),
)
def conv(
    x: Tensor[B], weight: Tensor[Any], stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor[B]:
    """Slide `weight` (out, in / groups, *kernel) over `x` (batch, in, *spatial) without flipping it.

    Arguments:
        stride, dilation: a number, or one a dim.
        padding: a number or a pair (before, after) a dim, "same" or "valid"; a negative one crops.

    >>> from burn.tensor.module import conv
    >>> conv(burn.tensor([[[1.0, 2.0, 3.0]]]), burn.tensor([[[1.0, 10.0]]]), padding=[(1, 0)]).tolist()
    [[[10.0, 21.0, 32.0]]]
    """
    ...


@primitive(
    rule=_conv_x_rule,
    reference=_conv_x_backward,
    prepare=prepared(only_floats, "gradient", "weight"),
    bound="compute",
    vjp=dict(
        gradient=lambda g, weight, stride, padding, dilation, groups: conv(
            g, weight, stride, padding, dilation, groups
        ),
        weight=_transposed_weight_gradient,
    ),
)
def conv_x_backward(
    gradient: Tensor[B],
    weight: Tensor[Any],
    x_spatial: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Carry the gradient of `conv` back to an input whose spatial sizes are `x_spatial`."""
    ...


@primitive(
    rule=_conv_weight_rule,
    reference=_conv_weight_backward,
    prepare=prepared(only_floats, "x", "gradient"),
    bound="compute",
    vjp=dict(
        x=lambda g, gradient, x_shape, stride, padding, dilation, groups: conv_x_backward(
            gradient, g, x_shape[2:], stride, padding, dilation, groups
        ),
        gradient=lambda g, x, stride, padding, dilation, groups: conv(x, g, stride, padding, dilation, groups),
    ),
)
def conv_weight_backward(
    x: Tensor[B],
    gradient: Tensor[Any],
    kernel_spatial: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Carry the gradient of `conv` back to a weight whose kernel sizes are `kernel_spatial`."""
    ...
