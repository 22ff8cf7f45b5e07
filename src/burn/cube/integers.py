"""Guards: division, shifts, minima and maxima in terms of operations that every target has.

Processors trap or disagree on division by zero, on the quotient of the lowest integer and -1, and on shifts by the
width or more. The guards fall away where the right operand is a harmless constant.
"""

from __future__ import annotations

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Operation, Value
from burn.cube.rewrite import Rule


def _unchecked(b: KernelBuilder, name: str, x: Value, y: Value) -> Value:
    return b._pure(f"{name}_unchecked", (x, y))


def _divide(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value | None:
    x, y = operands
    if x.dtype.is_float:
        return None
    name = operation.name
    if y.constant is not None and y.constant not in (0, -1):
        return _unchecked(b, name, x, y)
    zero = b.eq(y, 0)
    if x.dtype.is_uint:
        return b.select(zero, 0, _unchecked(b, name, x, b.select(zero, 1, y)))
    minus = b.eq(y, -1)
    safe = _unchecked(b, name, x, b.select(zero | minus, 1, y))
    by_minus = b.neg(x) if name == "div" else b.const(x.dtype, 0)
    return b.select(zero, 0, b.select(minus, by_minus, safe))


def _shift(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    x, y = operands
    name, bits = operation.name, x.dtype.bits
    if isinstance(y.constant, int) and 0 <= y.constant < bits:
        return _unchecked(b, name, x, y)
    inside = y < bits if x.dtype.is_uint else b.ge(y, 0) & (y < bits)
    beyond: Value | int = 0
    if name == "shr" and not x.dtype.is_uint:
        beyond = _unchecked(b, "shr", x, b.const(x.dtype, bits - 1))
    return b.select(inside, _unchecked(b, name, x, b.select(inside, y, 0)), beyond)


def _extreme(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value:
    x, y = operands
    chosen = b.select(x > y if operation.name == "max" else x < y, x, y)
    return b.select(b.isnan(x), x, chosen) if x.dtype.is_float else chosen


RULES: dict[str, Rule] = {
    "div": _divide, "rem": _divide, "shl": _shift, "shr": _shift, "min": _extreme, "max": _extreme,
}  # fmt: skip
