"""Element types of PyTorch: the names of its storages and dtypes, their sizes, and what they are here."""

from __future__ import annotations

from typing import NamedTuple

from burn.dtype import (
    DType,
    bf16,
    bool_,
    f8e4m3fn,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)


class Element(NamedTuple):
    """An element type: PyTorch's name, its bytes, and our dtype; None where we have none."""

    name: str
    size: int
    dtype: DType | None

    @property
    def fault(self) -> str:
        """Why a tensor of this type cannot be read; empty where it can."""
        if self.dtype is not None:
            return ""
        if self.name.startswith("complex"):
            return f"{self.name}: there are no complex tensors here; save torch.view_as_real(tensor) instead"
        if self.name.startswith(("qint", "quint")):
            return f"{self.name}: tensors that PyTorch quantised are not read; save tensor.dequantize() instead"
        return f"{self.name}: there is no such element type here; save the tensor as another, such as torch.float32"


OURS = {
    "float64": f64, "float32": f32, "float16": f16, "bfloat16": bf16, "int64": i64, "int32": i32, "int16": i16,
    "int8": i8, "uint64": u64, "uint32": u32, "uint16": u16, "uint8": u8, "bool": bool_,
    "float8_e4m3fn": f8e4m3fn, "float8_e4m3fnuz": f8e4m3fnuz, "float8_e5m2": f8e5m2,
    "float8_e5m2fnuz": f8e5m2fnuz, "float8_e8m0fnu": f8e8m0,
}  # fmt: skip
OTHERS = {
    "complex32": 4, "complex64": 8, "complex128": 16, "qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1,
    "quint2x4": 1, "bits8": 1, "bits16": 2, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1, "float4_e2m1fn_x2": 1,
    **{f"{sign}int{bits}": 1 for sign in ("", "u") for bits in range(1, 8)},
}  # fmt: skip
ALIASES = {
    "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
    "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32",
}  # fmt: skip

ELEMENTS = {name: Element(name, dtype.size, dtype) for name, dtype in OURS.items()}
ELEMENTS |= {name: Element(name, size, None) for name, size in OTHERS.items()}
ELEMENTS |= {alias: ELEMENTS[name] for alias, name in ALIASES.items()}
"""By the name of a dtype, without `torch.` before it."""

BYTE = ELEMENTS["uint8"]

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8",
    "QInt32Storage": "qint32", "QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4",
    "UntypedStorage": "uint8", "_UntypedStorage": "uint8",
}  # fmt: skip
"""The element types of storage classes."""
