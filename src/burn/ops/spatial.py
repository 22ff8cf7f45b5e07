"""Patches and sampling: images cut into windows and put together again, and read at places between pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.activation import wide
from burn.ops.creation import arange
from burn.ops.declare import composite, only_floats, prepared, primitive
from burn.ops.joining import stack
from burn.ops.op import Op
from burn.ops.windows import (
    Array,
    Sizes,
    add_windows,
    check_rank,
    extent,
    not_negative,
    padded,
    positions,
    positive,
    unpadded,
    widened,
    windows,
)
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

# Patches


def _patches(op: Op, spatial: Sizes, shown: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The number of patches in each dim, and the settings in normal form."""
    size = positive(op.name, "kernel_size", kernel, 2)
    step = positive(op.name, "stride", stride, 2)
    pad = not_negative(op.name, "padding", padding, 2)
    hole = positive(op.name, "dilation", dilation, 2)
    each = zip(spatial, size, step, ((p, p) for p in pad), hole, strict=True)
    counts = tuple(positions(*one) for one in each)
    if min(counts) < 1:
        spans = tuple(extent(k, d) for k, d in zip(size, hole, strict=True))
        raise ShapeError(f"{op.name}: a kernel of {spans} (with dilation) is larger than {shown} padded by {list(pad)}")
    return counts, (size, step, pad, hole)


