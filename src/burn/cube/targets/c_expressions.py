"""Pure operations as C expressions, and the few helper functions they call.

Integers are computed unsigned, where overflow wraps; conversions from float saturate in a helper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from burn.cube.errors import KernelError
from burn.dtype import HALVES, DType, bool_, f32

TYPES = {
    "f64": "double", "f32": "float", "f16": "uint16_t", "bf16": "uint16_t", "i64": "int64_t", "u64": "uint64_t",
    "i32": "int32_t", "u32": "uint32_t", "i16": "int16_t", "u16": "uint16_t", "i8": "int8_t", "u8": "uint8_t",
    "bool": "bool",
}  # fmt: skip
"""f16 and bf16 are held as their bits."""

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "div_unchecked": "/", "rem_unchecked": "%", "bit_and": "&",
    "bit_or": "|", "bit_xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "shl_unchecked": "<<", "shr_unchecked": ">>",
}  # fmt: skip
COMPARISONS = frozenset("lt le gt ge eq ne".split())
WRAPPING = frozenset("add sub mul bit_and bit_or bit_xor shl_unchecked".split())


def literal(value: Any, dtype: DType) -> str:
    """A constant, exactly."""
    if dtype is bool_:
        return "true" if value else "false"
    if dtype in HALVES:
        return f"((uint16_t){int.from_bytes(dtype.numpy.type(value).tobytes(), 'little')})"
    if dtype.is_float:
        letter = "f" if dtype is f32 else ""
        if math.isnan(value):
            return f'__builtin_nan{letter}("")'
        if math.isinf(value):
            return f"({'-' if value < 0 else ''}__builtin_inf{letter}())"
        return f"({float(value).hex()}{letter})"
    if dtype.bits == 64:
        if value == -(1 << 63):
            return "INT64_MIN"
        return f"UINT64_C({value})" if dtype.is_uint else f"INT64_C({value})" if value >= 0 else f"(-INT64_C({-value}))"
    if value == -(1 << 31):
        return "INT32_MIN"
    return f"(({TYPES[dtype.name]}){value}{'u' if dtype.is_uint else ''})"


def expression(name: str, given: DType, dtype: DType, x: list[str]) -> str:
    """One pure operation: `given` is the dtype of its (first) operands, `dtype` that of its result."""
    type_ = TYPES[dtype.name]
    if name == "select":
        return f"{x[0]} ? {x[1]} : {x[2]}"
    if name == "isnan":
        return f"{x[0]} != {x[0]}"
    if name == "bitcast":
        if TYPES[given.name] == type_:
            return x[0]
        return f"bits_{given.name}_{dtype.name}({x[0]})"
    if name == "cast":
        return cast(given, dtype, x[0])
    if given.is_float:
        text = _float(name, given, x)
    else:
        text = _integer(name, given, x)
    if text is None:
        raise KernelError(f"c: {name} of {given.name} is not implemented by the C target")
    return text


def _float(name: str, given: DType, x: list[str]) -> str | None:
    letter = "f" if given is f32 else ""
    if name in ("add", "sub", "mul", "div") or name in COMPARISONS:
        return f"{x[0]} {SYMBOLS[name]} {x[1]}"
    if name == "neg":
        return f"-{x[0]}"
    if name in ("abs", "sqrt", "fma"):
        builtin = {"abs": "fabs", "sqrt": "sqrt", "fma": "fma"}[name]
        return f"__builtin_{builtin}{letter}({', '.join(x)})"
    return None


def _integer(name: str, given: DType, x: list[str]) -> str | None:
    type_ = TYPES[given.name]
    wide = "uint64_t" if given.bits == 64 else "uint32_t"
    if given is bool_ and name == "bit_not":
        return f"!{x[0]}"
    if name in COMPARISONS:
        return f"{x[0]} {SYMBOLS[name]} {x[1]}"
    if name in WRAPPING:
        return f"({type_})(({wide}){x[0]} {SYMBOLS[name]} ({wide}){x[1]})"
    if name in SYMBOLS and name != "div":
        return f"({type_})({x[0]} {SYMBOLS[name]} {x[1]})"
    if name == "bit_not":
        return f"({type_})~{x[0]}"
    if name == "neg":
        return f"({type_})(0u - ({wide}){x[0]})"
    if name == "abs":
        return x[0] if given.is_uint else f"({type_})({x[0]} < 0 ? 0u - ({wide}){x[0]} : ({wide}){x[0]})"
    if name == "mulhi":
        double = {32: "int64_t", 64: "__int128"}[given.bits]
        double = ("u" if given.bits == 32 else "unsigned ") + double if given.is_uint else double
        return f"({type_})((({double}){x[0]} * {x[1]}) >> {given.bits})"
    return None


def cast(given: DType, dtype: DType, x: str) -> str:
    """A conversion between dtypes."""
    if given in HALVES or dtype in HALVES:
        raise KernelError(f"c: a cast from {given.name} to {dtype.name} was not lowered")
    if dtype is bool_:
        return f"{x} != 0"
    if given.is_float and dtype.is_int:
        return f"{dtype.name}_from_{given.name}({x})"
    return f"({TYPES[dtype.name]}){x}"


def helpers() -> Iterator[tuple[str, str]]:
    """(name, definition) of every function that an expression may call."""
    groups = (("f64", "i64", "u64"), ("f32", "i32", "u32"), ("f16", "bf16", "i16", "u16"), ("i8", "u8"))
    for group in groups:
        for old in group:
            for new in group:
                if TYPES[old] != TYPES[new]:
                    yield f"bits_{old}_{new}(", _bits(old, new)
    for number in ("f32", "f64"):
        for size in (8, 16, 32, 64):
            yield f"i{size}_from_{number}(", _saturate(number, size, signed=True)
            yield f"u{size}_from_{number}(", _saturate(number, size, signed=False)


def _bits(old: str, new: str) -> str:
    return (
        f"static inline {TYPES[new]} bits_{old}_{new}({TYPES[old]} x) {{ "
        f"union {{ {TYPES[old]} old; {TYPES[new]} new; }} u; u.old = x; return u.new; }}"
    )


def _saturate(number: str, size: int, *, signed: bool) -> str:
    name = f"{'i' if signed else 'u'}{size}"
    low = -(2.0 ** (size - 1)) if signed else 0.0
    high = 2.0 ** (size - 1 if signed else size)
    least, most = (f"INT{size}_MIN", f"INT{size}_MAX") if signed else ("0", f"UINT{size}_MAX")
    return (
        f"static inline {TYPES[name]} {name}_from_{number}({TYPES[number]} x) {{ "
        f"if (x >= {high.hex()}) return {most}; if (x <= {low.hex()}) return {least}; "
        f"return x == x ? ({TYPES[name]})x : 0; }}"
    )
