"""Files of named tensors: a tree of items as a flat list of dotted paths, and back.

Safetensors and burnpack know tensors by name. A struct adds its field to the name, a list its index, a variant
its name; an optional adds nothing. Constants and absent optionals are left out, and so is an empty list: a
schema puts them back. Numbers, texts and ids go beside the tensors, as JSON in texts of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from burn.record.errors import RecordError
from burn.record.items import Absent, Item, ParamItem, QuantizedItem, Some, Variant
from burn.record.settings import Settings, in_precision
from burn.tensor import TensorData

MAX_DEPTH = 128
MAX_CONTAINERS = 400_000
"""Maps and lists in the JSON of a header."""

IDS, VALUES = "burn.ids", "burn.values"
"""The texts that hold ids of parameters and plain values, both by path."""

MAX_PARTS = 4_000_000
"""Parts of all names together."""


class Entry(NamedTuple):
    """A leaf: its dotted path, the id it has as a parameter, and its value."""

    path: str
    id: str | None
    value: Any


def flatten(item: Item, path: str = "") -> Iterator[Entry]:
    """The leaves of a tree, in order."""
    if isinstance(item, ParamItem):
        yield Entry(path, item.id, item.data)
    elif isinstance(item, Some):
        yield from flatten(item.value, path)
    elif isinstance(item, Variant):
        yield from flatten(item.value, _join(path, item.name))
    elif isinstance(item, Absent) or item is None:
        return
    elif isinstance(item, dict):
        for name, value in item.items():
            yield from flatten(value, _join(path, name))
    elif isinstance(item, list | tuple) and not isinstance(item, QuantizedItem):
        for index, value in enumerate(item):
            yield from flatten(value, _join(path, str(index)))
    else:
        yield Entry(path, None, item)


def _join(path: str, name: str) -> str:
    if not name or "." in name:
        raise RecordError(f"{path or 'the record'}: the name {name!r} cannot be part of a dotted path")
    return f"{path}.{name}" if path else name


def split(item: Item, settings: Settings | None) -> tuple[list[Entry], list[Entry]]:
    """Tensors, in the precision that is asked for, and the other leaves."""
    tensors, others = [], []
    for entry in flatten(item):
        if isinstance(entry.value, QuantizedItem):
            raise RecordError(f"{entry.path}: a quantised tensor: use NamedMpkFileRecorder")
        if isinstance(entry.value, TensorData):
            tensors.append(entry)
        else:
            others.append(entry)
        if not entry.path:
            raise RecordError("a file of named tensors needs names: record a struct")
    return [entry._replace(value=in_precision(entry.value, settings)) for entry in tensors], others


def nest(entries: list[Entry]) -> Item:
    """The tree of a flat list. Parts named 0, 1, 2 and so on become a list."""
    root: dict[str, Any] = {}
    if sum(entry.path.count(".") for entry in entries) > MAX_PARTS:
        raise RecordError(f"names of more than {MAX_PARTS:,} parts")
    for entry in entries:
        *parents, last = parts = entry.path.split(".")
        if len(parts) > MAX_DEPTH:
            raise RecordError(f"{entry.path[:80]}...: more than {MAX_DEPTH} levels")
        node = root
        for name in parents:
            node = node.setdefault(name, {})
            if not isinstance(node, dict):
                raise RecordError(f"{entry.path[:200]}: {name[:80]!r} is both a value and a struct")
        if last in node:
            raise RecordError(f"{entry.path[:200]}: is there twice, or is both a value and a struct")
        node[last] = entry.value if entry.id is None else ParamItem(entry.id, entry.value)
    made: Item = _lists(root)
    return made


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    below = {name: _lists(value) for name, value in node.items()}
    names = [str(index) for index in range(len(below))]
    return [below[name] for name in names] if below and below.keys() == set(names) else below


def compact(value: Any) -> str:
    """Small JSON, without spaces."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise RecordError(f"a number that JSON cannot hold: {error}") from None


def parse(text: bytes | str) -> Any:
    """Small JSON from a file that nobody has checked."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS:
        raise RecordError(f"JSON with more than {MAX_CONTAINERS:,} maps and lists")
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise RecordError("JSON that is nested too deeply") from None
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(f"no JSON: {str(error)[:200]}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise RecordError("a name is there twice")
    return fields