def _unfold_rule(op: Op, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    check_rank(op.name, x.shape, 2)
    shown = f"x {tuple(x.shape)}"
    counts, settings = _patches(op, tuple(x.shape[2:]), shown, kernel_size, stride, padding, dilation)
    shape = Shape((x.shape[0], x.shape[1] * math.prod(settings[0]), math.prod(counts)))
    return shape, x.dtype, settings


def _unfold(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    found = windows(padded(x, tuple((p, p) for p in padding)), kernel, stride, dilation)
    batch, channels, rows, columns = found.shape[:4]
    return found.transpose(0, 1, 4, 5, 2, 3).reshape(batch, channels * math.prod(kernel), rows * columns)


def _fold_rule(op: Op, x: Any, output_size: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    output = positive(op.name, "output_size", output_size, 2)
    if len(x.shape) != 3:
        raise ShapeError(f"{op.name}: x must have the shape (batch, channels * kernel, patches), got {tuple(x.shape)}")
    shown = f"an output of {output}"
    counts, settings = _patches(op, output, shown, kernel_size, stride, padding, dilation)
    area = math.prod(settings[0])
    if x.shape[1] % area or x.shape[2] != math.prod(counts):
        raise ShapeError(
            f"{op.name}: an output of {output} has {math.prod(counts)} patches of {area} elements a channel; "
            f"x has the shape {tuple(x.shape)}"
        )
    return Shape((x.shape[0], x.shape[1] // area, *output)), x.dtype, (output, *settings)


def _fold(x: Array, output: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    pads = tuple((p, p) for p in padding)
    counts = [positions(*each) for each in zip(output, kernel, stride, pads, dilation, strict=True)]
    patches = widened(x).reshape(x.shape[0], x.shape[1] // math.prod(kernel), *kernel, *counts)
    canvas = tuple(size + 2 * p for size, p in zip(output, padding, strict=True))
    total = add_windows(patches.transpose(0, 1, 4, 5, 2, 3), canvas, kernel, stride, dilation)
    return unpadded(total, pads, output).astype(x.dtype, copy=False)


def _cut_again(g: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return unfold4d(g, kernel_size, stride, padding, dilation)


@primitive(rule=_fold_rule, reference=_fold, prepare=prepared(only_floats), vjp=dict(x=_cut_again))
def fold4d(
    x: Tensor[B], output_size: Any, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tensor[B]:
    """Add patches (batch, channels * kernel, patches) up to an image: the adjoint of `unfold4d`."""
    ...


@primitive(
    rule=_unfold_rule,
    reference=_unfold,
    prepare=prepared(only_floats),
    vjp=dict(
        x=lambda g, x_shape, kernel_size, stride, padding, dilation: fold4d(
            g, x_shape[2:], kernel_size, stride, padding, dilation
        )
    ),
)
def unfold4d(x: Tensor[B], kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Tensor[B]:
    """Cut an image into patches: (batch, channels, height, width) to (batch, channels * kernel, patches)."""
    ...


# Sampling between pixels


def bilinear(x: Any, rows: Any, columns: Any) -> Any:
    """Read `x` (batch, channels, height, width) at places (batch, count) in pixels; outside it is zero.

    The result is (batch, channels, count). It is made of differentiable operations only.
    """
    top, left = rows.floor(), columns.floor()
    down, right = rows - top, columns - left
    total: Any = None
    for row, vertical in ((top, 1.0 - down), (top + 1.0, down)):
        for column, horizontal in ((left, 1.0 - right), (left + 1.0, right)):
            part = pixels(x, row, column) * (vertical * horizontal).cast(x.dtype).unsqueeze_dim(1)
            total = part if total is None else total + part
    return total


def pixels(x: Any, rows: Any, columns: Any) -> Any:
    """Read whole pixels; outside the image they are zero."""
    batch, channels, height, width = x.shape
    inside = (rows >= 0.0) & (rows <= height - 1.0) & (columns >= 0.0) & (columns <= width - 1.0)
    row, column = (each.clamp(0.0, last).int() for each, last in ((rows, height - 1.0), (columns, width - 1.0)))
    index = (row * width + column).unsqueeze_dim(1).expand((batch, channels, rows.shape[1]))
    found = x.reshape((batch, channels, height * width)).gather(2, index)
    return found.mask_fill(inside.bool_not().unsqueeze_dim(1), 0.0)


def _in_pixels(grid: Any, size: int, align_corners: bool) -> Any:
    """From -1..1 to pixels: the ends are the centres of the corner pixels, or their edges."""
    return (grid + 1.0) * ((size - 1) / 2) if align_corners else ((grid + 1.0) * size - 1.0) * 0.5


def _reflected(places: Any, size: int, align_corners: bool) -> Any:
    """Places beyond an end, as if there were a mirror at it."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0.0:
        return places * 0.0
    distance = (places - low).abs()
    times = (distance * (1.0 / span)).floor()
    rest = distance - times * span
    odd = times - (times * 0.5).floor() * 2.0
    return rest + odd * (span - rest * 2.0) + low


PADDINGS = ("zeros", "border", "reflection")


def _sample_rule(op: Op, x: Any, grid: Any, mode: Any, padding: Any, align_corners: Any) -> Any:
    mode, padding = (getattr(each, "value", each) for each in (mode, padding))
    if mode not in ("bilinear", "nearest"):
        raise ArgumentError(f"{op.name}: mode must be 'bilinear' or 'nearest', got {mode!r}")
    if padding not in PADDINGS:
        raise ArgumentError(f"{op.name}: padding must be one of {', '.join(map(repr, PADDINGS))}, got {padding!r}")
    check_rank(op.name, x.shape, 2)
    if len(grid.shape) != 4 or grid.shape[3] != 2 or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            f"{op.name}: grid must have the shape ({x.shape[0]}, rows, columns, 2) for x {tuple(x.shape)}, "
            f"got {tuple(grid.shape)}"
        )
    if x.shape[2] * x.shape[3] == 0:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has no pixels")
    return Shape((*x.shape[:2], *grid.shape[1:3])), x.dtype, (mode, padding, bool(align_corners))


@composite(rule=_sample_rule, prepare=prepared(only_floats, "x", "grid"))
def grid_sample_2d(
    x: Tensor[B], grid: Tensor[Any], mode: Any = "bilinear", padding: Any = "zeros", align_corners: bool = False
) -> Tensor[B]:
    """Read `x` (batch, channels, height, width) at the places `grid` (batch, rows, columns, 2) names.

    A place is a pair (x, y), -1 for the left or upper end and 1 for the other. The modes are bilinear and
    nearest; beyond the ends lie zeros, the border's pixels, or a reflection.
    """
    batch, channels, height, width = x.shape
    places = []
    for coordinate, size in ((1, height), (0, width)):
        chosen: Any = wide(grid).select_dim(3, coordinate)
        place = _in_pixels(chosen.reshape((batch, grid.shape[1] * grid.shape[2])), size, align_corners)
        if padding == "reflection":
            place = _reflected(place, size, align_corners)
        if padding != "zeros":
            place = place.clamp(0.0, size - 1.0)
        places.append(place)
    if mode == "nearest":
        found = pixels(x, *(place.round() for place in places))
    else:
        found = bilinear(x, *places)
    return found.reshape((batch, channels, *grid.shape[1:3]))  # type: ignore[no-any-return]


def _affine_rule(op: Op, theta: Any, size: Any, align_corners: Any) -> Any:
    batch, channels, height, width = not_negative(op.name, "size", size, 4)
    if tuple(theta.shape) != (batch, 2, 3):
        raise ShapeError(f"{op.name}: theta must have the shape ({batch}, 2, 3), got {tuple(theta.shape)}")
    return Shape((batch, height, width, 2)), theta.dtype, ((batch, channels, height, width), bool(align_corners))


@composite(rule=_affine_rule, prepare=prepared(only_floats))
def affine_grid_2d(theta: Tensor[B], size: Any, align_corners: bool = True) -> Tensor[B]:
    """Make the grid of an affine map `theta` (batch, 2, 3) for `size` (batch, channels, height, width).

    The result (batch, height, width, 2) holds pairs (x, y) for `grid_sample_2d`.
    """
    batch, _, height, width = size
    dtype, theta = theta.dtype, wide(theta)
    across = _centres(theta, width, align_corners).reshape((1, 1, width))
    down = _centres(theta, height, align_corners).reshape((1, height, 1))
    found = []
    for row in range(2):
        line: Any = theta.select_dim(1, row)
        a, b, c = (line.select_dim(1, column).reshape((batch, 1, 1)) for column in range(3))
        found.append(a * across + b * down + c)
    return stack(found, 3).cast(dtype)


def _centres(like: Any, size: int, align_corners: bool) -> Any:
    """`size` places from -1 to 1, of pixels whose outer centres or outer edges are the ends."""
    places = arange(0, size, 1, like.dtype, device=like.device)
    if size == 1:
        return places * 0.0
    return places * (2.0 / (size - 1)) - 1.0 if align_corners else (places * 2.0 + 1.0) * (1.0 / size) - 1.0
