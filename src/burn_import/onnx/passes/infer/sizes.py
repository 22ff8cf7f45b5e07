"""Arithmetic on shapes that may have open sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from burn import dim as dims
from burn.dim import Dim, TooComplex
from burn_import.onnx.ir.types import Shape, Size

MAX_RANK = 64


def known(size: Size) -> bool:
    return size is not None


def calculate(function: Callable[..., Any], *sizes: Size) -> Size:
    """`function` of sizes; None when one of them is not known, or the result is too long to be of use."""
    if any(size is None for size in sizes):
        return None
    try:
        result: Size = function(*sizes)
    except (TooComplex, ZeroDivisionError):
        return None
    return result


def add(*sizes: Size) -> Size:
    total: Size = 0
    for size in sizes:
        total = calculate(lambda x, y: x + y, total, size)
    return total


def product(sizes: Iterable[Size]) -> Size:
    """All sizes multiplied; 0 as soon as one of them is."""
    total: Size = 1
    for size in sizes:
        if type(size) is int and size == 0:
            return 0
        total = calculate(lambda x, y: x * y, total, size)
    return total


def ceil_divide(left: Size, right: Size) -> Size:
    return calculate(lambda x, y: dims.floor_divide(x + y - 1, y), left, right)


def floor_divide(left: Size, right: Size) -> Size:
    return calculate(dims.floor_divide, left, right)


def at_least_zero(size: Size) -> Size:
    return calculate(lambda x: dims.maximum(x, 0), size)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape that several shapes give together, sizes aligned at the end."""
    if any(shape is None for shape in shapes) or not shapes:
        return None
    rank = max(len(shape) for shape in shapes if shape is not None)
    result: list[Size] = []
    for axis in range(-rank, 0):
        size: Size = 1
        for shape in shapes:
            assert shape is not None
            if len(shape) >= -axis:
                size = _broadcast_size(size, shape[axis])
        result.append(size)
    return tuple(result)


def _broadcast_size(left: Size, right: Size) -> Size:
    if left == right:
        return left
    if type(left) is int and left == 1:
        return right
    if type(right) is int and right == 1:
        return left
    if type(left) is int:  # the other one is 1 or the same
        return left
    if type(right) is int:
        return right
    # two open sizes: the same, or one of them is 1
    if left is None or right is None or not (dims.is_at_least(left, 1) and dims.is_at_least(right, 1)):
        return None
    return calculate(dims.maximum, left, right)


def unknown(count: Size) -> Shape | None:
    """A shape of which only the rank is known, and not even that if the rank is none a tensor can have."""
    return (None,) * count if isinstance(count, int) and 0 <= count <= MAX_RANK else None


def normalise(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def merge(left: Size, right: Size) -> Size:
    """What holds for both of two possible sizes."""
    return left if left == right else None


def merge_shapes(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(merge(a, b) for a, b in zip(left, right))


def symbols(size: Size) -> tuple[str, ...]:
    return size.symbols() if isinstance(size, Dim) else ()
