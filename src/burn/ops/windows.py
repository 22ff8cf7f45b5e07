"""Sliding windows over arrays: the geometry that convolution, pooling and unfolding share.

An array is padded to a *canvas*; a window of `kernel` elements, `dilation` apart, moves over it in
steps of `stride`. `windows` reads all of them as one strided view with the shape
`(batch, channels, *positions, *kernel)`; `add_windows` is its adjoint.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from burn.dtype import HALVES, f32, from_numpy
from burn.errors import ArgumentError, ShapeError
from burn.shape import as_ints, as_tuple

Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]

SPATIAL = {1: "(batch, channels, length)", 2: "(batch, channels, height, width)",
           3: "(batch, channels, depth, height, width)"}  # fmt: skip


# What users write


def spatial_rank(operation: str, x: Sizes, name: str = "x") -> int:
    """The number of dims after batch and channels, which must be one to three."""
    rank = len(x) - 2
    if rank not in SPATIAL:
        raise ShapeError(
            f"{operation}: {name} needs a batch, channels and one to three spatial dims, got shape {tuple(x)}"
        )
    return rank


def check_rank(operation: str, x: Sizes, spatial: int, name: str = "x") -> None:
    """Refuse another number of spatial dims than the operation's name says."""
    if len(x) != spatial + 2:
        raise ShapeError(f"{operation}: {name} must have the shape {SPATIAL[spatial]}, got {tuple(x)}")


def positive(operation: str, name: str, value: Any, length: int) -> Sizes:
    """Read sizes of at least one."""
    values = as_tuple(operation, name, value, length)
    if min(values) < 1:
        raise ArgumentError(f"{operation}: {name} must be 1 or more, got {list(values)}")
    return values


def not_negative(operation: str, name: str, value: Any, length: int) -> Sizes:
    """Read sizes of at least zero."""
    values = as_tuple(operation, name, value, length)
    if min(values) < 0:
        raise ArgumentError(f"{operation}: {name} must be 0 or more, got {list(values)}")
    return values


def paddings(operation: str, value: Any, x: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Padding:
    """Read a padding: an int, one int a dim, a pair (before, after) a dim, "same", "same_lower" or "valid".

    "same" gives `ceil(size / stride)` positions, the odd element after; under "same_lower" it comes before.
    """
    length = len(x)
    if isinstance(value, str):
        if value == "valid":
            return ((0, 0),) * length
        if value not in ("same", "same_lower"):
            raise ArgumentError(f'{operation}: padding must be "same", "valid" or numbers, got {value!r}')
        totals = [
            max(0, (-(-size // step) - 1) * step + extent(k, d) - size)
            for size, k, step, d in zip(x, kernel, stride, dilation, strict=True)
        ]
        smaller = tuple((total // 2, total - total // 2) for total in totals)
        return smaller if value == "same" else tuple((after, before) for before, after in smaller)
    if isinstance(value, tuple | list) and value and all(isinstance(each, tuple | list) for each in value):
        pairs = tuple(as_ints(operation, "padding", each) for each in value)
        if len(pairs) != length or any(len(pair) != 2 for pair in pairs):
            raise ArgumentError(f"{operation}: padding needs {length} pairs (before, after), got {value!r}")
        return tuple((before, after) for before, after in pairs)
    return tuple((each, each) for each in as_tuple(operation, "padding", value, length))


def extent(kernel: int, dilation: int) -> int:
    """How many elements a window spans."""
    return dilation * (kernel - 1) + 1


def positions(size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int) -> int:
    """How many windows fit: less than one where the window is larger than the padded size."""
    return (size + padding[0] + padding[1] - extent(kernel, dilation)) // stride + 1


# Windows of arrays


def widened(x: Array) -> Array:
    """The array in which sums over `x` are computed: f32 for half precision."""
    return x.astype(f32.numpy) if from_numpy(x.dtype) in HALVES else x


def padded(x: Array, padding: Padding, value: float = 0.0) -> Array:
    """`x` with its spatial dims padded by `value`; a negative padding crops."""
    if all(pair == (0, 0) for pair in padding):
        return x
    sizes = tuple(size + sum(pair) for size, pair in zip(x.shape[2:], padding, strict=True))
    result = np.full((*x.shape[:2], *sizes), value, x.dtype)
    inside, source = _overlap(padding, x.shape[2:], sizes)
    result[inside] = x[source]
    return result


def unpadded(canvas: Array, padding: Padding, spatial: Sizes) -> Array:
    """The part of a canvas that belongs to the array; what was cropped away is zero."""
    inside, source = _overlap(padding, spatial, canvas.shape[2:])
    if all(pair[0] >= 0 and pair[1] >= 0 for pair in padding):
        part: Array = canvas[inside]
        return part
    result = np.zeros((*canvas.shape[:2], *spatial), canvas.dtype)
    result[source] = canvas[inside]
    return result


def _overlap(padding: Padding, spatial: Sizes, canvas: Sizes) -> tuple[Any, Any]:
    """Where the array lies on its canvas, and which part of the array that is."""
    inside: list[Any] = [slice(None), slice(None)]
    source: list[Any] = [slice(None), slice(None)]
    for (before, _), size, whole in zip(padding, spatial, canvas, strict=True):
        start, stop = max(before, 0), min(before + size, whole)
        inside.append(slice(start, stop))
        source.append(slice(start - before, stop - before))
    return tuple(inside), tuple(source)


def windows(canvas: Array, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """Every window as a view with the shape (batch, channels, *positions, *kernel)."""
    count = len(kernel)
    spans = tuple(extent(k, d) for k, d in zip(kernel, dilation, strict=True))
    view = sliding_window_view(canvas, spans, axis=tuple(range(2, 2 + count)))
    steps = tuple(slice(None, None, step) for step in (*stride, *dilation))
    return view[(slice(None), slice(None), *steps)]


def add_windows(values: Array, canvas: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Array:
    """Add windows of the shape (batch, channels, *positions, *kernel) onto a canvas of zeros."""
    count = len(kernel)
    result = np.zeros((*values.shape[:2], *canvas), values.dtype)
    sizes = values.shape[2 : 2 + count]
    for offset in itertools.product(*(range(k) for k in kernel)):
        place = tuple(
            slice(o * d, o * d + step * (size - 1) + 1, step)
            for o, d, step, size in zip(offset, dilation, stride, sizes, strict=True)
        )
        element: Any = (..., *offset)
        result[(slice(None), slice(None), *place)] += values[element]
    return result
