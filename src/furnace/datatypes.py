"""Element types on the wire: the names of the Open Inference Protocol and the NumPy types they stand for.

Strings travel as BYTES: each element is preceded by its length as a little-endian u32. BF16 is two bytes.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

SMALL_BYTES = 4096
"""What is copied in less time than it takes to make a view of it."""

_TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BYTES": np.dtype(object),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
NAMES = tuple(_TYPES)

# the names that ONNX and this framework give element types in metadata
_FROM_METADATA = {
    "bool": "BOOL", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64",
    "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64",
    "f16": "FP16", "bf16": "BF16", "f32": "FP32", "f64": "FP64", "string": "BYTES", "str": "BYTES",
    "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "float16": "FP16", "bfloat16": "BF16", "float": "FP32", "float32": "FP32", "double": "FP64", "float64": "FP64",
}  # fmt: skip


def numpy_type(name: str) -> np.dtype[Any]:
    """The NumPy type of a wire name; KeyError when there is none."""
    return _TYPES[name]


def wire_name(dtype: Any) -> str:
    """The wire name of an array's type."""
    found = _NAMES.get(np.dtype(dtype))
    if found is not None:
        return found
    if np.dtype(dtype).kind in "USO":
        return "BYTES"
    raise ValueError(f"datatype: elements of type {np.dtype(dtype)} have no name in the protocol")


def from_metadata(name: str | None) -> str | None:
    """The wire name of a type as model metadata writes it; None when the model leaves it open."""
    if name is None:
        return None
    if name in _TYPES:
        return name
    return _FROM_METADATA.get(name.lower())


def element_size(name: str) -> int:
    """Bytes of one element; 0 for BYTES, whose elements differ."""
    return 0 if name == "BYTES" else _TYPES[name].itemsize


def pack_strings(array: Array) -> bytes:
    """An array of text or bytes as it travels."""
    parts = []
    for element in array.reshape(-1):
        data = element if isinstance(element, bytes) else str(element).encode()
        parts.append(len(data).to_bytes(4, "little") + data)
    return b"".join(parts)


def unpack_strings(data: bytes | memoryview, count: int) -> Array:
    """`count` elements of text or bytes from what travelled; ValueError when the lengths do not add up."""
    view, position = memoryview(data), 0
    elements = np.empty(count, object)
    for index in range(count):
        if position + 4 > len(view):
            raise ValueError(f"{index} of {count} strings, then the data ends")
        length = int.from_bytes(view[position : position + 4], "little")
        position += 4
        if position + length > len(view):
            raise ValueError(f"string {index} says {length} bytes, {len(view) - position} are left")
        raw = bytes(view[position : position + length])
        try:
            elements[index] = raw.decode()
        except UnicodeDecodeError:
            elements[index] = raw
        position += length
    if position != len(view):
        raise ValueError(f"{len(view) - position} bytes are left after {count} strings")
    return elements


def to_bytes(array: Array) -> bytes | memoryview:
    """An array as little-endian bytes in row order."""
    if array.dtype.kind in "OUS":
        return pack_strings(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    if array.nbytes <= SMALL_BYTES:
        return array.tobytes()
    flat = np.ascontiguousarray(array)
    return flat.reshape(-1).view(np.uint8).data if flat.size else b""


def from_bytes(data: bytes | memoryview, name: str, shape: tuple[int, ...]) -> Array:
    """The array of bytes that travelled. ValueError says how many were expected."""
    count = 1
    for size in shape:
        count *= size
    if name == "BYTES":
        return unpack_strings(data, count).reshape(shape)
    dtype = _TYPES[name]
    if len(data) != count * dtype.itemsize:
        raise ValueError(f"shape {list(shape)} of {name} is {count * dtype.itemsize} bytes, {len(data)} came")
    return np.frombuffer(data, dtype).reshape(shape)
