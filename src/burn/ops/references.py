"""NumPy references of elementwise rows whose meaning is not one NumPy function.

Integers follow the rules of the project: anything divided by 0 is 0, the smallest integer divided
by -1 wraps, and a shift by the width or more gives 0 (-1 for a negative number shifted right).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _is_integer(*values: Any) -> bool:
    return all(isinstance(v, int) or getattr(v, "dtype", np.dtype(float)).kind in "iub" for v in values)


def recip(x: Array) -> Array:
    """`1 / x` in the dtype of `x`."""
    return np.true_divide(1, x).astype(x.dtype, copy=False)


def absolute(x: Array) -> Array:
    """The absolute value; unsigned values are their own."""
    return np.abs(x)


def sign(x: Array) -> Array:
    """-1, 0 or 1; NaN gives 0."""
    result = np.sign(x)
    return np.where(np.isnan(x), 0, result).astype(x.dtype) if x.dtype.kind not in "iu" else result


def floor(x: Array) -> Array:
    """Round down; integers are whole already."""
    return x if x.dtype.kind in "iu" else np.floor(x)


def ceil(x: Array) -> Array:
    """Round up; integers are whole already."""
    return x if x.dtype.kind in "iu" else np.ceil(x)


def round(x: Array) -> Array:
    """Round halves to even; integers are whole already."""
    return x if x.dtype.kind in "iu" else np.rint(x)


def trunc(x: Array) -> Array:
    """Round towards zero; integers are whole already."""
    return x if x.dtype.kind in "iu" else np.trunc(x)


def _guarded(x: Any, y: Any, compute: Any) -> Array:
    """Compute an integer division where the divisor is not 0, and give 0 elsewhere."""
    dtype = np.result_type(x, y)
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    zero = y == 0
    safe = np.where(zero, np.ones((), dtype), y)
    if dtype.kind == "i":
        minimum = np.iinfo(dtype).min
        overflow = (x == minimum) & (safe == -1)
        safe = np.where(overflow, np.ones((), dtype), safe)
    return np.where(zero, np.zeros((), dtype), compute(x, safe)).astype(dtype)


def _truncated(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    inexact = quotient * y != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(quotient.dtype)  # type: ignore[no-any-return]


def div(x: Any, y: Any) -> Array:
    """Division: truncated for integers, true for floats."""
    if _is_integer(x, y):
        return _guarded(x, y, _truncated)
    result: Array = np.true_divide(x, y)
    return result


def floor_div(x: Any, y: Any) -> Array:
    """Division rounded down."""
    if _is_integer(x, y):
        return _guarded(x, y, np.floor_divide)
    result: Array = np.floor_divide(x, y)
    return result


def rem(x: Any, y: Any) -> Array:
    """The remainder with the sign of the divisor."""
    if _is_integer(x, y):
        return _guarded(x, y, np.remainder)
    result: Array = np.remainder(x, y)
    return result


def fmod(x: Any, y: Any) -> Array:
    """The remainder with the sign of the dividend."""
    if _is_integer(x, y):
        return _guarded(x, y, np.fmod)
    result: Array = np.fmod(x, y)
    return result


def power(x: Any, y: Any) -> Array:
    """Powers; a negative integer power of an integer is 0 unless the base is 1 or -1."""
    dtype = np.result_type(x, y)
    if not _is_integer(x, y) or dtype.kind == "u":
        result: Array = np.power(x, y)
        return result
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    positive = np.power(x, np.maximum(y, 0))
    odd = np.where(y % 2 == 0, np.ones((), dtype), -np.ones((), dtype))
    negative = np.where(x == 1, np.ones((), dtype), np.where(x == -1, odd, np.zeros((), dtype)))
    return np.where(y < 0, negative, positive).astype(dtype)


def left_shift(x: Any, y: Any) -> Array:
    """Shift left; too far, or by a negative count, gives 0."""
    dtype = np.result_type(x, y)
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    inside = (y >= 0) & (y < dtype.itemsize * 8)
    return np.where(inside, np.left_shift(x, np.where(inside, y, 0)), 0).astype(dtype)


def right_shift(x: Any, y: Any) -> Array:
    """Shift right with the sign; too far, or by a negative count, gives 0 or -1."""
    dtype = np.result_type(x, y)
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    inside = (y >= 0) & (y < dtype.itemsize * 8)
    beyond = np.where(x < 0, -1, 0).astype(dtype) if dtype.kind == "i" else np.zeros((), dtype)
    return np.where(inside, np.right_shift(x, np.where(inside, y, 0)), beyond).astype(dtype)


def mask_fill(x: Array, mask: Array, value: Any) -> Array:
    """`value` where the mask is true."""
    return np.where(mask, np.asarray(value, x.dtype), x)


def cast(x: Array, dtype: Any) -> Array:
    """Convert with saturation; the table of conversions is the project's own."""
    from burn.ops.convert import convert_array

    return convert_array(x, dtype)


_ERF_SMALL_TOP = (
    3.20937758913846947e03, 3.77485237685302021e02, 1.13864154151050156e02, 3.16112374387056560e00,
    1.85777706184603153e-1,
)  # fmt: skip
_ERF_SMALL_BOTTOM = (
    2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02, 2.36012909523441209e01, 1.0,
)  # fmt: skip


def erf(x: Array) -> Array:
    """The error function by the rational approximations of Cody (1969), in double precision."""
    values = np.asarray(x, np.float64)
    size = np.abs(values)
    small = size <= 0.46875
    medium = (size > 0.46875) & (size <= 4.0)
    squared = np.where(small, values, 0.0) ** 2
    result = np.where(small, values, 0.0) * _ratio(squared, _ERF_SMALL_TOP, _ERF_SMALL_BOTTOM)
    between = np.where(medium, size, 1.0)
    tail = np.exp(-between * between) * _ratio(between, _ERFC_MEDIUM_TOP, _ERFC_MEDIUM_BOTTOM)
    result = np.where(medium, np.copysign(1.0 - tail, values), result)
    far = np.where((size > 4.0) & (size < 6.0), size, 5.0)
    inverse = 1.0 / (far * far)
    tail = inverse * _ratio(inverse, _ERFC_FAR_TOP, _ERFC_FAR_BOTTOM)
    tail = np.exp(-far * far) / far * (0.56418958354775628695 - tail)
    result = np.where(size > 4.0, np.copysign(np.where(size < 6.0, 1.0 - tail, 1.0), values), result)
    return np.where(np.isnan(values), values, result).astype(x.dtype)


_ERFC_MEDIUM_TOP = (
    1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03, 8.81952221241769090e02,
    2.98635138197400131e02, 6.61191906371416295e01, 8.88314979438837594e00, 5.64188496988670089e-1,
    2.15311535474403846e-8,
)  # fmt: skip
_ERFC_MEDIUM_BOTTOM = (
    1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03, 3.29079923573345963e03,
    1.62138957456669019e03, 5.37181101862009858e02, 1.17693950891312499e02, 1.57449261107098347e01, 1.0,
)  # fmt: skip
_ERFC_FAR_TOP = (
    6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1, 3.60344899949804439e-1,
    3.05326634961232344e-1, 1.63153871373020978e-2,
)  # fmt: skip
_ERFC_FAR_BOTTOM = (
    2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1, 1.87295284992346047e00,
    2.56852019228982242e00, 1.0,
)  # fmt: skip


def _ratio(x: Array, top: tuple[float, ...], bottom: tuple[float, ...]) -> Array:
    """A quotient of polynomials, coefficients from the constant up."""
    return _polynomial(x, top) / _polynomial(x, bottom)  # type: ignore[no-any-return]


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result
