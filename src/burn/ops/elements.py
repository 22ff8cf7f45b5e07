"""The code of one element, where it is more than a line of its row.

An element is a function `(b, *operands, *attributes)` over the builder of kernels, a `burn.cube.KernelBuilder` that it
is given, so a row needs no import of the kernel language. Operands are values of that language; half precision is
computed in f32, so an element never sees f16 or bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.dtype import HALVES, DType, bool_, f32, u8

Element = Callable[..., Any]


def compared(name: str) -> Element:
    """A comparison by order: false is below true."""

    def comparable(b: Any, x: Any) -> Any:
        return b.cast(x, u8) if x.dtype is bool_ else x

    return lambda b, x, y: getattr(b, name)(comparable(b, x), comparable(b, y))


def by_kind(number: str, truth: str) -> Element:
    """One operation for numbers, another for truth values."""
    return lambda b, x, y: getattr(b, truth if x.dtype is bool_ else number)(x, y)


def whole_or(name: str) -> Element:
    """Rounding: integers are whole already."""
    return lambda b, x: x if x.dtype.is_int else getattr(b, name)(x)


def bounded(name: str, beyond: str) -> Element:
    """A bound. If it is a known number it replaces what lies beyond it: NaN does not, in one instruction of three."""

    def element(b: Any, x: Any, y: Any) -> Any:
        known = y.constant if y.dtype.is_float else None
        if known is None or known != known:
            return getattr(b, name)(x, y)
        return b.select(getattr(b, beyond)(y, x), y, x)

    return element


def sign(b: Any, x: Any) -> Any:
    """-1, 0 or 1, and 0 for NaN."""
    return b.select(b.isnan(x), b.const(x.dtype, 0.0), b.sign(x)) if x.dtype.is_float else b.sign(x)


def hypot(b: Any, x: Any, y: Any) -> Any:
    """The root of the sum of squares, without overflow on the way."""
    big = b.max(b.abs(x), b.abs(y))
    small = b.min(b.abs(x), b.abs(y))
    ratio = b.select(b.eq(big, 0.0), b.const(big.dtype, 0.0), small / big)
    finite = big * b.sqrt(ratio * ratio + 1.0)
    infinite = b.bit_or(b.isinf(x), b.isinf(y))
    return b.select(infinite, b.const(big.dtype, float("inf")), finite)


def where(b: Any, x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is true."""
    return b.select(mask, value, x)


def cast(b: Any, x: Any, dtype: DType) -> Any:
    """Another dtype. A cast to half precision rounds where it stands, whatever becomes of its result."""
    held = f32 if dtype in HALVES else dtype
    if x.dtype is not held:
        x = b.cast(x, held)
    return b.cast(b.cast(x, dtype), held) if dtype in HALVES else x
