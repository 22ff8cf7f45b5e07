"""Looking at an item before it is written: every fault at once, and nothing written where there is one."""

from __future__ import annotations

from typing import Any

from burn.record.items import Absent, Item, ParamItem, QuantizedItem, Some, Variant
from burn.record.matching import join
from burn.record.quantized import pack
from burn.tensor import TensorData
from burn.tensor.quantization import QuantizedTensor

MAX_DEPTH = 100
"""Levels of a record: files allow a few more, for the tensors themselves."""


def prepared(item: Any, faults: list[str], path: str = "", depth: int = 0) -> Item:
    """The item with quantised tensors packed; what cannot be written is added to `faults`."""
    if depth > MAX_DEPTH:
        faults.append(f"{path}: more than {MAX_DEPTH} levels")
        return None
    if isinstance(item, str):
        _check_text(item, faults, path)
    if item is None or isinstance(item, TensorData | QuantizedItem | Absent | str | bool | int | float):
        return item
    if isinstance(item, QuantizedTensor):
        return pack(item)
    if isinstance(item, ParamItem):
        if not isinstance(item.id, str) or not isinstance(item.data, TensorData | QuantizedTensor | QuantizedItem):
            faults.append(f"{path or 'the record'}: a parameter needs an id and data, got {_short(item)}")
        return item._replace(id=str(item.id), data=prepared(item.data, faults, path, depth + 1))
    if isinstance(item, Some):
        return Some(prepared(item.value, faults, path, depth + 1))
    if isinstance(item, Variant):
        if not isinstance(item.name, str) or not isinstance(item.index, int) or item.index < 0:
            faults.append(f"{path or 'the record'}: a variant needs a name and a position, got {_short(item)}")
        return item._replace(value=prepared(item.value, faults, join(path, item.name), depth + 1))
    if isinstance(item, dict):
        faults += [f"{path or 'the record'}: the key {name!r} is no text" for name in item if not isinstance(name, str)]
        for name in item:
            _check_text(name, faults, path)
        made = {name: prepared(value, faults, join(path, name), depth + 1) for name, value in item.items()}
        return type(item)(made) if type(item) is not dict else made
    if type(item) in (list, tuple):
        return type(item)(prepared(each, faults, join(path, n), depth + 1) for n, each in enumerate(item))  # type: ignore[no-any-return]
    faults.append(f"{path or 'the record'}: a record holds no {type(item).__name__}; use TensorData, numbers and texts")
    return None


def _check_text(text: Any, faults: list[str], path: str) -> None:
    if isinstance(text, str) and not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        faults.append(f"{path or 'the record'}: {text!r} is no Unicode text")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
