"""Elements of constants: a few of them as numbers that people can read, more of them packed.

    [1, 2, 3]            "data" of up to `FEW` elements; text of any length
    "eJxjYGBg..."        "packed": little-endian bytes, compressed, in base 64

What a record holds is in neither: such a constant has only its type.
"""

from __future__ import annotations

import base64
import binascii
import math
import sys
import zlib
from typing import Any, TypeAlias

import numpy as np

from burn_import.onnx.code.expression import shortest
from burn_import.onnx.ir.types import ElementType

Array: TypeAlias = np.ndarray[Any, Any]
FEW = 64
_LISTED = frozenset(
    ElementType[name]
    for name in ("f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool_")
)


def is_written(dtype: ElementType, size: int) -> bool:
    """Whether a constant is always written where it stands: text, single numbers, a few ints.

    Floats beside each other are weights: the record has them, and training changes them there.
    """
    return dtype is ElementType.string or size <= (1 if dtype.is_float or dtype.is_complex else FEW)


def encode(array: Array, dtype: ElementType) -> dict[str, Any]:
    """The elements as an entry `data` or `packed`."""
    if dtype is ElementType.string:
        return {"data": [str(each) for each in array.reshape(-1)]}
    if array.size <= FEW and dtype in _LISTED:
        return {"data": [_number(each) for each in array.reshape(-1)]}
    return {"packed": pack(array)}


def decode(entry: dict[str, Any], dtype: ElementType, shape: tuple[int, ...]) -> Array:
    """The elements of an entry; a `ValueError` says what is wrong with it."""
    size = math.prod(shape)
    if "packed" in entry:
        if dtype is ElementType.string:
            raise ValueError("text cannot be packed")
        return unpack(entry["packed"], dtype.numpy, size).reshape(shape)
    data = entry.get("data")
    if not isinstance(data, list):
        raise ValueError("data has to be a list")
    if len(data) != size:
        raise ValueError(f"{len(data)} elements for shape {list(shape)}")
    if dtype is ElementType.string:
        if not all(isinstance(each, str) for each in data):
            raise ValueError("an element is no text")
        made: Array = np.empty(size, object)
        made[:] = data
        return made.reshape(shape)
    if dtype not in _LISTED:
        raise ValueError(f"elements of {dtype} have to be packed")
    try:
        values = np.array([_parsed(each, dtype) for each in data], dtype=np.float64 if dtype.is_float else None)
        return values.astype(dtype.numpy).reshape(shape) if size else np.zeros(shape, dtype.numpy)
    except OverflowError:
        raise ValueError(f"an element does not fit {dtype}") from None


def pack(array: Array) -> str:
    """Bytes of an array as text."""
    plain = np.ascontiguousarray(array)
    if sys.byteorder == "big":
        plain = plain.byteswap()
    return base64.b64encode(zlib.compress(plain.tobytes(), 6)).decode("ascii")


def unpack(text: Any, dtype: np.dtype[Any], size: int) -> Array:
    """The array in a text; it never grows beyond what `size` says."""
    if not isinstance(text, str):
        raise ValueError("packed has to be text")
    expected = size * dtype.itemsize
    if expected > len(text) * 1100:
        raise ValueError(f"{len(text)} characters cannot hold {size} elements")
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), expected + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise ValueError("packed elements are damaged") from None
    if len(data) != expected or not reader.eof:
        raise ValueError(f"packed elements have another length than {size} elements")
    array = np.frombuffer(bytearray(data), dtype=dtype)
    return array.byteswap() if sys.byteorder == "big" else array


def encode_number(value: float) -> float | str:
    """A float in JSON, which has no word for what is not finite."""
    return value if math.isfinite(value) else str(value)


def decode_number(value: Any) -> float:
    """A float that `encode_number` wrote; a `ValueError` for anything else."""
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if type(value) in (int, float):
        return float(value)
    raise ValueError(f"{_shown(value)} is no float")


def _number(value: Any) -> Any:
    if value.dtype.kind in "biu":
        return value.item()
    return encode_number(shortest(value) if value.dtype.kind == "f" else float(value))


def _parsed(value: Any, dtype: ElementType) -> Any:
    if dtype is ElementType.bool_:
        if type(value) is not bool:
            raise ValueError(f"{_shown(value)} is no bool")
        return value
    if dtype.is_float:
        return decode_number(value)
    limits = np.iinfo(dtype.numpy)
    if type(value) is not int or not limits.min <= value <= limits.max:
        raise ValueError(f"{_shown(value)} is no {dtype}")
    return np.asarray(value, dtype.numpy)


def _shown(value: Any) -> str:
    return ascii(value)[:40]


__all__ = ["FEW", "Array", "decode", "decode_number", "encode", "encode_number", "is_written", "pack", "unpack"]
