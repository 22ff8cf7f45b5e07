"""Types of values: element types, tensors with symbolic sizes, sequences, optionals and maps.

A shape is a tuple of sizes. A size is an `int`, a `Dim` (an expression over named sizes, see `dim`), or None when
nothing is known about it. A shape of None means that not even the rank is known.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from burn.dim import Dim
from burn.dtype import DType, dtype

Size: TypeAlias = int | Dim | None
Shape: TypeAlias = tuple[Size, ...]


class ElementType(enum.Enum):
    """What a tensor holds. The names are those of `burn.dtype`; the values are the numbers of the file format."""

    f32 = 1
    u8 = 2
    i8 = 3
    u16 = 4
    i16 = 5
    i32 = 6
    i64 = 7
    string = 8
    bool_ = 9
    f16 = 10
    f64 = 11
    u32 = 12
    u64 = 13
    complex64 = 14
    complex128 = 15
    bf16 = 16
    f8e4m3fn = 17
    f8e4m3fnuz = 18
    f8e5m2 = 19
    f8e5m2fnuz = 20
    u4 = 21
    i4 = 22
    f4e2m1 = 23
    f8e8m0 = 24
    u2 = 25
    i2 = 26
    f6e2m3 = 27
    f6e3m2 = 28

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of an array of this type; strings are Python objects."""
        made: np.dtype[Any] = np.dtype(_NUMPY[self.name])
        return made

    @cached_property
    def bits(self) -> int:
        """Bits an element takes in a file; 0 for strings."""
        if self is ElementType.string:
            return 0
        return _NARROW.get(self.name, self.numpy.itemsize * 8)

    @cached_property
    def is_float(self) -> bool:
        return self.name[0] == "f" or self is ElementType.bf16

    @cached_property
    def is_int(self) -> bool:
        return self.name[0] in "iu"

    @cached_property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

    @cached_property
    def burn(self) -> DType | None:
        """The dtype of the framework; None for strings, complex numbers and 6-bit floats, which it has not."""
        if self.is_complex or self is ElementType.string or self.name.startswith("f6e"):
            return None
        return dtype(self.name)

    @classmethod
    def from_numpy(cls, value: np.dtype[Any]) -> ElementType:
        """The element type that a NumPy dtype stores."""
        return _FROM_NUMPY[value]

    def __str__(self) -> str:
        return self.name.rstrip("_")

    def __repr__(self) -> str:
        return f"ElementType.{self.name}"


_NUMPY: dict[str, Any] = {
    "f32": np.float32, "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "string": np.object_, "bool_": np.bool_, "f16": np.float16, "f64": np.float64, "u32": np.uint32,
    "u64": np.uint64, "complex64": np.complex64, "complex128": np.complex128, "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "u4": ml_dtypes.uint4, "i4": ml_dtypes.int4,
    "f4e2m1": ml_dtypes.float4_e2m1fn, "f8e8m0": ml_dtypes.float8_e8m0fnu, "u2": ml_dtypes.uint2,
    "i2": ml_dtypes.int2, "f6e2m3": ml_dtypes.float6_e2m3fn, "f6e3m2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip
_NARROW = {"u4": 4, "i4": 4, "f4e2m1": 4, "u2": 2, "i2": 2, "f6e2m3": 6, "f6e3m2": 6}
_FROM_NUMPY = {np.dtype(_NUMPY[each.name]): each for each in ElementType}


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor: `TensorType(ElementType.f32, (batch, 3, 224, 224))`. A dtype of None is not known yet."""

    dtype: ElementType | None
    shape: Shape | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every size is a number."""
        return self.shape is not None and all(type(size) is int for size in self.shape)

    def with_shape(self, shape: Shape | None) -> TensorType:
        return replace(self, shape=shape)

    def __str__(self) -> str:
        name = "?" if self.dtype is None else str(self.dtype)
        if self.shape is None:
            return f"{name}[...]"
        return f"{name}[{', '.join('?' if size is None else str(size) for size in self.shape)}]"


@dataclass(frozen=True, slots=True)
class SparseTensorType:
    """A tensor of which a file stores only some elements; values of this type are made dense when read."""

    dtype: ElementType | None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse {TensorType(self.dtype, self.shape)}"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A list of values of one type."""

    element: Type | None

    def __str__(self) -> str:
        return f"sequence({'?' if self.element is None else self.element})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value, or nothing."""

    element: Type | None

    def __str__(self) -> str:
        return f"optional({'?' if self.element is None else self.element})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A dictionary from integers or strings."""

    key: ElementType
    value: Type | None

    def __str__(self) -> str:
        return f"map({self.key}, {'?' if self.value is None else self.value})"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that only its own domain's operators understand."""

    domain: str
    name: str

    def __str__(self) -> str:
        return f"opaque({self.domain}.{self.name})"


Type: TypeAlias = TensorType | SparseTensorType | SequenceType | OptionalType | MapType | OpaqueType
