"""From the maps of a named format to items: which maps are tensors, and which are parameters.

Named formats know maps, lists, texts and numbers. A map of `bytes`, `shape` and `dtype` is a tensor, a map of an
`id` and such a `param` is a parameter. Records older than 0.14 have tensors as lists: `value` and `shape`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn.dtype import bool_, f32, f64, i32, i64, u8
from burn.errors import BurnError
from burn.record.errors import RecordError
from burn.record.items import ParamItem, QuantizedItem
from burn.record.metadata import Metadata, from_fields, release
from burn.record.quantized import unpack
from burn.record.settings import Settings, in_precision
from burn.record.source import Source
from burn.record.tensors import DTYPES, check_shape, tensor_at
from burn.tensor import TensorData
from burn.tensor.quantization import QuantizedTensor

TENSOR = frozenset(("bytes", "shape", "dtype"))
PARAM = frozenset(("id", "param"))
LIST = frozenset(("value", "shape"))
ROOT = ("metadata", "item")
FIRST = (0, 14)
"""The first release with tensors as bytes."""


def finish(fields: dict[str, Any], source: Source, place: tuple[int, int] | None, settings: Settings | None) -> Any:
    """A map that is complete: a tensor, a parameter, or itself. `place` is where its bytes lie, if it has any."""
    if place is not None and fields.keys() == TENSOR:
        return tensor(source, *place, fields["shape"], fields["dtype"], settings)
    if fields.keys() != PARAM or not isinstance(fields["id"], str):
        return fields
    is_tensor = isinstance(fields["param"], TensorData | QuantizedTensor | QuantizedItem)
    return ParamItem(fields["id"], fields["param"]) if is_tensor else fields


def tensor(source: Source, offset: int, length: int, shape: Any, dtype: Any, settings: Settings | None) -> Any:
    """A tensor of any element type that a file names, in the precision that was asked for."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return in_precision(tensor_at(source, offset, length, shape, DTYPES[dtype]), settings)
    if isinstance(dtype, dict) and len(dtype) == 1:
        ((name, value),) = dtype.items()
        if name == "Bool" and value in ("Native", "U8"):
            return tensor_at(source, offset, length, shape, bool_)
        if name == "Bool" and value == "U32":
            words = tensor_at(source, offset, length, shape, DTYPES["U32"])
            return TensorData.adopt(words.numpy() != 0)
        if name == "QFloat":
            return _quantized(source, offset, length, shape, value)
    raise RecordError(f"unknown element type {str(dtype)[:80]!r}; known are {', '.join(DTYPES)}")


def _quantized(source: Source, offset: int, length: int, shape: Any, scheme: Any) -> Any:
    raw = tensor_at(source, offset, length, [length], u8)
    try:
        return unpack(QuantizedItem(raw, check_shape(shape), scheme))
    except RecordError:
        raise
    except BurnError as error:
        raise RecordError(f"a quantised tensor that does not fit its scheme: {error}") from None


def root(tree: Any) -> tuple[Metadata, Any]:
    """Metadata and item of a whole named record."""
    if not isinstance(tree, dict) or not all(name in tree for name in ROOT):
        raise RecordError("this is no record: a record is a map with metadata and item")
    metadata, item = from_fields(tree["metadata"]), tree["item"]
    found = release(metadata)
    return metadata, modernise(item, metadata, "") if found is not None and found < FIRST else item


def modernise(item: Any, metadata: Metadata, path: str) -> Any:
    """An item of a record older than 0.14, with its lists of numbers as tensors."""
    if isinstance(item, dict):
        if item.keys() == LIST and _is_numbers(item["value"]) and isinstance(item["shape"], list):
            return _from_list(item["value"], item["shape"], metadata, path)
        below = {name: modernise(each, metadata, f"{path}.{name}" if path else name) for name, each in item.items()}
        if below.keys() == PARAM and isinstance(below["id"], str) and isinstance(below["param"], TensorData):
            return ParamItem(below["id"], below["param"])
        return below
    if isinstance(item, list):
        return [modernise(each, metadata, f"{path}.{index}") for index, each in enumerate(item)]
    return item


def _is_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        isinstance(value, list) and all(isinstance(each, int | float) for each in value)
    )


def _from_list(values: Any, shape: list[Any], metadata: Metadata, path: str) -> TensorData:
    sizes = check_shape(shape)
    if math.prod(sizes) != len(values):
        raise RecordError(f"{path}: the shape {list(sizes)} has no {len(values):,} elements")
    numbers = values if isinstance(values, np.ndarray) else None
    if numbers is None and values and all(isinstance(each, bool) for each in values):
        return TensorData(values, sizes, bool_)
    if numbers is None and values and all(type(each) is int for each in values):
        if metadata.float.startswith("half"):
            raise RecordError(
                f"{path}: a record of version {metadata.version} in half precision does not tell floats from integers; "
                "load it in Rust with version 0.14 to 0.16 and the feature record-backward-compat, and save it again"
            )
        low, high = min(values), max(values)
        if low < -(1 << 63) or high >= 1 << 63:
            raise RecordError(f"{path}: an integer of more than 64 bits")
        wide = metadata.int == "i64" or low < -(1 << 31) or high >= 1 << 31
        return TensorData(values, sizes, i64 if wide else i32)
    dtype = f64 if metadata.float == "f64" else f32
    return TensorData(np.asarray(values, np.float64), sizes, dtype)
