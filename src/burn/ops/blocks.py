"""Blocks of images: channels that become pixels, pixels that become channels, patches added up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops.constants import constant
from burn.ops.convolution import conv_x_backward
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.op import Op
from burn.ops.spatial import fold4d
from burn.ops.windows import check_rank, extent, paddings, positions, positive
from burn.shape import Shape, as_ints

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

ORDERS = ("depth_first", "column_first")


def _order(op: Op, order: Any) -> str:
    known = {"DCR": "depth_first", "CRD": "column_first"}
    found: str = known.get(order, order)
    if found not in ORDERS:
        raise ArgumentError(f"{op.name}: order must be 'depth_first' or 'column_first', got {order!r}")
    return found


def _to_space_rule(op: Op, x: Any, block_size: Any, order: Any) -> Any:
    check_rank(op.name, x.shape, 2)
    (block,) = positive(op.name, "block_size", block_size, 1)
    batch, channels, height, width = x.shape
    if channels % (block * block):
        raise ShapeError(
            f"{op.name}: blocks of {block} x {block} need a multiple of {block * block} channels, "
            f"x {tuple(x.shape)} has {channels}"
        )
    shape = Shape((batch, channels // (block * block), height * block, width * block))
    return shape, x.dtype, (block, _order(op, order))


@composite(rule=_to_space_rule)
def depth_to_space(x: Tensor[B], block_size: int, order: str = "depth_first") -> Tensor[B]:
    """Lay out the channels of each pixel as a block of pixels.

    Arguments:
        block_size: the height and width of a block.
        order: a group of channels holds one place of the block each ("depth_first"), or the channels of one result come
            together ("column_first", as in a pixel shuffle).

    >>> burn.tensor([[[[1]], [[2]], [[3]], [[4]]]]).depth_to_space(2).tolist()
    [[[[1, 2], [3, 4]]]]
    """
    batch, _, height, width = x.shape
    block, rest = block_size, x.shape[1] // (block_size * block_size)
    if order == "depth_first":
        parts = x.reshape((batch, block, block, rest, height, width)).permute((0, 3, 4, 1, 5, 2))
    else:
        parts = x.reshape((batch, rest, block, block, height, width)).permute((0, 1, 4, 2, 5, 3))
    return parts.reshape((batch, rest, height * block, width * block))


def _to_depth_rule(op: Op, x: Any, block_size: Any, order: Any) -> Any:
    check_rank(op.name, x.shape, 2)
    (block,) = positive(op.name, "block_size", block_size, 1)
    batch, channels, height, width = x.shape
    if height % block or width % block:
        raise ShapeError(f"{op.name}: blocks of {block} x {block} do not fill x {tuple(x.shape)}")
    shape = Shape((batch, channels * block * block, height // block, width // block))
    return shape, x.dtype, (block, _order(op, order))


@composite(rule=_to_depth_rule)
def space_to_depth(x: Tensor[B], block_size: int, order: str = "depth_first") -> Tensor[B]:
    """Gather blocks of pixels into the channels of one: the inverse of `depth_to_space` in the same `order`.

    Arguments:
        block_size: the height and width of a block.

    >>> burn.tensor([[[[1, 2], [3, 4]]]]).space_to_depth(2).tolist()
    [[[[1]], [[2]], [[3]], [[4]]]]
    """
    batch, channels = x.shape[:2]
    block, rows, columns = block_size, x.shape[2] // block_size, x.shape[3] // block_size
    parts = x.reshape((batch, channels, rows, block, columns, block))
    places = (0, 3, 5, 1, 2, 4) if order == "depth_first" else (0, 1, 3, 5, 2, 4)
    return parts.permute(places).reshape((batch, channels * block * block, rows, columns))


def _fold_rule(op: Op, x: Any, output_size: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    rank = len(as_ints(op.name, "output_size", output_size))
    if rank not in (1, 2, 3):
        raise ArgumentError(f"{op.name}: output_size needs one to three sizes, got {output_size!r}")
    output = positive(op.name, "output_size", output_size, rank)
    size = positive(op.name, "kernel_size", kernel_size, rank)
    step = positive(op.name, "stride", stride, rank)
    hole = positive(op.name, "dilation", dilation, rank)
    pads = paddings(op.name, padding, output, size, step, hole)
    if len(x.shape) != 3:
        raise ShapeError(f"{op.name}: x must have the shape (batch, channels * kernel, patches), got {tuple(x.shape)}")
    counts = [positions(*each) for each in zip(output, size, step, pads, hole, strict=True)]
    if min(counts) < 1:
        spans = tuple(extent(k, d) for k, d in zip(size, hole, strict=True))
        raise ShapeError(f"{op.name}: a kernel of {spans} (with dilation) is larger than {output} padded by {pads}")
    area = math.prod(size)
    if x.shape[1] % area or x.shape[2] != math.prod(counts):
        raise ShapeError(
            f"{op.name}: an output of {output} has {math.prod(counts)} patches of {area} elements a channel; "
            f"x has the shape {tuple(x.shape)}"
        )
    return Shape((x.shape[0], x.shape[1] // area, *output)), x.dtype, (output, size, step, pads, hole)


@composite(rule=_fold_rule, prepare=prepared(only_floats))
def fold(
    x: Tensor[B], output_size: Any, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tensor[B]:
    """Add patches (batch, channels * kernel, patches) up to an image of one to three spatial dims.

    Arguments:
        output_size: the spatial dims of the image.
        kernel_size, stride, dilation: a number, or one a dim.
        padding: a number or a pair (before, after) for each dim.

    >>> from burn.tensor.module import fold
    >>> fold(Tensor.ones([1, 2, 3]), output_size=[4], kernel_size=[2]).tolist()
    [[[1.0, 2.0, 2.0, 1.0]]]
    """
    if len(output_size) == 2 and all(before == after >= 0 for before, after in padding):
        return fold4d(x, output_size, kernel_size, stride, tuple(before for before, _ in padding), dilation)
    counts = [positions(*each) for each in zip(output_size, kernel_size, stride, padding, dilation, strict=True)]
    area = math.prod(kernel_size)
    channels = x.shape[1] // area
    # Each element of a patch is a channel whose kernel is 1 at the element's place: a transposed convolution.
    one_each = constant(np.eye(area).reshape((area, 1, *kernel_size)), x.dtype, x.device)
    patches = x.reshape((x.shape[0] * channels, area, *counts))
    found = conv_x_backward(patches, one_each, output_size, stride, padding, dilation)
    return found.reshape((x.shape[0], channels, *output_size))
