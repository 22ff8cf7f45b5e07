"""Elements of shape computations: arithmetic on numbers and open sizes, one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from burn import dim as dims
from burn.dim import Dim, TooComplex
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.infer.context import CONTENT_LIMIT, Content, empty_content

Element = Any  # int, float, bool, Dim or None
_DENOMINATOR = 1 << 16


def elementwise(function: Callable[..., Element], *contents: Content | None) -> Content | None:
    """`function` of the elements of broadcast contents; unknown elements stay unknown."""
    if any(content is None for content in contents):
        return None
    try:
        spread = np.broadcast_arrays(*contents)  # type: ignore[arg-type]
    except ValueError:
        return None
    if spread[0].size > CONTENT_LIMIT:
        return None
    result = empty_content(spread[0].shape)
    flat = result.reshape(-1)
    for index, elements in enumerate(zip(*(each.reshape(-1).tolist() for each in spread))):
        flat[index] = _apply(function, elements)
    return result


def _apply(function: Callable[..., Element], elements: tuple[Element, ...]) -> Element:
    if any(each is None for each in elements):
        return None
    try:
        return function(*elements)
    except (TooComplex, ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None


def exact(element: Element) -> int | Fraction | Dim:
    """A number as it takes part in arithmetic with sizes: floats as short fractions or not at all."""
    if isinstance(element, float):
        fraction = Fraction(element)
        if fraction.denominator > _DENOMINATOR:
            raise TooComplex(f"{element} as a factor of a size")
        return fraction
    number: int | Dim = element
    return number


def add(x: Element, y: Element) -> Element:
    return exact(x) + exact(y) if _has_size(x, y) else x + y


def subtract(x: Element, y: Element) -> Element:
    return exact(x) - exact(y) if _has_size(x, y) else x - y  # type: ignore[operator]


def multiply(x: Element, y: Element) -> Element:
    if (type(x) is int and x == 0) or (type(y) is int and y == 0):
        return 0
    return exact(x) * exact(y) if _has_size(x, y) else x * y


def divide_ints(x: Element, y: Element) -> Element:
    """Integer division as the standard has it: towards zero."""
    if _has_size(x, y):
        if isinstance(x, Dim) and all(factor < 0 for _, factor in x.terms):
            raise TooComplex("a negative size")
        return dims.floor_divide(x, y)
    quotient = abs(x) // abs(y)
    return quotient if (x >= 0) == (y >= 0) else -quotient


def divide_floats(x: Element, y: Element) -> Element:
    if not _has_size(x, y):
        return x / y
    divisor = exact(y)
    if isinstance(divisor, Dim):
        quotient = dims.divides(exact(x), divisor)  # type: ignore[arg-type]
        if quotient is None:
            raise TooComplex("a quotient of sizes as a float")
        return quotient
    return exact(x) * (Fraction(1) / divisor)


def modulo(x: Element, y: Element) -> Element:
    if _has_size(x, y) and not (dims.is_at_least(x, 0) and dims.is_at_least(y, 1)):
        raise TooComplex("a remainder of what may be negative")
    return x % y


def round_down(x: Element) -> Element:
    return dims.floor(x) if isinstance(x, Dim) else math.floor(x)


def round_up(x: Element) -> Element:
    return -dims.floor(-x) if isinstance(x, Dim) else math.ceil(x)


def larger(x: Element, y: Element) -> Element:
    return dims.maximum(x, y) if _has_size(x, y) else max(x, y)


def smaller(x: Element, y: Element) -> Element:
    return dims.minimum(x, y) if _has_size(x, y) else min(x, y)


def equal(x: Element, y: Element) -> Element:
    if not _has_size(x, y):
        return x == y
    difference = subtract(x, y)
    if not isinstance(difference, Dim):
        return difference == 0
    return False if dims.is_at_least(difference, 1) or dims.is_at_least(-difference, 1) else None


def less(x: Element, y: Element) -> Element:
    if not _has_size(x, y):
        return x < y
    difference = subtract(y, x)
    if dims.is_at_least(difference, 1):
        return True
    return False if dims.is_at_least(-difference, 0) else None


def choose(condition: Element, x: Element, y: Element) -> Element:
    return x if condition else y


def cast(content: Content | None, source: ElementType | None, target: ElementType | None) -> Content | None:
    """Elements as another type: numbers through NumPy, sizes as they are."""
    if content is None or target is None or target is ElementType.string or target.is_complex:
        return None

    def one(x: Element) -> Element:
        if isinstance(x, Dim):
            if target is ElementType.bool_:
                return True if dims.is_at_least(x, 1) else None
            # named sizes are small enough for every integer type in use, and for f32 and f64 to hold them
            if target.is_float:
                return x if target.bits >= 32 else None
            return dims.floor(x) if target.bits >= 32 else None
        if isinstance(x, float) and not math.isfinite(x):
            return None if not target.is_float else x
        number = np.asarray(x).astype(target.numpy)
        return number.item() if target.numpy.kind in "biuf" else float(number)

    return elementwise(one, content)


def round_to(content: Content | None, dtype: ElementType | None) -> Content | None:
    """Float results as their type stores them; integer results wrapped never, unknown instead."""
    if content is None or dtype is None:
        return content
    if dtype.is_float:
        return elementwise(lambda x: x if isinstance(x, Dim) else np.asarray(x).astype(dtype.numpy).item(), content)
    if dtype.is_int:
        low = -(1 << (dtype.bits - 1)) if dtype.name[0] == "i" else 0
        high = 1 << (dtype.bits - (1 if dtype.name[0] == "i" else 0))
        return elementwise(lambda x: x if isinstance(x, Dim) or low <= x < high else None, content)
    return content


def _has_size(x: Element, y: Element) -> bool:
    return isinstance(x, Dim) or isinstance(y, Dim)


def is_complete(content: Content | None) -> bool:
    """Whether every element is a number."""
    return content is not None and not any(each is None or isinstance(each, Dim) for each in content.reshape(-1))
