"""Element types: a registry of values such as `f32`, `i64` and `bool_`, and the promotion rules.

A dtype is an interned value, compared by identity. Arithmetic dtypes take part in every operation;
storage dtypes (8-bit floats and smaller) can only be cast, moved and quantised.
"""

from __future__ import annotations

import builtins
import enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from burn.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    DTypeLike: TypeAlias = "DType | str | type | np.dtype[Any]"
    """What names a dtype: `burn.f32`, `"f32"`, `float`, `np.float32`."""


class Kind(enum.Enum):
    """What an element means: a real number, an integer or a truth value.

    >>> burn.tensor([1, 2]).kind
    Int
    """

    Float = "Float"
    Int = "Int"
    Bool = "Bool"

    def __repr__(self) -> str:
        return self.value


Float, Int, Bool = Kind.Float, Kind.Int, Kind.Bool


class FloatLimits(NamedTuple):
    """The range of a floating dtype.

    Arguments:
        epsilon: from 1.0 to the next number.
        max, min: the largest and the smallest number.
        min_positive: the smallest positive number with all its digits.

    >>> burn.bf16.finfo().epsilon
    0.0078125
    """

    epsilon: float
    max: float
    min: float
    min_positive: float


class IntLimits(NamedTuple):
    """The range of an integer dtype, from `min` to `max`.

    >>> burn.i8.iinfo()
    IntLimits(min=-128, max=127)
    """

    min: int
    max: int


class DType:
    """One element type. `DType.F32` and `burn.f32` are the same value.

    There is one of each, so they are compared with `is`; a name such as "f32" or "float32" serves wherever a dtype is
    asked for. Only the package itself makes them, of `name`, `kind`, `bits`, `signed` and `arithmetic`.

    >>> burn.f32, burn.f32.size, burn.f32.is_float, burn.f32.numpy
    (f32, 4, True, dtype('float32'))
    >>> burn.u8.iinfo().max, burn.f16.finfo().max
    (255, 65504.0)
    """

    __slots__ = (
        "bits", "is_arithmetic", "is_bool", "is_float", "is_int", "is_uint", "kind", "name", "size", "_numpy",
    )  # fmt: skip

    __constant__ = True

    F64: DType
    F32: DType
    F16: DType
    BF16: DType
    I64: DType
    I32: DType
    I16: DType
    I8: DType
    U64: DType
    U32: DType
    U16: DType
    U8: DType
    Bool: DType

    def __init__(self, name: str, kind: Kind, bits: int, *, signed: bool = True, arithmetic: bool = True) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.size = (bits + 7) // 8
        self.is_float = kind is Float
        self.is_bool = kind is Bool
        self.is_uint = kind is Int and not signed
        self.is_int = kind is Int
        self.is_arithmetic = arithmetic
        self._numpy: np.dtype[Any] | None = None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype that stores it (`ml_dtypes` supplies what NumPy lacks)."""
        found = self._numpy
        if found is None:
            found = self._numpy = _numpy_dtype(self.name)
        return found

    def finfo(self) -> FloatLimits:
        """The limits of a floating dtype."""
        if not self.is_float:
            raise DTypeError(f"finfo: {self.name} is not a floating dtype; use iinfo()")
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(self.numpy)  # type: ignore[no-untyped-call]
        values = (limits.eps, limits.max, limits.min, limits.smallest_normal)
        return FloatLimits(*(builtins.float(value) for value in values))

    def iinfo(self) -> IntLimits:
        """The limits of an integer dtype."""
        if not self.is_int:
            raise DTypeError(f"iinfo: {self.name} is not an integer dtype; use finfo()")
        if self.is_uint:
            return IntLimits(0, (1 << self.bits) - 1)
        return IntLimits(-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return dtype, (self.name,)


f64 = DType("f64", Float, 64)
f32 = DType("f32", Float, 32)
f16 = DType("f16", Float, 16)
bf16 = DType("bf16", Float, 16)
i64 = DType("i64", Int, 64)
i32 = DType("i32", Int, 32)
i16 = DType("i16", Int, 16)
i8 = DType("i8", Int, 8)
u64 = DType("u64", Int, 64, signed=False)
u32 = DType("u32", Int, 32, signed=False)
u16 = DType("u16", Int, 16, signed=False)
u8 = DType("u8", Int, 8, signed=False)
bool_ = DType("bool", Bool, 8)

f8e4m3fn = DType("f8e4m3fn", Float, 8, arithmetic=False)
f8e4m3fnuz = DType("f8e4m3fnuz", Float, 8, arithmetic=False)
f8e5m2 = DType("f8e5m2", Float, 8, arithmetic=False)
f8e5m2fnuz = DType("f8e5m2fnuz", Float, 8, arithmetic=False)
f8e8m0 = DType("f8e8m0", Float, 8, arithmetic=False)
f4e2m1 = DType("f4e2m1", Float, 4, arithmetic=False)
i4 = DType("i4", Int, 4, arithmetic=False)
u4 = DType("u4", Int, 4, signed=False, arithmetic=False)
i2 = DType("i2", Int, 2, arithmetic=False)
u2 = DType("u2", Int, 2, signed=False, arithmetic=False)

ARITHMETIC = (f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool_)
STORAGE = (f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, f4e2m1, i4, u4, i2, u2)
FLOATS = frozenset((f64, f32, f16, bf16))
INTS = frozenset((i64, i32, i16, i8, u64, u32, u16, u8))
HALVES = frozenset((f16, bf16))

_BY_NAME = {each.name: each for each in ARITHMETIC + STORAGE}
_NUMPY_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bool": "bool",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
}  # fmt: skip
_ML_NAMES = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn",
    "i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2",
}  # fmt: skip
_ALIASES = {
    **{numpy_name: name for name, numpy_name in _NUMPY_NAMES.items()},
    **{ml_name: name for name, ml_name in _ML_NAMES.items()},
    "bool_": "bool",
    "half": "f16",
    "float": "f32",
    "double": "f64",
}
_FROM_NUMPY: dict[np.dtype[Any], DType] = {np.dtype(numpy): _BY_NAME[name] for name, numpy in _NUMPY_NAMES.items()}

for _each in ARITHMETIC:
    setattr(DType, "Bool" if _each is bool_ else _each.name.upper(), _each)


def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name in _NUMPY_NAMES:
        return np.dtype(_NUMPY_NAMES[name])
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _ML_NAMES[name]))
    _FROM_NUMPY[found] = _BY_NAME[name]
    return found


def dtype(value: DTypeLike) -> DType:
    """The dtype that `value` names: a `DType`, its name, a NumPy dtype, or `float`, `int`, `bool`.

    >>> from burn.dtype import dtype
    >>> dtype("f32"), dtype(np.int64), dtype(bool)
    (f32, i64, bool)
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        found = _BY_NAME.get(_ALIASES.get(value, value))
        if found is None:
            raise DTypeError(f"dtype: unknown name {value!r}; known names are {', '.join(_BY_NAME)}")
        return found
    if value is builtins.float:
        return f32
    if value is builtins.int:
        return i64
    if value is builtins.bool:
        return bool_
    try:
        return from_numpy(np.dtype(value))
    except TypeError:
        raise DTypeError(f"dtype: {value!r} names no element type; known names are {', '.join(_BY_NAME)}") from None


