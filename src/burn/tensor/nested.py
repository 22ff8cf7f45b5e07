"""Nested lists: from Python values to an array, with errors that say where the list is wrong.

NumPy reads a well-formed list quickly, so it goes first; only what NumPy refuses or would bend (ragged
lists, text, ints beyond 64 bits) is walked in Python, to name the place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from burn.dtype import DType, bool_, f32, from_numpy, i64, u64
from burn.errors import DataError
from burn.ops.convert import Array, convert_array

_NESTED = (list, tuple)


def read_nested(values: Any, dtype: DType | None) -> tuple[Array, DType]:
    """The array and dtype of nested lists or of one number.

    Python floats become f32, ints i64 (u64 beyond it), bools bool; lists of NumPy values keep their
    dtype. Python ints must fit an int dtype that is asked for.
    """
    try:
        array = np.array(values)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        _explain(values)
        raise DataError(f"TensorData: NumPy cannot read these values: {error}") from None
    if array.dtype.kind in "OUSMmc" or (array.dtype == np.float64 and _may_hide_large_ints(array)):
        if _explain(values):
            array = np.array(values, np.uint64)
        elif array.dtype.kind in "OUSMmc":
            raise DataError(f"TensorData: values of NumPy's {array.dtype} are no numbers or bools")
    from_python = not hasattr(_first_leaf(values), "dtype")
    natural = _natural_dtype(array, from_python)
    if dtype is not None and dtype.is_int and from_python and array.dtype.kind in "iu" and array.size:
        _check_fits(array, dtype)
    chosen = natural if dtype is None else dtype
    return convert_array(array, chosen), chosen


def _natural_dtype(array: Array, from_python: bool) -> DType:
    if not from_python:
        return from_numpy(array.dtype)
    if array.dtype.kind == "b":
        return bool_
    if array.dtype.kind == "u":
        return u64
    return i64 if array.dtype.kind == "i" else f32


def _may_hide_large_ints(array: Array) -> bool:
    """Whether NumPy may have turned ints into floats because no int type holds them all."""
    with np.errstate(all="ignore"):
        return bool(array.size) and bool(np.any(np.abs(array) >= 2.0**63))


def _check_fits(array: Array, dtype: DType) -> None:
    limits = dtype.iinfo()
    for value in (int(array.min()), int(array.max())):
        if not limits.min <= value <= limits.max:
            raise DataError(
                f"TensorData: {value} does not fit {dtype}, which holds {limits.min} to {limits.max}; "
                f"choose a wider dtype, or wrap it with TensorData(values).convert({dtype.name!r})"
            )


def _first_leaf(values: Any) -> Any:
    while isinstance(values, _NESTED) and values:
        values = values[0]
    return values


def _place(path: tuple[int, ...]) -> str:
    return "values" + "".join(f"[{index}]" for index in path)


def _explain(values: Any) -> bool:
    """Raise an error that names the first fault; where there is none, say whether u64 holds everything."""
    expected: list[int] = []
    level = values
    while isinstance(level, _NESTED):
        expected.append(len(level))
        if not level:
            break
        level = level[0]
    leaves = list(_leaves(values, (), expected))
    ints = [(_place(path), value) for path, value in leaves if isinstance(value, int)]
    for place, value in ints:
        if not -(1 << 63) <= value < 1 << 64:
            raise DataError(f"TensorData: {place} is {value}, which no 64-bit int holds; write it as a float")
    negative = next((each for each in ints if each[1] < 0), None)
    large = next((each for each in ints if each[1] >= 1 << 63), None)
    if large is None or len(ints) != len(leaves):
        return False
    if negative:
        raise DataError(
            f"TensorData: {large[0]} is {large[1]}, which needs u64, and {negative[0]} is {negative[1]}, "
            "which u64 cannot hold; write them as floats"
        )
    return True


def _leaves(value: Any, path: tuple[int, ...], expected: list[int]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The numbers of a nested list with their places, as long as it is no more and no less nested than expected."""
    depth = len(path)
    if isinstance(value, _NESTED):
        if depth >= len(expected):
            raise DataError(
                f"TensorData: ragged nested list: {_place(path)} is a list of {len(value)} where "
                f"{_place((0,) * depth)} is a single value"
            )
        if len(value) != expected[depth]:
            raise DataError(
                f"TensorData: ragged nested list: {_place(path)} has {len(value)} elements and "
                f"{_place((0,) * depth)} has {expected[depth]}; all lists of one level need the same length"
            )
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, index), expected)
    elif hasattr(value, "__array__"):
        return
    elif depth < len(expected):
        raise DataError(
            f"TensorData: ragged nested list: {_place(path)} is the single value {value!r} where "
            f"{_place((0,) * depth)} is a list of {expected[depth]}"
        )
    elif not isinstance(value, (bool, int, float)):
        raise DataError(f"TensorData: {_place(path)} is {value!r} ({type(value).__name__}), not a number or bool")
    else:
        yield path, value
