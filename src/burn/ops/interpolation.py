"""Interpolation: spatial dims resampled to other sizes.

Every mode is separable: along each dim, an output element is a weighted sum of a few input elements,
its *taps*. `taps` computes them once; the forward row gathers along them and the backward row adds.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops.declare import only_floats, prepared, primitive
from burn.ops.op import Op
from burn.ops.windows import Array, Sizes, positive, spatial_rank, widened
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

MODES = ("nearest", "nearest_exact", "bilinear", "bicubic", "lanczos3")
_ALIASES = {"linear": "bilinear", "trilinear": "bilinear", "cubic": "bicubic", "nearest-exact": "nearest_exact"}
CUBIC = -0.75
"""The free parameter of the cubic kernel, as in PyTorch."""


def _mode(op: Op, mode: Any) -> str:
    name = getattr(mode, "value", mode)
    name = _ALIASES.get(name, name) if isinstance(name, str) else name
    if name not in MODES:
        raise ArgumentError(f"{op.name}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    return name


def _rule(op: Op, x: Any, output_size: Any, mode: Any, align_corners: Any) -> Any:
    rank = spatial_rank(op.name, x.shape)
    if min(x.shape[2:]) < 1:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has an empty spatial dim")
    output = positive(op.name, "output_size", output_size, rank)
    name = _mode(op, mode)
    aligned = bool(align_corners) and not name.startswith("nearest")
    return Shape((*x.shape[:2], *output)), x.dtype, (output, name, aligned)


def _backward_rule(op: Op, gradient: Any, x_spatial: Any, mode: Any, align_corners: Any) -> Any:
    rank = spatial_rank(op.name, gradient.shape, "gradient")
    spatial = positive(op.name, "x_spatial", x_spatial, rank)
    name = _mode(op, mode)
    aligned = bool(align_corners) and not name.startswith("nearest")
    return Shape((*gradient.shape[:2], *spatial)), gradient.dtype, (spatial, name, aligned)


@functools.lru_cache(256)
def taps(size: int, output: int, mode: str, align_corners: bool) -> tuple[Array, Array]:
    """For each output element along one dim, the input elements it sums and their weights: (output, taps) each."""
    if mode.startswith("nearest"):
        # In whole numbers: the floats of other libraries fall on the wrong side of an edge now and then.
        twice = 2 * np.arange(output, dtype=np.int64) + (mode == "nearest_exact")
        return (twice * size // (2 * output))[:, None], np.ones((output, 1))
    places = np.arange(output, dtype=np.float64)
    if align_corners:
        source = places * ((size - 1) / (output - 1) if output > 1 else 0.0)
    else:
        source = (places + 0.5) * (size / output) - 0.5
    if mode == "bilinear":
        source = np.maximum(source, 0.0)
        lower = np.minimum(np.floor(source), size - 1)
        part = source - lower
        return _clipped(lower, (0, 1), size), np.stack([1.0 - part, part], axis=1)
    lower = np.floor(source)
    part = source - lower
    if mode == "bicubic":
        steps = np.arange(-1, 3)
        return _clipped(lower, steps, size), _cubic(np.abs(part[:, None] - steps))
    steps = np.arange(-2, 4)
    index = lower[:, None] + steps
    weights = _lanczos(part[:, None] - steps) * ((index >= 0) & (index < size))
    return _clipped(lower, steps, size), weights / weights.sum(axis=1, keepdims=True)


def _clipped(lower: Array, steps: Any, size: int) -> Array:
    """The elements around `lower`; those beyond an end are the last ones."""
    index: Array = np.clip(lower[:, None] + np.asarray(steps), 0, size - 1).astype(np.int64)
    return index


def _cubic(distance: Array) -> Array:
    """The cubic convolution kernel of Keys (1981)."""
    near = ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1
    far = ((CUBIC * distance - 5 * CUBIC) * distance + 8 * CUBIC) * distance - 4 * CUBIC
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _lanczos(distance: Array) -> Array:
    """The sinc function under a wider sinc, three lobes on each side."""
    return np.where(np.abs(distance) < 3, np.sinc(distance) * np.sinc(distance / 3), 0.0)


def _interpolate(x: Array, output_size: Sizes, mode: str, align_corners: bool) -> Array:
    result = widened(x)
    for dim, (size, output) in enumerate(zip(x.shape[2:], output_size, strict=True), 2):
        if size == output:
            continue
        index, weights = taps(size, output, mode, align_corners)
        shape = (output,) + (1,) * (x.ndim - dim - 1)
        parts = [
            np.take(result, index[:, tap], axis=dim) * weights[:, tap].astype(result.dtype).reshape(shape)
            for tap in range(index.shape[1])
        ]
        result = functools.reduce(np.add, parts)
    return result.astype(x.dtype, copy=False)


def _interpolate_backward(gradient: Array, x_spatial: Sizes, mode: str, align_corners: bool) -> Array:
    result = widened(gradient)
    for dim, size in enumerate(x_spatial, 2):
        index, weights = taps(size, result.shape[dim], mode, align_corners)
        moved = np.moveaxis(result, dim, 0)
        total = np.zeros((size, *moved.shape[1:]), result.dtype)
        for tap in range(index.shape[1]):
            shape = (-1,) + (1,) * (moved.ndim - 1)
            np.add.at(total, index[:, tap], moved * weights[:, tap].astype(result.dtype).reshape(shape))
        result = np.moveaxis(total, 0, dim)
    return result.astype(gradient.dtype, copy=False)


def _again(g: Any, gradient_shape: Any, mode: str, align_corners: bool) -> Any:
    return interpolate(g, gradient_shape[2:], mode, align_corners)


@primitive(
    rule=_backward_rule,
    reference=_interpolate_backward,
    prepare=prepared(only_floats),
    vjp=dict(gradient=_again),
)
def interpolate_backward(
    gradient: Tensor[B], x_spatial: Any, mode: Any = "nearest", align_corners: bool = True
) -> Tensor[B]:
    """Carry the gradient of `interpolate` back to an input whose spatial sizes are `x_spatial`."""
    ...


@primitive(
    rule=_rule,
    reference=_interpolate,
    prepare=prepared(only_floats),
    vjp=dict(x=lambda g, x_shape, mode, align_corners: interpolate_backward(g, x_shape[2:], mode, align_corners)),
)
def interpolate(x: Tensor[B], output_size: Any, mode: Any = "nearest", align_corners: bool = True) -> Tensor[B]:
    """Resample the spatial dims of `x` (batch, channels, *spatial) to `output_size`.

    The modes are nearest, nearest_exact, bilinear (linear in each of one to three dims), bicubic and lanczos3.
    With `align_corners` the centres of the corner elements stay where they are, otherwise their edges do.
    """
    ...
