"""Pure operations as LLVM instructions: one line each, at any vector width."""

from __future__ import annotations

import math
import struct
from typing import Any

from burn.cube.errors import KernelError
from burn.dtype import HALVES, DType, bf16, bool_, f16, f32

TYPES = {
    "f64": "double", "f32": "float", "f16": "i16", "bf16": "i16", "i64": "i64", "u64": "i64", "i32": "i32",
    "u32": "i32", "i16": "i16", "u16": "i16", "i8": "i8", "u8": "i8", "bool": "i1",
}  # fmt: skip
"""f16 and bf16 are held as their bits."""

FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
INTEGER_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "bit_and": "and", "bit_or": "or", "bit_xor": "xor",
    "shl_unchecked": "shl",
}  # fmt: skip
SIGNED_BINARY = {"div_unchecked": "sdiv", "rem_unchecked": "srem", "shr_unchecked": "ashr"}
UNSIGNED_BINARY = {"div_unchecked": "udiv", "rem_unchecked": "urem", "shr_unchecked": "lshr"}
FLOAT_INTRINSICS = {
    "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "rint": "rint", "trunc": "trunc", "fma": "fma",
}  # fmt: skip
FLOAT_COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def element(dtype: DType) -> str:
    """The LLVM type of one element."""
    return TYPES[dtype.name]


def vector(text: str, width: int) -> str:
    """An LLVM type of a width, from the type of an element."""
    return text if width == 1 else f"<{width} x {text}>"


def kind(dtype: DType, width: int) -> str:
    """The LLVM type of a value."""
    return vector(TYPES[dtype.name], width)


def memory_element(dtype: DType) -> str:
    """The LLVM type of an element in memory: a bool is a byte."""
    return "i8" if dtype is bool_ else TYPES[dtype.name]


def suffix(text: str, width: int) -> str:
    """How intrinsics name a type."""
    short = {"double": "f64", "float": "f32", "half": "f16"}.get(text, text)
    return short if width == 1 else f"v{width}{short}"


def literal(value: Any, dtype: DType) -> str:
    """A constant, exactly."""
    if dtype is bool_:
        return "true" if value else "false"
    if dtype in HALVES:
        return str(int.from_bytes(dtype.numpy.type(value).tobytes(), "little"))
    if dtype.is_float:
        if math.isnan(value):
            return "0x7FF8000000000000"
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(value)


