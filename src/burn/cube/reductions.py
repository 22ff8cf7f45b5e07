"""What reductions do: the identity they start from, what an element contributes, and how two results combine.

A combination is written with the builder, so it is part of the kernel, and targets need no list of reductions.
`argmax` and `argmin` carry (value, index), and agree with PyTorch: the lowest index wins, and NaN wins over numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from burn.cube.ir import Value
from burn.dtype import DType, bool_, i64

if TYPE_CHECKING:
    from burn.cube.builder import KernelBuilder

Values = tuple[Value, ...]
LAST_INDEX = (1 << 63) - 1


class Reduction(NamedTuple):
    """One kind of reduction. `identity` gives numbers, one for each dtype that `carried` lists."""

    identity: Callable[[DType], tuple[float | int | bool, ...]]
    combine: Callable[[KernelBuilder, Values, Values], Values]
    carried: Callable[[DType], tuple[DType, ...]] = lambda dtype: (dtype,)
    contribution: Callable[[KernelBuilder, Value, Value], Values] = lambda b, value, index: (value,)


def lowest(dtype: DType) -> float | int:
    """The number below every other one of `dtype`."""
    return -math.inf if dtype.is_float else dtype.iinfo().min


def highest(dtype: DType) -> float | int:
    """The number above every other one of `dtype`."""
    return math.inf if dtype.is_float else dtype.iinfo().max


def _pick(greater: bool) -> Callable[[KernelBuilder, Values, Values], Values]:
    def combine(b: KernelBuilder, left: Values, right: Values) -> Values:
        (x, i), (y, j) = left, right
        better = y > x if greater else y < x
        equal = b.eq(x, y)
        if x.dtype.is_float:
            x_nan, y_nan = b.isnan(x), b.isnan(y)
            better = better | (y_nan & ~x_nan)
            equal = equal | (x_nan & y_nan)
        take = better | (equal & (j < i))
        return b.select(take, y, x), b.select(take, j, i)

    return combine


def _indexed(start: Callable[[DType], float | int], greater: bool) -> Reduction:
    return Reduction(
        identity=lambda dtype: (start(dtype), LAST_INDEX),
        combine=_pick(greater),
        carried=lambda dtype: (dtype, i64),
        contribution=lambda b, value, index: (value, index),
    )


def _bool(dtype: DType) -> tuple[DType, ...]:
    return (bool_,)


def _truth(b: KernelBuilder, value: Value, index: Value) -> Values:
    return (value if value.dtype is bool_ else b.ne(value, 0),)


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction(lambda dtype: (0,), lambda b, x, y: (b.add(x[0], y[0]),)),
    "prod": Reduction(lambda dtype: (1,), lambda b, x, y: (b.mul(x[0], y[0]),)),
    "max": Reduction(lambda dtype: (lowest(dtype),), lambda b, x, y: (b.max(x[0], y[0]),)),
    "min": Reduction(lambda dtype: (highest(dtype),), lambda b, x, y: (b.min(x[0], y[0]),)),
    "any": Reduction(lambda dtype: (False,), lambda b, x, y: (b.bit_or(x[0], y[0]),), _bool, _truth),
    "all": Reduction(lambda dtype: (True,), lambda b, x, y: (b.bit_and(x[0], y[0]),), _bool, _truth),
    "argmax": _indexed(lowest, greater=True),
    "argmin": _indexed(highest, greater=False),
}
