"""The code of one element: how each elementwise row of the op table is written in a kernel.

Half precision is computed in f32: loads widen and stores round, so a chain rounds once at its end, and where a cast
says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.cube import KernelBuilder
from burn.cube.ir import Value
from burn.dtype import HALVES, DType, bool_, f32, u8
from burn.program.program import Node, Program

Code = Callable[..., Value]


def computed(dtype: DType) -> DType:
    """The dtype in which a kernel computes elements of `dtype`."""
    return f32 if dtype in HALVES else dtype


def _comparable(b: KernelBuilder, x: Any) -> Any:
    return b.cast(x, u8) if isinstance(x, Value) and x.dtype is bool_ else x


def _compare(name: str) -> Code:
    def code(b: KernelBuilder, x: Any, y: Any) -> Value:
        result: Value = getattr(b, name)(_comparable(b, x), _comparable(b, y))
        return result

    return code


def _by_kind(number: str, truth: str) -> Code:
    """One operation for numbers, another for truth values."""

    def code(b: KernelBuilder, x: Any, y: Any) -> Value:
        dtype = x.dtype if isinstance(x, Value) else y.dtype
        result: Value = getattr(b, truth if dtype is bool_ else number)(x, y)
        return result

    return code


def _direct(name: str) -> Code:
    def code(b: KernelBuilder, *operands: Any) -> Value:
        result: Value = getattr(b, name)(*operands)
        return result

    return code


def _whole_or(name: str) -> Code:
    """Rounding: integers are whole already."""

    def code(b: KernelBuilder, x: Value) -> Value:
        result: Value = x if x.dtype.is_int else getattr(b, name)(x)
        return result

    return code


def _bounded(name: str, beyond: str) -> Code:
    """A bound. If it is a known number it replaces what lies beyond it: NaN does not, in one instruction of three."""

    def code(b: KernelBuilder, x: Any, y: Any) -> Value:
        known = y.constant if isinstance(y, Value) and y.dtype.is_float else None
        if known is None or known != known or not isinstance(x, Value):
            result: Value = getattr(b, name)(x, y)
            return result
        return b.select(getattr(b, beyond)(y, x), y, x)

    return code


def _hypot(b: KernelBuilder, x: Any, y: Any) -> Value:
    big = b.max(b.abs(x), b.abs(y))
    small = b.min(b.abs(x), b.abs(y))
    ratio = b.select(b.eq(big, 0.0), b.const(big.dtype, 0.0), small / big)
    finite = big * b.sqrt(ratio * ratio + 1.0)
    infinite = b.bit_or(b.isinf(x), b.isinf(y))
    return b.select(infinite, b.const(big.dtype, float("inf")), finite)


CODE: dict[str, Code] = {
    **{name: _direct(name) for name in (
        "exp", "log", "log1p", "sqrt", "erf", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
        "asinh", "acosh", "atanh", "abs", "neg", "sub", "pow", "atan2",
    )},
    "sign": lambda b, x: b.select(b.isnan(x), b.const(x.dtype, 0.0), b.sign(x)) if x.dtype.is_float else b.sign(x),
    "recip": lambda b, x: b.const(x.dtype, 1.0) / x,
    "floor": _whole_or("floor"),
    "ceil": _whole_or("ceil"),
    "round": _whole_or("rint"),
    "trunc": _whole_or("trunc"),
    "is_nan": _direct("isnan"),
    "is_inf": _direct("isinf"),
    "add": _by_kind("add", "bit_or"),
    "mul": _by_kind("mul", "bit_and"),
    "div": _direct("div"),
    "true_div": _direct("div"),
    "floor_div": _direct("floor_div"),
    "rem": _direct("floor_rem"),
    "fmod": _direct("rem"),
    "hypot": _hypot,
    "max_pair": _by_kind("max", "bit_or"),
    "min_pair": _by_kind("min", "bit_and"),
    "clamp_min": _bounded("max", "gt"),
    "clamp_max": _bounded("min", "lt"),
    "equal": _direct("eq"),
    "not_equal": _direct("ne"),
    "greater": _compare("gt"),
    "greater_equal": _compare("ge"),
    "lower": _compare("lt"),
    "lower_equal": _compare("le"),
    "bool_not": _direct("bit_not"),
    "bool_and": _direct("bit_and"),
    "bool_or": _direct("bit_or"),
    "bool_xor": _direct("bit_xor"),
    "bitwise_not": _direct("bit_not"),
    "bitwise_and": _direct("bit_and"),
    "bitwise_or": _direct("bit_or"),
    "bitwise_xor": _direct("bit_xor"),
    "bitwise_left_shift": _direct("shl"),
    "bitwise_right_shift": _direct("shr"),
    "mask_where": lambda b, x, mask, value: b.select(mask, value, x),
    "mask_fill": lambda b, x, mask, value: b.select(mask, value, x),
}  # fmt: skip
"""From the name of a row to the code of its element."""


REDUCTION = {
    "sum_dims": "sum", "prod_dims": "prod", "max_dims": "max", "min_dims": "min", "any_dims": "any", "all_dims": "all",
}  # fmt: skip

ONLY_FLOATS = frozenset(("pow",))


def fits_a_loop(program: Program, node: Node) -> bool:
    """Whether a loop can hold this node: there is code for it, and for its dtypes."""
    name = node.op.name
    dtypes = [program.values[number].dtype for number in (*node.reads(), *node.results)]
    if not all(dtype.is_arithmetic for dtype in dtypes):
        return False
    if name in ONLY_FLOATS and not dtypes[-1].is_float:
        return False
    return name in CODE or name in REDUCTION or name == "cast"