class Instructions:
    """Writes instructions and remembers the intrinsics they call. The emitter gives `emit`."""

    def __init__(self) -> None:
        self.declared: dict[str, str] = {}

    def emit(self, text: str) -> str:
        """Write an instruction and name its result."""
        raise NotImplementedError

    def call(self, name: str, result: str, arguments: list[tuple[str, str]]) -> str:
        """Call an intrinsic with (type, value) arguments."""
        if name not in self.declared:
            self.declared[name] = f"declare {result} @{name}({', '.join(each for each, _ in arguments)})"
        return self.emit(f"call {result} @{name}({', '.join(f'{type_} {value}' for type_, value in arguments)})")

    def pure(self, name: str, dtype: DType, given: DType, width: int, x: list[str]) -> str:
        """One pure operation: `given` is the dtype of its (first) operands, `dtype` that of its result."""
        type_ = kind(given, width)
        if given.is_float:
            if name in FLOAT_BINARY:
                return self.emit(f"{FLOAT_BINARY[name]} {type_} {x[0]}, {x[1]}")
            if name in FLOAT_INTRINSICS:
                called = f"llvm.{FLOAT_INTRINSICS[name]}.{suffix(element(given), width)}"
                return self.call(called, type_, [(type_, each) for each in x])
            if name in FLOAT_COMPARISONS:
                return self.emit(f"fcmp {FLOAT_COMPARISONS[name]} {type_} {x[0]}, {x[1]}")
            if name == "neg":
                return self.emit(f"fneg {type_} {x[0]}")
            if name == "ldexp":
                return self._scale(given, width, x)
            if name == "isnan":
                return self.emit(f"fcmp uno {type_} {x[0]}, {x[0]}")
        else:
            instruction = INTEGER_BINARY.get(name) or (UNSIGNED_BINARY if given.is_uint else SIGNED_BINARY).get(name)
            if instruction is not None:
                return self.emit(f"{instruction} {type_} {x[0]}, {x[1]}")
            if name in FLOAT_COMPARISONS:
                sign = "" if name in ("eq", "ne") else "u" if given.is_uint else "s"
                return self.emit(f"icmp {sign}{name} {type_} {x[0]}, {x[1]}")
            if name == "neg":
                return self.emit(f"sub {type_} {'zeroinitializer' if width > 1 else '0'}, {x[0]}")
            if name == "bit_not":
                ones = "true" if given is bool_ else "-1"
                return self.emit(f"xor {type_} {x[0]}, {ones if width == 1 else f'splat ({element(given)} {ones})'}")
            if name == "abs":
                return self._absolute(given, width, x[0])
            if name == "mulhi":
                return self._multiply_high(given, width, x)
        if name == "cast":
            return self.cast(x[0], given, dtype, width)
        if name == "bitcast":
            if kind(given, width) == kind(dtype, width):
                return x[0]
            return self.emit(f"bitcast {type_} {x[0]} to {kind(dtype, width)}")
        raise KernelError(f"llvm: {name} of {given.name} is not implemented by the LLVM target")

    def _scale(self, given: DType, width: int, x: list[str]) -> str:
        """AVX-512's scaling, a register at a time."""
        lanes, letter = (16, "s") if given is f32 else (8, "d")
        register, mask = kind(given, lanes), f"i{lanes}"
        called = f"llvm.x86.avx512.mask.scalef.p{letter}.512"

        def scale(parts: list[str]) -> str:
            typed = [(register, each) for each in parts]
            rest = [(register, "zeroinitializer"), (mask, "-1"), ("i32", "4")]
            return self.call(called, register, typed + rest)

        if width < lanes:
            return self.resized(scale([self.resized(each, given, width, lanes) for each in x]), given, lanes, width)
        pieces = []
        for first in range(0, width, lanes):
            pieces.append(scale([self.resized(each, given, width, lanes, first) for each in x]))
        return self.joined(pieces, given, lanes)

    def joined(self, pieces: list[str], dtype: DType, size: int) -> str:
        """Vectors of `size` lanes, a power of two of them, as one."""
        while len(pieces) > 1:
            order = ", ".join(f"i32 {each}" for each in range(2 * size))
            type_ = kind(dtype, size)
            pieces = [
                self.emit(f"shufflevector {type_} {left}, {type_} {right}, <{2 * size} x i32> <{order}>")
                for left, right in zip(pieces[::2], pieces[1::2])
            ]
            size *= 2
        return pieces[0]

    def resized(self, x: str, dtype: DType, old: int, new: int, first: int = 0) -> str:
        """Some lanes of a vector, or a vector with more lanes."""
        if old == new:
            return x
        if old == 1:
            return self.emit(f"insertelement {kind(dtype, new)} zeroinitializer, {element(dtype)} {x}, i64 0")
        if new == 1:
            return self.emit(f"extractelement {kind(dtype, old)} {x}, i64 0")
        order = ", ".join(f"i32 {min(first + each, old - 1)}" for each in range(new))
        return self.emit(f"shufflevector {kind(dtype, old)} {x}, {kind(dtype, old)} poison, <{new} x i32> <{order}>")

    def _absolute(self, given: DType, width: int, x: str) -> str:
        if given.is_uint:
            return x
        type_ = kind(given, width)
        return self.call(f"llvm.abs.{suffix(element(given), width)}", type_, [(type_, x), ("i1", "false")])

    def _multiply_high(self, given: DType, width: int, x: list[str]) -> str:
        type_, wide = kind(given, width), vector(f"i{2 * given.bits}", width)
        extend = "zext" if given.is_uint else "sext"
        left, right = (self.emit(f"{extend} {type_} {each} to {wide}") for each in x)
        product = self.emit(f"mul {wide} {left}, {right}")
        count = str(given.bits) if width == 1 else f"splat (i{2 * given.bits} {given.bits})"
        upper = self.emit(f"lshr {wide} {product}, {count}")
        return self.emit(f"trunc {wide} {upper} to {type_}")

    def cast(self, x: str, given: DType, dtype: DType, width: int) -> str:
        """Convert between dtypes: floats saturate on their way to integers."""
        old, new = kind(given, width), kind(dtype, width)
        if bf16 in (given, dtype):
            raise KernelError("llvm: a cast of bf16 was not lowered")
        if given is f16:
            half = self.emit(f"bitcast {old} {x} to {vector('half', width)}")
            single = self.emit(f"fpext {vector('half', width)} {half} to {kind(f32, width)}")
            return single if dtype is f32 else self.cast(single, f32, dtype, width)
        if dtype is f16:
            half = self.emit(f"fptrunc {old} {x} to {vector('half', width)}")
            return self.emit(f"bitcast {vector('half', width)} {half} to {new}")
        zero = "zeroinitializer" if width > 1 else ("0.0" if given.is_float else "0")
        if dtype is bool_:
            compare = "fcmp une" if given.is_float else "icmp ne"
            return self.emit(f"{compare} {old} {x}, {zero}")
        if given.is_float and dtype.is_float:
            return self.emit(f"{'fpext' if dtype.bits > given.bits else 'fptrunc'} {old} {x} to {new}")
        if given.is_float:
            name = "llvm.fptoui.sat" if dtype.is_uint else "llvm.fptosi.sat"
            name += f".{suffix(element(dtype), width)}.{suffix(element(given), width)}"
            return self.call(name, new, [(old, x)])
        unsigned = given.is_uint or given is bool_
        if dtype.is_float:
            return self.emit(f"{'uitofp' if unsigned else 'sitofp'} {old} {x} to {new}")
        bits = 1 if given is bool_ else given.bits
        if bits == dtype.bits:
            return x
        change = "trunc" if bits > dtype.bits else "zext" if unsigned else "sext"
        return self.emit(f"{change} {old} {x} to {new}")
