"""Elements of a TensorProto: where they are, how they are encoded, and the `Constant` that decodes them on demand.

A tensor keeps its elements as raw little-endian bytes, in one of five typed fields, or in another file. Shape and
dtype are checked against the bytes that are really there before anything is allocated, so a few bytes that claim
a petabyte are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.constant import KEPT, Constant
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.reader.external import ExternalFiles
from burn_import.onnx.reader.wire import Message, Packed, WireError

Array = np.ndarray[Any, Any]
DENSE_LIMIT = 1 << 28  # elements of a sparse tensor that is made dense
_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
_TYPED = {
    ElementType.f32: "float_data", ElementType.complex64: "float_data", ElementType.f64: "double_data",
    ElementType.complex128: "double_data", ElementType.i64: "int64_data", ElementType.u32: "uint64_data",
    ElementType.u64: "uint64_data",
}  # fmt: skip


class TensorFault(ValueError):
    """Why a tensor cannot be read; the message continues `tensor 'w': `."""


def constant(proto: Message, files: ExternalFiles) -> Constant:
    """The tensor as a constant, checked, its elements left where they are."""
    dtype = element_type(proto.data_type)
    shape = dims(proto.dims)
    count = prod(shape)
    if proto.segment is not None:
        raise TensorFault("is stored in segments, which no reader supports; save the model again")
    if proto.data_location == 1:
        if dtype is ElementType.string:
            raise TensorFault("strings cannot be external data")
        return _external(proto, dtype, shape, count, files)
    present = [name for name in _FIELDS if getattr(proto, name)]
    if proto.raw_data is not None and (len(proto.raw_data) or not present):
        if dtype is ElementType.string:
            raise TensorFault("strings cannot be raw data")
        if present:
            raise TensorFault(f"has raw_data and {present[0]}; one of them must go")
        return _raw(proto.raw_data, dtype, shape, count)
    if dtype is ElementType.string:
        return _strings(list(proto.string_data), shape, count)
    expected = _TYPED.get(dtype, "int32_data")
    if present and present != [expected]:
        raise TensorFault(f"{dtype} elements belong into {expected} or raw_data, they are in {', '.join(present)}")
    packed = getattr(proto, expected)
    # elements of 2 and 4 bits share an entry, complex numbers take two
    entries = (count * dtype.bits + 7) // 8 if dtype.bits < 6 else count * (2 if dtype.is_complex else 1)
    try:
        available = packed.count() if packed is not None else 0
    except WireError as error:
        raise TensorFault(str(error)) from None
    if entries != available:
        raise TensorFault(f"shape {shape} of {dtype} needs {entries} numbers, and {expected} has {available}")
    return Constant(dtype, shape, lambda: _decode_typed(packed, dtype, shape))


def element_type(code: int) -> ElementType:
    try:
        return ElementType(code)
    except ValueError:
        raise TensorFault(f"element type {code} is not one that ONNX defines") from None


def dims(packed: Packed | None) -> tuple[int, ...]:
    try:
        shape = tuple(packed.array().tolist()) if packed is not None else ()
    except WireError as error:
        raise TensorFault(f"its dims: {error}") from None
    if len(shape) > 64:
        raise TensorFault(f"has {len(shape)} dimensions; 64 is the most")
    if any(size < 0 for size in shape):
        raise TensorFault(f"shape {shape} has a negative size")
    return shape


def _raw(data: memoryview, dtype: ElementType, shape: tuple[int, ...], count: int) -> Constant:
    needed = (count * dtype.bits + 7) // 8
    if len(data) != needed:
        raise TensorFault(f"shape {shape} of {dtype} needs {needed} bytes, and raw_data has {len(data)}")
    return Constant(dtype, shape, lambda: _decode_raw(data, dtype, shape))


def _external(proto: Message, dtype: ElementType, shape: tuple[int, ...], count: int, files: ExternalFiles) -> Constant:
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get("location")
    if not location:
        raise TensorFault("is external data without a location")
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries["length"]) if "length" in entries else None
        data = files.slice(location, offset, length, (count * dtype.bits + 7) // 8)
    except ValueError as error:
        raise TensorFault(str(error)) from None
    return Constant(dtype, shape, lambda: _decode_raw(data, dtype, shape))


def _strings(data: Sequence[memoryview | bytes], shape: tuple[int, ...], count: int) -> Constant:
    if len(data) != count:
        raise TensorFault(f"shape {shape} of strings needs {count}, and there are {len(data)}")

    def load() -> Array:
        array = np.empty(count, dtype=object)
        for index, piece in enumerate(data):
            array[index] = bytes(piece).decode("utf-8", "surrogateescape")
        return array.reshape(shape)

    return Constant(ElementType.string, shape, load)


def _decode_raw(data: memoryview, dtype: ElementType, shape: tuple[int, ...]) -> Array:
    count = prod(shape)
    if dtype.bits < 8:
        return _unpack(np.frombuffer(data, dtype=np.uint8), dtype, count).reshape(shape)
    array = np.frombuffer(data, dtype=dtype.numpy)
    if sys.byteorder == "big":  # pragma: no cover
        array = array.byteswap()
    if not array.flags.aligned and array.nbytes <= KEPT:  # what is larger is copied anyway, by whoever takes it over
        array = array.copy()
    return array.reshape(shape)


def _unpack(octets: Array, dtype: ElementType, count: int) -> Array:
    """Elements of 2, 4 or 6 bits, the lowest bits first, one byte each."""
    if dtype.bits == 6:
        groups = np.zeros((count + 3) // 4 * 3, dtype=np.uint8)
        groups[: len(octets)] = octets
        first, second, third = groups[0::3], groups[1::3], groups[2::3]
        codes = np.stack(
            [first & 63, (first >> 6) | (second & 15) << 2, (second >> 4) | (third & 3) << 4, third >> 2], axis=1
        ).reshape(-1)[:count]
        return np.ascontiguousarray(codes).view(dtype.numpy)
    each = 8 // dtype.bits
    shifts = np.arange(0, 8, dtype.bits, dtype=np.uint8)
    codes = ((octets[:, None] >> shifts) & np.uint8((1 << dtype.bits) - 1)).reshape(-1)
    assert len(codes) >= count > len(codes) - each or count == 0
    codes = np.ascontiguousarray(codes[:count])
    if dtype is ElementType.i4 or dtype is ElementType.i2:  # extend the sign: one signed byte an element
        half = 1 << (dtype.bits - 1)
        return ((codes ^ half).astype(np.int8) - np.int8(half)).astype(dtype.numpy)
    return codes.view(dtype.numpy)


def _decode_typed(packed: Packed | None, dtype: ElementType, shape: tuple[int, ...]) -> Array:
    if not packed:
        return np.empty(shape, dtype.numpy)
    numbers = packed.array()
    if dtype.is_complex:
        array = np.ascontiguousarray(numbers).view(dtype.numpy)
    elif dtype in (ElementType.f32, ElementType.f64):
        array = numbers
    elif dtype.bits in (2, 4):
        array = _unpack(numbers.astype(np.uint8), dtype, prod(shape))
    elif dtype.bits == 6:
        array = (numbers.astype(np.uint8) & np.uint8(63)).view(dtype.numpy)
    elif dtype.is_float:
        array = numbers.astype(np.uint16 if dtype.bits == 16 else np.uint8).view(dtype.numpy)
    elif dtype is ElementType.bool_:
        array = numbers != 0
    else:
        array = numbers.astype(dtype.numpy, copy=False)
    if not array.flags.aligned or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array.reshape(shape)


def _outside(shape: tuple[int, ...]) -> OnnxError:
    return OnnxError("read", [f"an index of a sparse tensor lies outside of its shape {shape}"])


def sparse(proto: Message, files: ExternalFiles) -> Constant:
    """A sparse tensor, made dense when its elements are asked for."""
    if proto.values is None or proto.indices is None:
        raise TensorFault("is sparse and lacks its values or indices")
    values, indices = constant(proto.values, files), constant(proto.indices, files)
    shape = dims(proto.dims)
    if indices.dtype is not ElementType.i64 or len(values.shape) != 1:
        raise TensorFault(f"is sparse; its values must be one row and its indices i64, not {values!r}, {indices!r}")
    count = values.shape[0]
    if indices.shape not in ((count,), (count, len(shape))):
        raise TensorFault(f"is sparse with {count} values, and its indices have shape {indices.shape}")
    total = prod(shape)
    if total > DENSE_LIMIT:
        raise TensorFault(f"is sparse, and its shape {shape} is too large to be made dense")

    def load() -> Array:
        where = indices.array
        flat = where if where.ndim == 1 else _ravel(where, shape)
        if count and (flat.min() < 0 or flat.max() >= total):
            raise _outside(shape)
        dense = np.zeros(total, dtype=values.dtype.numpy) if values.dtype is not ElementType.string else _blank(total)
        dense[flat] = values.array
        return dense.reshape(shape)

    return Constant(values.dtype, shape, load)


def _ravel(indices: Array, shape: tuple[int, ...]) -> Array:
    strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64)
    outside = (indices < 0) | (indices >= np.array(shape, dtype=np.int64))
    if outside.any():
        raise _outside(shape)
    return indices @ strides


def _blank(count: int) -> Array:
    array = np.empty(count, dtype=object)
    array[:] = ""
    return array
