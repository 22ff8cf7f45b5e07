"""Quantised tensors in records: small integers packed into words, the scales behind them, and the scheme.

Values of 8, 4 or 2 bits fill 32-bit words from the lowest bits up, zeros fill the last word, and one f32 for
each scale follows. A scheme of the kind `QInt8` over a whole tensor is written as 0.18
does, the others as 0.19 does, and `Channel`, which the Rust framework does not have, in the same way.

Affine schemes have one i32 for each zero point between the values and the scales, as 0.17 wrote them; later
versions of the Rust framework have no affine mode. Schemes in the spelling of 0.17 are read, not written.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn.backend import NdArray
from burn.dtype import DType, f32, i8
from burn.record.errors import RecordError
from burn.record.items import QuantizedItem
from burn.record.tensors import check_shape
from burn.shape import Shape
from burn.tensor import Tensor, TensorData
from burn.tensor.quantization import QuantizationMode, QuantizationScheme, QuantizationType, QuantizedTensor

Array = np.ndarray[Any, Any]
WORD = 4


def pack(tensor: QuantizedTensor) -> QuantizedItem:
    """A quantised tensor as files hold it."""
    values = _pressed(tensor.values.to_data().numpy().reshape(-1), tensor.scheme.value.bits)
    scales = tensor.scale.to_data().convert(f32).numpy().reshape(-1).astype("<f4").view(np.uint8)
    zeros = np.zeros(0, "<i4") if tensor.zero is None else tensor.zero.to_data().numpy().reshape(-1).astype("<i4")
    together = np.concatenate([values, zeros.view(np.uint8), scales])
    return QuantizedItem(TensorData.adopt(together), tuple(tensor.shape), _written(tensor.scheme))


def _written(scheme: QuantizationScheme) -> dict[str, Any]:
    kind, value = type(scheme).__name__, scheme.value.name
    if kind == "PerTensor" and value == "QInt8":
        extra = {"acc_precision": "Full", "propagation": "Inhibit"}
        return {"level": "Tensor", "mode": scheme.mode.name, "q_type": value, **extra}
    level: Any = "Tensor"
    if kind == "PerChannel":
        level = {"Channel": getattr(scheme, "dim")}  # noqa: B009 - only this kind has it
    elif kind == "PerBlock":
        level = {"Block": list(getattr(scheme, "size"))}  # noqa: B009
    return {"value": value, "param": "F32", "store": "U32", "level": level, "mode": scheme.mode.name}


def unpack(item: QuantizedItem) -> QuantizedTensor | QuantizedItem:
    """The quantised tensor, on `NdArray()`; the item itself where the scheme is not one of ours."""
    scheme = _read(item.scheme)
    if scheme is None:
        return item
    shape = Shape(check_shape(item.shape))
    sizes = _scale_shape(scheme, shape)
    count, held, words = math.prod(shape), item.bytes.num_elements(), WORD * math.prod(sizes)
    start = WORD * math.ceil(count * scheme.value.bits / 32)
    end = start + words * scheme.is_affine
    if held != end + words:
        raise RecordError(f"a quantised tensor of shape {list(shape)} cannot have {held:,} bytes")
    raw = item.bytes.numpy()
    values = _tensor(_spread(raw[:start], scheme.value.bits)[:count].reshape(shape), i8)
    scale = _tensor(raw[end:].copy().view("<f4").astype(np.float32).reshape(sizes), f32)
    zero = None
    if scheme.is_affine:
        zeros = raw[start:end].copy().view("<i4")
        if zeros.size and not scheme.value.low <= zeros.min() <= zeros.max() <= scheme.value.high:
            raise RecordError(f"a quantised tensor whose zero points are no {scheme.value.name}")
        zero = _tensor(zeros.astype(np.int8).reshape(sizes), i8)
    return QuantizedTensor(values, scale, scheme, f32, zero)


def _pressed(values: Array, bits: int) -> Array:
    """Integers as bytes that fill words, several in a byte where they are small."""
    in_byte = 8 // bits
    padded = np.concatenate([values, np.zeros(-values.size % (WORD * in_byte), np.int8)]).view(np.uint8)
    together = np.zeros(padded.size // in_byte, np.uint8)
    for place in range(in_byte):
        together |= (padded[place::in_byte] & ((1 << bits) - 1)) << (bits * place)
    return together


def _spread(data: Array, bits: int) -> Array:
    """The integers in bytes; a view where each has its own byte."""
    if bits == 8:
        return data.view(np.int8)
    in_byte = 8 // bits
    values = np.empty(data.size * in_byte, np.int8)
    for place in range(in_byte):
        shifted = (data << (8 - bits * (place + 1))).view(np.int8)  # to the top, so that the sign comes down with it
        values[place::in_byte] = shifted >> (8 - bits)
    return values


def _tensor(array: Any, dtype: DType) -> Tensor[Any]:
    return Tensor.from_data(array, NdArray(), dtype)


def _scale_shape(scheme: QuantizationScheme, shape: Shape) -> tuple[int, ...]:
    if isinstance(scheme, QuantizationScheme.PerTensor):
        return (1,) if shape else ()
    layout, dims = scheme.layout(shape)
    return tuple(1 if dim in dims else size for dim, size in enumerate(layout))


def _read(scheme: Any) -> QuantizationScheme | None:
    if not isinstance(scheme, dict):
        return None
    if isinstance(scheme.get("PerTensor"), list | tuple) and len(scheme["PerTensor"]) == 2:  # 0.17
        mode, value = scheme["PerTensor"]
        scheme = {"mode": mode, "value": value, "level": "Tensor"}
    mode, value = scheme.get("mode"), scheme.get("q_type", scheme.get("value"))
    level, store = scheme.get("level"), scheme.get("store", "U32")
    known_modes, known_values = QuantizationMode.__members__, QuantizationType.__members__
    if not isinstance(mode, str) or not isinstance(value, str) or store != "U32":
        return None
    if mode not in known_modes or value not in known_values:
        return None
    found = known_modes[mode], known_values[value]
    if level == "Tensor":
        return QuantizationScheme.PerTensor(*found)
    if isinstance(level, dict) and type(level.get("Channel")) is int:
        return QuantizationScheme.PerChannel(*found, level["Channel"])
    if isinstance(level, dict) and isinstance(level.get("Block"), list):
        sizes = level["Block"]
        if sizes and all(type(size) is int and size > 0 for size in sizes):
            return QuantizationScheme.PerBlock(*found, tuple(sizes))
    return None
