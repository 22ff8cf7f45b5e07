"""NumPy references of indexing rows. Index values outside their dim are refused."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from burn.dtype import HALVES, from_numpy
from burn.errors import IndexingError

Array = np.ndarray[Any, Any]
Ranges = tuple[tuple[int, int, int], ...]

COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
"""How values meet what is already there."""


def out_of_range(operation: str, index: int, dim: int, size: int) -> IndexingError:
    """The error for an index value outside its dim."""
    error = IndexingError(f"{operation}: index {index} is out of range for dim {dim} of size {size}")
    error.index, error.size = index, size
    return error


def not_a_class(operation: str, error: IndexingError) -> IndexingError:
    """The error for the number of a class that there is not, where a class was looked up by its number."""
    if error.size is None:
        return error
    return IndexingError(
        f"{operation}: class {error.index} is out of range: there are {error.size}, 0 to {error.size - 1}"
    )


def checked(operation: str, indices: Array, dim: int, size: int) -> Array:
    """Index values as NumPy wants them, all of them inside the dim."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= size:
            raise out_of_range(operation, low if low < 0 else high, dim, size)
    return indices.astype(np.intp, copy=False)


def selection(ranges: Ranges) -> tuple[Any, ...]:
    """Ranges as a NumPy index that always gives a view."""
    found: list[Any] = []
    for start, size, step in ranges:
        stop = start + size * step
        found.append(builtins.slice(start, stop if stop >= 0 else None, step) if size else builtins.slice(0, 0))
    return (*found, Ellipsis)


def slice(x: Array, ranges: Ranges) -> Array:
    """A strided view."""
    return np.asarray(x[selection(ranges)])


def slice_assign(x: Array, values: Array, ranges: Ranges) -> Array:
    """A copy of `x` with values written over a strided view."""
    result = np.array(x, order="C")
    result[selection(ranges)] = values
    return result


def select(x: Array, indices: Array, dim: int) -> Array:
    """Whole slices of `x`."""
    return np.take(x, checked("select", indices, dim, x.shape[dim]), axis=dim)


def gather(x: Array, indices: Array, dim: int) -> Array:
    """One element of `x` for each index."""
    positions = checked("gather", indices, dim, x.shape[dim])
    inside = [builtins.slice(None if place == dim else size) for place, size in enumerate(indices.shape)]
    return np.take_along_axis(x[tuple(inside)], positions, axis=dim)


def gather_nd(x: Array, indices: Array) -> Array:
    """One slice of `x` for each tuple of indices."""
    return np.asarray(x[tuple(_columns("gather_nd", x.shape, indices))])


def _columns(operation: str, shape: tuple[int, ...], indices: Array) -> list[Array]:
    return [checked(operation, indices[..., dim], dim, shape[dim]) for dim in range(indices.shape[-1])]


def select_assign(x: Array, indices: Array, values: Array, dim: int, update: str) -> Array:
    """A copy of `x` with whole slices combined with values."""
    positions = checked("select_assign", indices, dim, x.shape[dim])
    result = _writable(x, update)
    _combine(np.moveaxis(result, dim, 0), positions, np.moveaxis(values, dim, 0), update)
    return result.astype(x.dtype, copy=False)


def scatter(x: Array, indices: Array, values: Array, dim: int, update: str) -> Array:
    """A copy of `x` with single elements combined with values."""
    positions = checked("scatter", indices, dim, x.shape[dim])
    result = _writable(x, update)
    places = np.zeros((), np.intp)
    for place, size in enumerate(indices.shape):
        stride = math.prod(x.shape[place + 1 :])
        along = np.arange(size).reshape((size,) + (1,) * (x.ndim - 1 - place))
        places = places + (positions if place == dim else along) * stride
    _combine(result.reshape(-1), np.broadcast_to(places, indices.shape).reshape(-1), values.reshape(-1), update)
    return result.astype(x.dtype, copy=False)


def scatter_nd(x: Array, indices: Array, values: Array, update: str) -> Array:
    """A copy of `x` with slices, addressed by tuples of indices, combined with values."""
    columns = _columns("scatter_nd", x.shape, indices)
    result = _writable(x, update)
    depth = indices.shape[-1]
    places = np.zeros(indices.shape[:-1], np.intp)
    for column, size in zip(columns, x.shape):
        places = places * size + column
    rows = result.reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
    _combine(rows, places.reshape(-1), values.reshape(places.size, *x.shape[depth:]), update)
    return result.astype(x.dtype, copy=False)


def _writable(x: Array, update: str) -> Array:
    """A contiguous copy; halves are widened where several values may be combined."""
    wide = update != "assign" and from_numpy(x.dtype) in HALVES
    return np.array(x, dtype=np.float32 if wide else x.dtype, order="C")


def _combine(rows: Array, positions: Array, values: Array, update: str) -> None:
    """Combine `values[i]` into `rows[positions[i]]`, in place, where positions may repeat.

    `ufunc.at` is fast for single elements only. Longer rows are sorted by position, and the runs of
    one position are reduced together.
    """
    if not values.size:
        return
    if update == "assign":
        rows[positions] = values
        return
    function, values = COMBINE[update], values.astype(rows.dtype, copy=False)
    if rows.ndim == 1:
        function.at(rows, positions, values)
        return
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    targets = ordered[starts]
    groups = function.reduceat(values[order], starts, axis=0, dtype=values.dtype)
    rows[targets] = function(rows[targets], groups)
