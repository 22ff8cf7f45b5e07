"""Deformable convolution: a convolution whose kernel elements each look at a place of their own.

A layer computes the offsets of these places (and, when modulated, a factor for each) from the same
image. The places lie between pixels, so they are read by `bilinear`; the rest is a matrix product.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.activation import wide
from burn.ops.convolution import geometry
from burn.ops.creation import arange
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.op import Op
from burn.ops.spatial import bilinear
from burn.ops.windows import check_rank, positive

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _rule(
    op: Op, x: Any, offset: Any, weight: Any, mask: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    weight_groups: Any, offset_groups: Any,
) -> Any:  # fmt: skip
    check_rank(op.name, x.shape, 2)
    shape, (steps, pad, holes, groups) = geometry(
        op.name, x.shape, weight.shape, stride, padding, dilation, weight_groups
    )
    if min(map(min, pad)) < 0:
        raise ArgumentError(f"{op.name}: padding must be 0 or more, got {padding!r}")
    (parts,) = positive(op.name, "offset_groups", offset_groups, 1)
    if x.shape[1] % parts:
        raise ShapeError(
            f"{op.name}: offset_groups={parts} must divide the {x.shape[1]} channels of x {tuple(x.shape)}"
        )
    if x.shape[2] * x.shape[3] == 0:
        raise ArgumentError(f"{op.name}: x {tuple(x.shape)} has no pixels")
    places = parts * math.prod(weight.shape[2:])
    for name, operand, channels in (("offset", offset, 2 * places), ("mask", mask, places)):
        expected = (x.shape[0], channels, *shape[2:])
        if operand is not None and tuple(operand.shape) != expected:
            raise ShapeError(
                f"{op.name}: {name} must have the shape {expected} for x {tuple(x.shape)} and weight "
                f"{tuple(weight.shape)}, got {tuple(operand.shape)}"
            )
    if bias is not None and tuple(bias.shape) != (shape[1],):
        raise ShapeError(f"{op.name}: bias must have the shape ({shape[1]},), got {tuple(bias.shape)}")
    return shape, x.dtype, (steps, pad, holes, groups, parts)


@composite(rule=_rule, prepare=prepared(only_floats, "x", "offset", "weight", "mask", "bias"), bound="compute")
def deform_conv2d(
    x: Tensor[B],
    offset: Tensor[Any],
    weight: Tensor[Any],
    mask: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    weight_groups: int = 1,
    offset_groups: int = 1,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, height, width) with a kernel whose elements are moved by `offset`.

    For each offset group and kernel element, `offset` (batch, groups * kernel * 2, rows, columns) holds a
    pair (down, right) in pixels, and `mask` (batch, groups * kernel, rows, columns) a factor. A padding is
    a number or a pair (before, after) for each dim.
    """
    batch, channels, height, width = x.shape
    out, _, kernel_rows, kernel_columns = weight.shape
    rows, columns = offset.shape[2:]
    area, count, groups = kernel_rows * kernel_columns, rows * columns, offset_groups
    moves: Any = wide(offset).reshape((batch * groups, kernel_rows, kernel_columns, 2, rows, columns))
    downs = moves.select_dim(3, 0) + _lines(moves, kernel_rows, rows, stride[0], padding[0][0], dilation[0], 0)
    rights = moves.select_dim(3, 1) + _lines(moves, kernel_columns, columns, stride[1], padding[1][0], dilation[1], 1)
    image = x.reshape((batch * groups, channels // groups, height, width))
    places = (batch * groups, area * count)
    patches = bilinear(image, downs.reshape(places), rights.reshape(places))
    if mask is not None:
        patches = patches * mask.reshape((batch * groups, 1, area * count))
    patches = patches.reshape((batch, weight_groups, channels // weight_groups * area, count))
    kernels = weight.reshape((1, weight_groups, out // weight_groups, channels // weight_groups * area))
    result: Any = kernels.matmul(patches).reshape((batch, out, rows, columns))
    return result if bias is None else result + bias.reshape((1, out, 1, 1))  # type: ignore[no-any-return]


def _lines(like: Any, kernel: int, count: int, stride: int, padding: int, dilation: int, dim: int) -> Any:
    """The rows (or columns) at which kernel elements look before they are moved."""
    inner = arange(0, kernel, 1, like.dtype, device=like.device) * float(dilation)
    outer = arange(0, count, 1, like.dtype, device=like.device) * float(stride) - float(padding)
    if dim == 0:
        return inner.reshape((1, kernel, 1, 1, 1)) + outer.reshape((1, 1, 1, count, 1))
    return inner.reshape((1, 1, kernel, 1, 1)) + outer.reshape((1, 1, 1, 1, count))
