"""Resizing any dims to other sizes, with every convention that image libraries have.

A resize is separable: along each dim an output element is a weighted sum of a few input elements,
its *taps*. Which ones, and how much of each, depends on sizes alone: the host computes it, the device
reads and adds. `burn.ops.interpolation` has the modes of PyTorch as kernels of their own.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import bool_, f64
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.activation import number, wide
from burn.ops.constants import along, constant, indices
from burn.ops.declare import composite
from burn.ops.op import Op
from burn.ops.windows import Array, Sizes
from burn.shape import Shape, as_ints, axes

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
)  # fmt: skip
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
ASPECTS = ("stretch", "not_larger", "not_smaller")

FEW_TAPS = 8
"""Up to this many taps are read one by one; more of them are a matrix product."""

Plan = tuple[float, ...]


def _chosen(op: Op, name: str, value: Any, among: tuple[str, ...]) -> str:
    found: str = getattr(value, "value", value)
    if found not in among:
        raise ArgumentError(f"{op.name}: {name} must be one of {', '.join(map(repr, among))}, got {value!r}")
    return found


def _numbers(op: Op, name: str, values: Any, count: int) -> Plan:
    listed = tuple(number(op, name, each) for each in values)
    if len(listed) != count:
        raise ArgumentError(f"{op.name}: {name} needs {count} numbers for these dims, got {list(listed)}")
    return listed


def _targets(op: Op, shape: Any, dims: Sizes, sizes: Any, scales: Any, aspect: str) -> tuple[Sizes, Plan]:
    """The output size and the scale of each resized dim."""
    if (sizes is None) == (scales is None):
        raise ArgumentError(f"{op.name}: give either sizes or scales, got sizes={sizes!r} and scales={scales!r}")
    own = [shape[dim] for dim in dims]
    if scales is not None:
        factors = _numbers(op, "scales", scales, len(dims))
        if any(factor <= 0 for factor in factors):
            raise ArgumentError(f"{op.name}: scales must be above 0, got {list(factors)}")
        return tuple(int(size * factor) for size, factor in zip(own, factors, strict=True)), factors
    wanted = as_ints(op.name, "sizes", sizes)
    if len(wanted) != len(dims) or min(wanted, default=0) < 0:
        raise ArgumentError(f"{op.name}: sizes needs {len(dims)} numbers of 0 or more, got {list(wanted)}")
    factors = tuple(want / size for want, size in zip(wanted, own, strict=True))
    if aspect == "stretch" or not dims:
        return wanted, factors
    factor = (min if aspect == "not_larger" else max)(factors)
    return tuple(int(size * factor + 0.5) for size in own), (factor,) * len(dims)


def _rule(
    op: Op, x: Any, sizes: Any, scales: Any, mode: Any, dims: Any, coordinates: Any, rounding: Any,
    cubic_coefficient: Any, exclude_outside: Any, antialias: Any, region: Any, extrapolation: Any, aspect: Any,
) -> Any:  # fmt: skip
    kind = _chosen(op, "mode", mode, MODES)
    places = tuple(range(len(x.shape))) if dims is None else axes(op.name, dims, len(x.shape))
    if any(x.shape[dim] < 1 for dim in places):
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has an empty dim among the resized ones")
    if kind == "nearest" and antialias:
        raise ArgumentError(f"{op.name}: mode='nearest' has no antialias")
    if kind != "nearest" and not (x.dtype.is_float or x.dtype.is_int):
        raise DTypeError(f"{op.name}: mode={kind!r} needs numbers, got {x.dtype}; convert it with .float()")
    how = _chosen(op, "coordinates", coordinates, COORDINATES)
    if how == "tf_crop_and_resize" and region is None:
        raise ArgumentError(f"{op.name}: coordinates={how!r} needs a region: all starts, then all ends, from 0 to 1")
    found, factors = _targets(op, x.shape, places, sizes, scales, _chosen(op, "aspect", aspect, ASPECTS))
    cut = None
    if how == "tf_crop_and_resize":
        cut = _numbers(op, "region", region, 2 * len(places))
    target = list(x.shape)
    for dim, size in zip(places, found, strict=True):
        target[dim] = size
    settings = (
        found, factors, kind, places, how, _chosen(op, "rounding", rounding, ROUNDINGS),
        number(op, "cubic_coefficient", cubic_coefficient), bool(exclude_outside), bool(antialias), cut,
        number(op, "extrapolation", extrapolation), "stretch",
    )  # fmt: skip
    return Shape(target), x.dtype, settings


def _recorded_rule(op: Op, x: Any, sizes: Any, scales: Any, *settings: Any) -> Any:
    """The rule for settings in normal form, which hold the sizes and the scales they came from."""
    shape, dtype, (found, own, *rest) = _rule(op, x, sizes, None, *settings)
    factors = own if scales == own else _numbers(op, "scales", scales, len(own))
    if any(factor <= 0 for factor in factors):
        raise ArgumentError(f"{op.name}: scales must be above 0, got {list(factors)}")
    return shape, dtype, (found, factors, *rest)


# Where an output element lies in the input


def _sources(size: int, output: int, scale: float, coordinates: str, start: float, end: float) -> Array:
    """The place of each output element, in input elements."""
    places = np.arange(output, dtype=np.float64)
    length = scale * size
    if coordinates == "align_corners":
        return places * ((size - 1) / (length - 1)) if length != 1 else places * 0.0
    if coordinates == "asymmetric":
        return places / scale
    if coordinates == "tf_crop_and_resize":
        if length == 1:
            return places * 0.0 + (start + end) * (size - 1) / 2
        return start * (size - 1) + places * (end - start) * (size - 1) / (length - 1)
    if coordinates == "pytorch_half_pixel" and output == 1:
        return places * 0.0
    shift = size / 2 * (1 - output / length) if coordinates == "half_pixel_symmetric" else 0.0
    return (places + 0.5) / scale - 0.5 + shift


_ROUNDED: dict[str, Any] = {
    "round_prefer_floor": lambda source: np.ceil(source - 0.5),
    "round_prefer_ceil": lambda source: np.floor(source + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _kernel(distance: Array, mode: str, coefficient: float) -> Array:
    """The weight of an element at a distance: a triangle, or the cubic of Keys (1981)."""
    distance = np.abs(distance)
    if mode == "linear":
        return np.clip(1.0 - distance, 0.0, None)
    a = coefficient
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


@functools.lru_cache(256)
def resize_taps(
    size: int, output: int, scale: float, mode: str, coordinates: str, rounding: str, coefficient: float,
    exclude_outside: bool, antialias: bool, start: float, end: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """For each output element: the elements it sums, their weights, and whether it lies outside the region."""
    source = _sources(size, output, scale, coordinates, start, end)
    outside = np.zeros(output, bool)
    if coordinates == "tf_crop_and_resize":
        outside = (source < 0) | (source > size - 1)
    if mode == "nearest":
        index = np.clip(_ROUNDED[rounding](source), 0, size - 1).astype(np.int64)
        return index[:, None], np.ones((output, 1)), outside
    reach = 1 if mode == "linear" else 2
    shrink = min(scale, 1.0) if antialias else 1.0
    first = math.floor(-reach / shrink) + 1
    steps = np.arange(first, 2 - first)
    # A place on an element counts as the end of the interval before it: the taps of an even number lie around it.
    lower = np.ceil(source) - 1
    weights = _kernel((steps - (source - lower)[:, None]) * shrink, mode, coefficient)
    if antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    index = lower[:, None] + steps
    if exclude_outside:
        weights = weights * ((index >= 0) & (index < size))
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(index, 0, size - 1).astype(np.int64), weights, outside


def _weighted(x: Any, dim: int, index: Array, weights: Array) -> Any:
    """Sum the taps of each output element along a dim."""
    size, rank, device = x.shape[dim], len(x.shape), x.device
    if index.shape[1] <= FEW_TAPS:
        total: Any = None
        for tap in range(index.shape[1]):
            part = x.select(dim, indices(index[:, tap], device))
            part = part * along(weights[:, tap], dim, rank, x.dtype, device)
            total = part if total is None else total + part
        return total
    matrix = np.zeros((size, index.shape[0]))
    np.add.at(matrix, (index.T, np.arange(index.shape[0])), weights.T)
    rows = x.movedim(dim, rank - 1)
    flat = rows.reshape((math.prod(rows.shape[:-1]), size)).matmul(constant(matrix, x.dtype, device))
    return flat.reshape((*rows.shape[:-1], index.shape[0])).movedim(rank - 1, dim)


def _is_same(size: int, output: int, scale: float, start: float, end: float) -> bool:
    return output == size and math.isclose(scale, 1.0) and math.isclose(start, 0.0) and math.isclose(end, 1.0)


@composite(rule=_rule, recorded=_recorded_rule)
def resize(
    x: Tensor[B],
    sizes: Any = None,
    scales: Any = None,
    mode: Any = "nearest",
    dims: Any = None,
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic_coefficient: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    region: Any = None,
    extrapolation: float = 0.0,
    aspect: str = "stretch",
) -> Tensor[B]:
    """Resize dims (all of them, or `dims`) to `sizes`, or by `scales`, whose results are rounded down.

    Ints are computed as floats and rounded.

    Arguments:
        mode: "nearest", "linear" or "cubic" (with `cubic_coefficient`).
        coordinates: how elements of the result map to those of `x`: "half_pixel", "align_corners", "asymmetric" ...
        rounding: which element is the nearest.
        exclude_outside: whether what lies beyond the ends has no weight.
        antialias: whether a smaller result averages all it covers.
        region: starts, then ends, in parts of each dim, for "tf_crop_and_resize".
        extrapolation: what stands where the region reaches outside.
        aspect: "not_larger" or "not_smaller" keeps the proportions within `sizes`.

    >>> burn.tensor([[1.0, 2.0]]).resize([1, 4], mode="linear").tolist()
    [[1.0, 1.25, 1.75, 2.0]]
    """
    dtype = x.dtype
    result: Any = x
    if mode != "nearest":
        result = wide(x) if dtype.is_float else x.cast(f64)
    for place, (dim, output, scale) in enumerate(zip(dims, sizes, scales, strict=True)):
        size = x.shape[dim]
        start, end = (0.0, 1.0) if region is None else (region[place], region[len(dims) + place])
        if _is_same(size, output, scale, start, end):
            continue
        index, weights, outside = resize_taps(
            size, output, scale, mode, coordinates, rounding, cubic_coefficient, exclude_outside, antialias, start, end
        )
        if mode == "nearest":
            result = result.select(dim, indices(index[:, 0], x.device))
        else:
            result = _weighted(result, dim, index, weights)
        if outside.any():
            result = result.mask_fill(along(outside, dim, len(x.shape), bool_, x.device), extrapolation)
    if dtype.is_int and mode != "nearest":
        result = result.round()
    return result.cast(dtype) if result.dtype is not dtype else result  # type: ignore[no-any-return]