def from_numpy(value: np.dtype[Any]) -> DType:
    """The dtype that a NumPy dtype, the `value`, stores.

    >>> from burn.dtype import from_numpy
    >>> from_numpy(np.dtype("float64"))
    f64
    """
    found = _FROM_NUMPY.get(value)
    if found is None:
        name = _ALIASES.get(value.name) if value.isnative else _ALIASES.get(value.newbyteorder("=").name)
        if name is None:
            raise DTypeError(f"dtype: NumPy's {value} has no counterpart; cast the array first")
        found = _BY_NAME[name]
        if value.isnative:
            _FROM_NUMPY[value] = found
    return found


_SIGNED = (i8, i16, i32, i64)
_UNSIGNED = (u8, u16, u32, u64)


def _promote_pair(x: DType, y: DType) -> DType:
    if x is y:
        return x
    if not (x.is_arithmetic and y.is_arithmetic):
        raise DTypeError(f"{x} and {y} do not mix: cast one with .cast({(y if x.is_arithmetic else x).name!r})")
    if x.is_bool or y.is_bool:
        return y if x.is_bool else x
    if x.is_float or y.is_float:
        if not (x.is_float and y.is_float):
            return x if x.is_float else y
        if x.bits == y.bits:
            return f32
        return x if x.bits > y.bits else y
    if x.is_uint == y.is_uint:
        return x if x.bits > y.bits else y
    signed, unsigned = (y, x) if x.is_uint else (x, y)
    if unsigned is u64:
        raise DTypeError(f"u64 and {signed} have no common integer dtype; cast one, for example .cast('i64')")
    return signed if signed.bits > unsigned.bits else _SIGNED[_UNSIGNED.index(unsigned) + 1]


_PROMOTED: dict[tuple[DType, DType], DType] = {}


def promote(x: DType, y: DType) -> DType:
    """The common dtype of two tensors: bool < int < float, and the wider one inside a kind.

    >>> from burn.dtype import promote
    >>> promote(burn.i64, burn.f16), promote(burn.u8, burn.i8)
    (f16, i16)
    """
    try:
        return _PROMOTED[x, y]
    except KeyError:
        result = _PROMOTED[x, y] = _promote_pair(x, y)
        return result


def promote_all(dtypes: Iterable[DType]) -> DType:
    """The common dtype of several `dtypes`.

    >>> from burn.dtype import promote_all
    >>> promote_all([burn.bool_, burn.i32, burn.f32])
    f32
    """
    result: DType | None = None
    for each in dtypes:
        result = each if result is None else promote(result, each)
    if result is None:
        raise DTypeError("promote: no dtype was given")
    return result
