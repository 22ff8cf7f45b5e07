"""Single elements: a number converted to the value that a dtype can hold.

    elem(2.7, i32)          # 2
    elem(300, u8)           # 44: ints wrap
    elem(1e10, i32)         # 2147483647: floats saturate
    elem(0.1, f32)          # 0.10000000149011612

The rules are those of `convert_array`, for numbers of any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import DType
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError
from burn.ops.convert import convert_array

Number = bool | int | float


def _number(value: Any) -> Number:
    """A Python number from a Python, NumPy or one-element value."""
    if isinstance(value, np.generic) or (not isinstance(value, (bool, int, float)) and hasattr(value, "item")):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DTypeError(f"elem: {value!r} ({type(value).__name__}) is not a number") from None


def elem(value: Any, dtype: Any) -> Number:
    """The Python number that `value` becomes when stored as `dtype`.

    >>> from burn.tensor import elem
    >>> elem(2.7, "i32"), elem(300, "u8"), elem(0.1, "f32")
    (2, 44, 0.10000000149011612)
    """
    target: DType = as_dtype(dtype)
    number = _number(value)
    if target.is_bool:
        return number != 0
    if isinstance(number, int) and target.is_int:
        return _wrap(int(number), target)
    return convert_array(_array(number), target).item()  # type: ignore[no-any-return]


def _array(number: Number) -> np.ndarray[Any, Any]:
    """A 0-d array; ints stay ints, so that they are rounded only once, where NumPy has room for them."""
    if isinstance(number, float) or -(1 << 63) <= number < (1 << 64):
        return np.array(number)
    try:
        return np.array(float(number))
    except OverflowError:
        return np.array(np.inf if number > 0 else -np.inf)


def _wrap(number: int, target: DType) -> int:
    limits = target.iinfo()
    return (number - limits.min) % (1 << target.bits) + limits.min


class ElementConversion:
    """A number, the `value`, waiting for its dtype.

    >>> from burn.prelude import ElementConversion
    >>> ElementConversion(2.7).elem("i32"), ElementConversion.from_elem(300, "u8")
    (2, 44)
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = _number(value)

    def elem(self, dtype: Any) -> Number:
        """The number as `dtype` stores it."""
        return elem(self.value, dtype)

    @staticmethod
    def from_elem(value: Any, dtype: Any) -> Number:
        """The same as `elem(value, dtype)`."""
        return elem(value, dtype)

    def __repr__(self) -> str:
        return f"ElementConversion({self.value!r})"
