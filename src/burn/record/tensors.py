"""Tensors in files: names and positions of element types, and data made of bytes that were checked.

A file states a length, a shape and a type, and all three are its word only. They are compared with each
other and with what is there before an array is made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from burn.dtype import DType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from burn.record.errors import RecordError
from burn.record.source import Array, Source
from burn.tensor import TensorData

MAX_RANK = 32
MAX_SIZE = 1 << 62

DTYPES = {
    "F64": f64, "F32": f32, "Flex32": f32, "F16": f16, "BF16": bf16, "I64": i64, "I32": i32, "I16": i16, "I8": i8,
    "U64": u64, "U32": u32, "U16": u16, "U8": u8, "Bool": bool_,
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "Flex32"}

_FIRST = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U8", "Bool", "QFloat")
_SIXTEEN = (*_FIRST[:10], "U16", *_FIRST[10:])
_LATER = (*_SIXTEEN[:2], "Flex32", *_SIXTEEN[2:])


def positions(release: tuple[int, int] | None) -> tuple[str, ...]:
    """The element types in the order in which `Bin` counts them, which changed with 0.16 and 0.17."""
    if release is None or release >= (0, 17):
        return _LATER
    return _SIXTEEN if release >= (0, 16) else _FIRST


def dtype_name(dtype: DType) -> str:
    """The name of an element type in a record."""
    if dtype not in NAMES:
        raise RecordError(f"{dtype} has no name in this format; cast it to one of {', '.join(map(repr, NAMES))}")
    return NAMES[dtype]


def check_shape(shape: Any) -> tuple[int, ...]:
    """The sizes of a tensor, if that is what a file holds."""
    if not isinstance(shape, list | tuple):
        raise RecordError(f"a shape should be a list of sizes, not {type(shape).__name__}")
    if len(shape) > MAX_RANK:
        raise RecordError(f"a shape of {len(shape)} dimensions; {MAX_RANK} are allowed")
    if not all(type(size) is int and 0 <= size < MAX_SIZE for size in shape):
        raise RecordError(f"{_short(shape)} is no shape")
    if math.prod(size for size in shape if size) >= MAX_SIZE:
        raise RecordError(f"the shape {_short(shape)} is too large")
    return tuple(shape)


def tensor_at(source: Source, offset: int, length: int, shape: Any, dtype: DType) -> TensorData:
    """The tensor whose row-major, little-endian bytes lie at a place of a file."""
    sizes = check_shape(shape)
    needed = math.prod(sizes) * dtype.size
    if needed != length:
        raise RecordError(f"{dtype} of shape {list(sizes)} needs {needed:,} bytes, and {length:,} are there")
    if not 0 <= offset <= source.size - length:
        raise RecordError(f"the bytes {offset:,} to {offset + length:,} lie outside the file of {source.size:,}")
    array = source.array(offset, length, np.dtype(np.uint8) if dtype is bool_ else dtype.numpy)
    return TensorData.adopt(_native(array, dtype).reshape(sizes), dtype)


def _native(array: Array, dtype: DType) -> Array:
    if dtype is bool_:
        if array.size and array.max() > 1:
            raise RecordError("a bool that is neither 0 nor 1")
        return array.view(np.bool_)
    if sys.byteorder == "big":
        return array.byteswap()
    return array


def little_endian(data: TensorData) -> memoryview:
    """The row-major bytes of a tensor, without a copy where the machine stores them so."""
    array = np.ascontiguousarray(data.numpy()).reshape(-1)
    if sys.byteorder == "big":
        array = array.byteswap()
    return memoryview(array.view(np.uint8))  # type: ignore[arg-type]


def _short(values: Sequence[Any]) -> str:
    text = repr(list(values[:8]))
    return text if len(text) < 100 else f"{text[:100]}..."
