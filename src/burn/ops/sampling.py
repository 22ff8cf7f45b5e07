"""Sampling at any number of spatial dims: an image or a volume read at the places a grid names.

`burn.ops.spatial` has Burn's two-dimensional functions; these take one to three spatial dims, and
cubic interpolation. All of them are made of differentiable operations.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops.activation import wide
from burn.ops.constants import constant
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.op import Op
from burn.ops.spatial import PADDINGS, _in_pixels, _reflected
from burn.ops.windows import Array, Sizes, not_negative, spatial_rank
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic", "bicubic": "cubic"}
CUBIC = -0.75


def _rule(op: Op, x: Any, grid: Any, mode: Any, padding: Any, align_corners: Any) -> Any:
    mode, padding = (getattr(each, "value", each) for each in (mode, padding))
    if mode not in MODES:
        raise ArgumentError(f"{op.name}: mode must be 'linear', 'nearest' or 'cubic', got {mode!r}")
    if padding not in PADDINGS:
        raise ArgumentError(f"{op.name}: padding must be one of {', '.join(map(repr, PADDINGS))}, got {padding!r}")
    rank = spatial_rank(op.name, x.shape)
    if len(grid.shape) != rank + 2 or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            f"{op.name}: grid must have the shape ({x.shape[0]}, {'size, ' * rank}{rank}) for x {tuple(x.shape)}, "
            f"got {tuple(grid.shape)}"
        )
    if math.prod(x.shape[2:]) == 0:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has no pixels")
    return Shape((*x.shape[:2], *grid.shape[1:-1])), x.dtype, (MODES[mode], padding, bool(align_corners))


def _cubic(distance: Any) -> list[Any]:
    """The weights of the four elements around a place, `distance` after the second of them."""
    a = CUBIC

    def near(t: Any) -> Any:
        return ((t * (a + 2) - (a + 3)) * t) * t + 1.0

    def far(t: Any) -> Any:
        return ((t * a - 5 * a) * t + 8 * a) * t - 4 * a

    return [far(distance + 1.0), near(distance), near(1.0 - distance), far(2.0 - distance)]


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """The elements a place is made of along one dim, and their weights."""
    if mode == "nearest":
        return [(place.round(), None)]
    lower = place.detach().floor()
    part = place - lower
    if mode == "linear":
        return [(lower, 1.0 - part), (lower + 1.0, part)]
    return [(lower + float(step), weight) for step, weight in zip(range(-1, 3), _cubic(part), strict=True)]


def _bounded(place: Any, size: int, padding: str, align_corners: bool) -> Any:
    """Places beyond an end brought back to elements that exist."""
    if padding == "reflection":
        place = _reflected(place, size, align_corners)
    return place.clamp(0.0, size - 1.0)


@composite(rule=_rule, prepare=prepared(only_floats, "x", "grid"))
def grid_sample(
    x: Tensor[B],
    grid: Tensor[Any],
    mode: Any = "linear",
    padding: Any = "zeros",
    align_corners: bool = False,
) -> Tensor[B]:
    """Read `x` (batch, channels, *spatial) at the places `grid` (batch, *sizes, dims) names.

    Arguments:
        grid: one number a dim, the last dim first, from -1 to 1.
        mode: "linear", "nearest" or "cubic".
        padding: what lies beyond the ends: "zeros", "border" (its elements) or "reflection".
        align_corners: whether -1 and 1 are the centres of the outermost elements, not their outer edges.

    >>> x = burn.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> x.grid_sample(burn.tensor([[[[0.0, 0.0], [-0.5, 0.5]]]])).tolist()
    [[[[2.5, 3.0]]]]
    """
    batch, channels, *spatial = x.shape
    sizes = grid.shape[1:-1]
    count, rank = math.prod(sizes), len(spatial)
    choices = []
    for dim, size in enumerate(spatial):
        chosen: Any = wide(grid).select_dim(rank + 1, rank - 1 - dim)
        place = _in_pixels(chosen.reshape((batch, count)), size, align_corners)
        if mode != "cubic" and padding != "zeros":
            place = _bounded(place, size, padding, align_corners)
        choices.append(_taps(place, mode))
    flat: Any = wide(x).reshape((batch, channels, math.prod(spatial)))
    total: Any = None
    for corner in itertools.product(*choices):
        part = _read(flat, [place for place, _ in corner], spatial, padding, align_corners)
        for _, weight in corner:
            if weight is not None:
                part = part * weight.cast(flat.dtype).unsqueeze_dim(1)
        total = part if total is None else total + part
    return total.reshape((batch, channels, *sizes)).cast(x.dtype)  # type: ignore[no-any-return]


def _read(flat: Any, places: list[Any], spatial: list[int], padding: str, align_corners: bool) -> Any:
    """Whole elements of (batch, channels, elements) at places (batch, count) along each dim."""
    batch, channels, _ = flat.shape
    index: Any = None
    inside: Any = None
    for place, size in zip(places, spatial, strict=True):
        within = (place >= 0.0) & (place <= size - 1.0)
        inside = within if inside is None else inside & within
        if padding == "reflection":
            place = _reflected(place, size, align_corners).round()
        row = place.clamp(0.0, size - 1.0).int()
        index = row if index is None else index * size + row
    found = flat.gather(2, index.unsqueeze_dim(1).expand((batch, channels, index.shape[1])))
    return found.mask_fill(inside.bool_not().unsqueeze_dim(1), 0.0) if padding == "zeros" else found


def _affine_rule(op: Op, theta: Any, size: Any, align_corners: Any) -> Any:
    rank = len(theta.shape) and theta.shape[-1] - 1
    if len(theta.shape) != 3 or rank not in (1, 2, 3) or theta.shape[1] != rank:
        raise ShapeError(f"{op.name}: theta must have the shape (batch, dims, dims + 1), got {tuple(theta.shape)}")
    sizes = not_negative(op.name, "size", size, rank + 2)
    if theta.shape[0] != sizes[0]:
        raise ShapeError(f"{op.name}: theta {tuple(theta.shape)} has another batch than size={list(sizes)}")
    return Shape((sizes[0], *sizes[2:], rank)), theta.dtype, (sizes, bool(align_corners))


@composite(rule=_affine_rule, prepare=prepared(only_floats))
def affine_grid(theta: Tensor[B], size: Any, align_corners: bool = False) -> Tensor[B]:
    """Make the grid of an affine map for `grid_sample`, of shape (batch, *spatial, dims).

    Arguments:
        theta: the map (batch, dims, dims + 1).
        size: (batch, channels, *spatial).
        align_corners: whether -1 and 1 are the centres of the outermost pixels, not their outer edges.

    >>> from burn.tensor import vision
    >>> theta = burn.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> vision.affine_grid(theta, [1, 1, 1, 2]).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    batch, _, *spatial = size
    rank, values = len(spatial), wide(theta)
    places = constant(_places(tuple(spatial), align_corners), values.dtype, theta.device)
    found: Any = places.matmul(values.transpose())
    return found.reshape((batch, *spatial, rank)).cast(theta.dtype)  # type: ignore[no-any-return]


def _places(spatial: Sizes, align_corners: bool) -> Array:
    """For each element, its coordinates from -1 to 1, the last dim first, and a 1 for the shift."""
    lines = []
    for size in spatial:
        places = np.arange(size) * 2.0
        ends = max(size - 1, 1) if align_corners else size
        lines.append((places - (size - 1)) / ends)
    grids = np.meshgrid(*lines, indexing="ij")
    return np.stack([*(grid.reshape(-1) for grid in reversed(grids)), np.ones(math.prod(spatial))], axis=1)
