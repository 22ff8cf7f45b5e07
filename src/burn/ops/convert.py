"""Conversion of host arrays between element types: one rule for every pair of dtypes.

| from \\ to | float | int | bool |
| --- | --- | --- | --- |
| float | nearest, ties to even | towards zero, saturates, NaN gives 0 | nonzero (NaN is true) |
| int | nearest, ties to even | wraps around | nonzero |
| bool | 0 and 1 | 0 and 1 | itself |

A float too large for a narrower float becomes infinite; where the format has no infinity it becomes
NaN, and `f4e2m1`, which has neither, saturates. From f64 to a float of 16 bits or less other than
f16 the value is rounded to f32 on the way. NumPy leaves float to int undefined outside the range
and warns about it; here it is defined and quiet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import ARITHMETIC, DType, bf16, from_numpy, i8, u8

Array = np.ndarray[Any, Any]

_NUMPY_OWN = frozenset(ARITHMETIC) - {bf16}


def convert_array(array: Array, dtype: DType) -> Array:
    """The values of `array` in `dtype`. Where nothing changes, the array itself."""
    source = from_numpy(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(source.numpy)
    if source is dtype:
        return array
    with np.errstate(all="ignore"):
        array = _plain(array, source)
        if source.is_float and dtype.is_int:
            return _saturate(array, dtype)
        return array.astype(dtype.numpy)


def _plain(array: Array, source: DType) -> Array:
    """The same values in a dtype of NumPy's own: the formats of `ml_dtypes` do not convert among themselves."""
    if source in _NUMPY_OWN:
        return array
    return array.astype(np.float32 if source.is_float else np.int8)


def _saturate(array: Array, dtype: DType) -> Array:
    """Float to int. The plain cast serves where all values fit; otherwise the others are mended."""
    array = np.asarray(array)  # NumPy's kernels give scalars where there are no dims
    if array.dtype == np.float16:
        array = array.astype(np.float32)  # wide enough for the limits below
    carrier = dtype if dtype in _NUMPY_OWN else (u8 if dtype.is_uint else i8)
    limits = dtype.iinfo()
    # `max` itself may not be a float, but the power of two above it always is.
    lowest, above = float(limits.min), float(limits.max + 1)
    result = array.astype(carrier.numpy)
    if array.size and not (array.min() >= lowest and array.max() < above):
        np.copyto(result, limits.min, where=array < lowest)
        np.copyto(result, limits.max, where=array >= above)
        np.copyto(result, 0, where=np.isnan(array))
    return result if carrier is dtype else result.astype(dtype.numpy)
