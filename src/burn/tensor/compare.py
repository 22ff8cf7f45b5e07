"""Comparison of host data: which elements differ, and failures that show the first few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import DType
from burn.ops.convert import Array, convert_array
from burn.tensor.printing import format_element
from burn.tensor.tolerance import Tolerance

if TYPE_CHECKING:
    from burn.tensor.data import TensorData

SHOWN = 5
"""How many differences a failure lists."""


def differing(x: Array, y: Array) -> Array:
    """Where two arrays of one shape differ, NaN counting as equal to NaN."""
    x, y = _plain(x), _plain(y)
    if x.dtype.kind != y.dtype.kind and "f" in (x.dtype.kind, y.dtype.kind):
        x, y = x.astype(np.float64), y.astype(np.float64)
    unequal = np.asarray(x != y)
    if x.dtype.kind == "f":
        unequal &= ~(np.isnan(x) & np.isnan(y))
    return unequal


def _plain(array: Array) -> Array:
    """An exact copy in a dtype that NumPy itself compares."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.float32)  # holds every value of the 16-bit and narrower formats


def assert_eq(left: TensorData, right: TensorData, strict: bool) -> None:
    """Fail unless shapes, values and (strict) dtypes are equal."""
    if strict and left.dtype is not right.dtype:
        raise AssertionError(
            f"assert_eq: dtypes differ: {left.dtype} and {right.dtype}; use strict=False to compare values only"
        )
    _check_shapes("assert_eq", left, right)
    _fail("assert_eq", "elements differ", differing(left.numpy(), right.numpy()), left, right)


def assert_approx_eq(left: TensorData, right: TensorData, tolerance: Tolerance | float | None) -> None:
    """Fail unless shapes agree and values are close."""
    _check_shapes("assert_approx_eq", left, right)
    chosen = Tolerance.of(tolerance)
    x, y = left.numpy().astype(np.float64), right.numpy().astype(np.float64)
    floats = [each.dtype for each in (left, right) if each.dtype.is_float]
    dtype = min(floats, key=lambda each: each.bits, default=left.dtype)
    close = chosen.close(x, y, dtype) | (np.isnan(x) & np.isnan(y))
    relative, absolute = chosen.bounds(dtype)
    what = f"elements are not close (relative {relative:g}, absolute {absolute:g})"
    _fail("assert_approx_eq", what, ~close, left, right, distances=np.abs(_difference(x, y)))


def assert_within_range(data: TensorData, low: Any, high: Any, inclusive: bool) -> None:
    """Fail unless every element lies between two bounds."""
    if high is None:
        try:
            low, high = (low.start, low.stop) if isinstance(low, (range, slice)) else low
        except (TypeError, ValueError):
            raise TypeError(f"assert_within_range: needs two bounds or a range, got {low!r}") from None
    values = _plain(data.numpy())
    inside = (values >= low) & ((values <= high) if inclusive else (values < high))
    outside = ~np.asarray(inside)
    if outside.any():
        name = "assert_within_range_inclusive" if inclusive else "assert_within_range"
        bounds = f"[{low}, {high}{']' if inclusive else ')'}"
        lines = [
            f"  at {_place(index)}: {_text(data, index)}" for index in np.argwhere(outside)[:SHOWN]
        ]  # fmt: skip
        raise AssertionError(_message(name, f"elements lie outside {bounds}", outside, lines))


def lost_by_conversion(array: Array, source: DType, target: DType) -> tuple[str, str] | None:
    """The place and text of the first value that leaves the range of `target`, or None."""
    if target.is_bool or source.is_bool or source is target:
        return None
    values = _plain(array)
    if target.is_int:
        limits = target.iinfo()
        if source.is_float:
            whole = np.trunc(values)
            inside = (whole >= float(limits.min)) & (whole < float(limits.max + 1))
        else:
            inside = (values >= limits.min) & (values <= limits.max)
    else:
        inside = np.isfinite(_plain(convert_array(array, target))) | ~np.isfinite(values)
    outside = ~np.asarray(inside)
    if not outside.any():
        return None
    index = np.argwhere(outside)[0]
    return _place(index), format_element(array[tuple(index)], source)


def _difference(x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(x - y)


def _check_shapes(operation: str, left: TensorData, right: TensorData) -> None:
    if left.shape != right.shape:
        raise AssertionError(f"{operation}: shapes differ: {left.shape} and {right.shape}")


def _place(index: Array) -> str:
    return f"[{', '.join(str(each) for each in index)}]"


def _text(data: TensorData, index: Array) -> str:
    return format_element(data.numpy()[tuple(index)], data.dtype)


def _message(operation: str, what: str, faults: Array, lines: list[str]) -> str:
    count = int(np.count_nonzero(faults))
    if count > len(lines):
        lines = [*lines, f"  and {count - len(lines)} more"]
    return "\n".join([f"{operation}: {count} of {faults.size} {what}", *lines])


def _fail(
    operation: str, what: str, faults: Array, left: TensorData, right: TensorData, distances: Array | None = None
) -> None:
    if not faults.any():
        return
    lines = []
    for index in np.argwhere(faults)[:SHOWN]:
        line = f"  at {_place(index)}: {_text(left, index)} != {_text(right, index)}"
        lines.append(line if distances is None else f"{line} (apart by {float(distances[tuple(index)]):g})")
    raise AssertionError(_message(operation, what, faults, lines))
