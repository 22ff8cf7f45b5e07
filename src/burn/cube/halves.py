"""Conversions of f16 and bf16, rounding to nearest even, in integers.

bf16 is the upper half of an f32. What is narrower than f32 and comes from f64 goes through an f32 rounded to odd, so
that the number is rounded once. Integers reach f16 and bf16 through f32 (f64 where they are wider than that).
"""

from __future__ import annotations

from typing import Any

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Operation, Value
from burn.dtype import HALVES, DType, bf16, f16, f32, f64, i32, u16, u32


def cast_with_f16(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value | None:
    """The rule of `cast` where f32 and f16 convert by an instruction."""
    return _cast(b, operands[0], operation.result.dtype, native=True)


def cast_without_f16(b: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value | None:
    """The rule of `cast` where nothing converts f16."""
    return _cast(b, operands[0], operation.result.dtype, native=False)


def _cast(b: KernelBuilder, x: Value, target: DType, *, native: bool) -> Value | None:
    if x.dtype not in HALVES and target not in HALVES:
        return None
    if x.dtype in HALVES:
        single = _widen(b, x, native)
        if target in HALVES:
            return _narrow(b, single, target, native)
        return b.cast(single, target)
    if x.dtype is f64:
        x = _single_to_odd(b, x)
    elif x.dtype.is_int and x.dtype.bits > 16:
        x = _single_to_odd(b, b.cast(x, f64))
    else:
        x = b.cast(x, f32)
    return _narrow(b, x, target, native)


def _unchecked(b: KernelBuilder, name: str, x: Value, count: int | Value) -> Value:
    count = count if isinstance(count, Value) else b.const(x.dtype, count)
    return b._pure(f"{name}_unchecked", (x, count))


def _single_to_odd(b: KernelBuilder, x: Value) -> Value:
    """The f32 next to an f64: the odd one of the two neighbours, unless it is exact."""
    near = b.cast(x, f32)
    error = x - b.cast(near, f64)
    bits = b.bitcast(near, i32)
    away = b.eq(error > 0.0, x > 0.0)
    odd = bits + b.select(away, b.const(i32, 1), -1)
    inexact = (b.ne(error, 0.0)) & (abs(error) < float("inf"))
    return b.bitcast(b.select(inexact & b.eq(bits & 1, 0), odd, bits), f32)


def _widen(b: KernelBuilder, x: Value, native: bool) -> Value:
    """An f16 or bf16 as f32."""
    if x.dtype is f16 and native:
        return _native(b, x, f32)
    bits = b.cast(b.bitcast(x, u16), u32)
    if x.dtype is bf16:
        return b.bitcast(_unchecked(b, "shl", bits, 16), f32)
    sign = _unchecked(b, "shl", bits & 0x8000, 16)
    rest = bits & 0x7FFF
    moved = _unchecked(b, "shl", rest, 13)
    usual = b.bitcast(moved + (112 << 23), f32)
    # A subnormal f16 is its fraction times 2⁻²⁴, and an f32 holds that.
    tiny = b.cast(b.cast(rest, i32), f32) * 2.0**-24
    value = b.select(rest < 0x0400, tiny, usual)
    endless = b.bitcast(moved | 0x7F800000, f32)
    value = b.select(b.ge(rest, 0x7C00), endless, value)
    return b.bitcast(b.bitcast(value, u32) | sign, f32)


def _narrow(b: KernelBuilder, x: Value, target: DType, native: bool) -> Value:
    """An f32 as f16 or bf16."""
    if target is f16 and native:
        return _native(b, x, f16)
    bits = b.bitcast(x, u32)
    if target is bf16:
        rounded = _unchecked(b, "shr", bits + 0x7FFF + (_unchecked(b, "shr", bits, 16) & 1), 16)
        half = b.select(b.isnan(x), 0x7FC0, rounded)
        return b.bitcast(b.cast(half, u16), bf16)
    sign = _unchecked(b, "shr", bits & 0x80000000, 16)
    rest = bits & 0x7FFFFFFF
    usual = _unchecked(b, "shr", rest - (112 << 23) + 0xFFF + (_unchecked(b, "shr", rest, 13) & 1), 13)
    # Adding ½ puts a subnormal's fraction into the last bits, rounded by the addition.
    tiny = b.bitcast(b.bitcast(rest, f32) + 0.5, u32) - 0x3F000000
    half = b.select(rest < (113 << 23), tiny, usual)
    half = b.select(b.ge(rest, (143 << 23)), b.const(u32, 0x7C00), half)
    half = b.select(rest > 0x7F800000, b.const(u32, 0x7E00), half)
    return b.bitcast(b.cast(half | sign, u16), f16)


def _native(b: KernelBuilder, x: Value, target: DType) -> Value:
    made: Any = b._pure("cast", (x,), dtype=target)
    assert isinstance(made, Value)
    return made
