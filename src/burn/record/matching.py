"""Matching: a record from a file, brought into the kinds of a schema, with every difference listed.

A named format cannot say whether a value is an optional that is there, a variant or a plain value, and
files of tensors alone leave out everything else. The schema knows. A missing optional is absent and a missing
constant is a constant, as they are for the Rust framework; anything else that is missing is listed by its path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.record.items import (
    Absent,
    Choice,
    Item,
    Mapping,
    MappingOf,
    ParamItem,
    QuantizedItem,
    Signed,
    Some,
    Variant,
)
from burn.tensor import TensorData
from burn.tensor.quantization import QuantizedTensor

TENSORS = (TensorData, QuantizedItem, QuantizedTensor)


class Matched(NamedTuple):
    """An `item` in the kinds of a schema, and the dotted paths of what is not as it says: `missing`, `extra`, `faults`.

    >>> from burn.record import Record
    >>> matched = Record({"a": 1, "b": 2}).match({"a": 0, "c": 0})
    >>> matched.missing, matched.extra
    (['c'], ['b'])
    """

    item: Item
    missing: list[str]
    extra: list[str]
    faults: list[str]


class _Missing:
    """Stands for what a file does not have."""


MISSING = _Missing()


def match(item: Item, like: Item) -> Matched:
    """Bring an item into the kinds of a schema."""
    walk = _Walk()
    made = walk.any(item, like, "")
    return Matched(made, walk.missing, walk.extra, walk.faults)


def join(path: str, name: object) -> str:
    """The path of a part."""
    return f"{path}.{name}" if path else str(name)


def kind(item: Any) -> str:
    """What an item is, for messages."""
    if item is None or isinstance(item, Absent):
        return "nothing"
    if isinstance(item, ParamItem):
        return "a parameter"
    if isinstance(item, TENSORS):
        return "a tensor"
    if isinstance(item, Some):
        return kind(item.value)
    if isinstance(item, Variant):
        return f"the variant {item.name}"
    names = {dict: "a struct", Mapping: "a map", list: "a list", tuple: "a tuple", str: "a text", bool: "a bool"}
    names |= {int: "an integer", Signed: "an integer", float: "a number"}
    return names.get(type(item), type(item).__name__)


class _Walk:
    """One comparison, and what it found."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.extra: list[str] = []
        self.faults: list[str] = []

    def wrong(self, path: str, expected: str, item: Any, like: Any) -> Any:
        self.faults.append(f"{path or 'the record'}: {expected} is expected, the record has {kind(item)}")
        return like

    def any(self, item: Any, like: Any, path: str) -> Any:
        if like is None:
            return None
        if isinstance(like, Some):
            return self.optional(item, like.value, path) if like.value is not None else like
        if isinstance(like, Absent):
            return self.optional(item, like.like, path) if item is not MISSING else like
        if isinstance(item, Some):
            item = item.value
        if isinstance(like, ParamItem):
            return self.parameter(item, like, path)
        if isinstance(like, TENSORS):
            return self.tensor(item, like, path)
        if isinstance(like, Variant):
            return self.variant(item, like, path)
        if isinstance(like, Choice):
            return self.choice(item, like, path)
        if isinstance(like, MappingOf):
            return self.mapping(item, like, path)
        if isinstance(like, dict):
            return self.struct(item, like, path)
        if isinstance(like, list | tuple):
            return self.sequence(item, like, path)
        return self.plain(item, like, path)

    def optional(self, item: Any, like: Any, path: str) -> Any:
        if isinstance(item, Some):
            item = item.value
            return Some(item if like is None else self.any(item, like, path))
        if item is None or item is MISSING or isinstance(item, Absent):
            return Absent(like)
        return Some(item if like is None else self.any(item, like, path))

    def parameter(self, item: Any, like: ParamItem, path: str) -> Any:
        if isinstance(item, ParamItem):
            return item
        if isinstance(item, TENSORS):
            return ParamItem(like.id, item)
        if item is MISSING:
            self.missing.append(path)
            return like
        return self.wrong(path, "a parameter", item, like)

    def tensor(self, item: Any, like: Any, path: str) -> Any:
        if isinstance(item, ParamItem):
            return item.data
        if isinstance(item, TENSORS):
            return item
        if item is MISSING:
            self.missing.append(path)
            return like
        return self.wrong(path, "a tensor", item, like)

    def variant(self, item: Any, like: Variant, path: str) -> Any:
        name, value = _named(item, like.value)
        if item is MISSING:
            name, value = like.name, MISSING
        if name is None:
            return self.wrong(path, f"the variant {like.name}", item, like)
        if name != like.name:
            self.faults.append(f"{path or 'the record'}: the variant {like.name} is expected, the record has {name}")
            return like
        return Variant(name, like.index, self.any(value, like.value, join(path, name)))

    def choice(self, item: Any, like: Choice, path: str) -> Any:
        if item is MISSING:
            self.missing.append(path)
            return None
        name, value = _named(item, None)
        if name not in like.variants:
            return self.wrong(path, f"one of {', '.join(like.variants)}", item, None)
        index = list(like.variants).index(name)
        return Variant(name, index, self.any(value, like.variants[name], join(path, name)))

    def mapping(self, item: Any, like: MappingOf, path: str) -> Any:
        if item is MISSING:
            return Mapping()
        if not isinstance(item, dict):
            return self.wrong(path, "a map", item, Mapping())
        return Mapping({name: self.any(value, like.value, join(path, name)) for name, value in item.items()})

    def struct(self, item: Any, like: dict[str, Any], path: str) -> Any:
        if item is MISSING:
            item = {}
        if isinstance(item, list):  # a file of tensors alone takes fields named 0, 1, 2 for a list
            item = {str(index): each for index, each in enumerate(item)}
        if not isinstance(item, dict):
            return self.wrong(path, "a struct", item, like)
        self.extra += [join(path, name) for name in item if name not in like]
        made = {name: self.any(item.get(name, MISSING), each, join(path, name)) for name, each in like.items()}
        return Mapping(made) if isinstance(like, Mapping) else made

    def sequence(self, item: Any, like: Any, path: str) -> Any:
        if item is MISSING:
            item = []
        if isinstance(item, dict):  # a file of tensors alone, with gaps in the list
            names = [str(index) for index in range(len(like))]
            self.extra += [join(path, name) for name in item if name not in names]
            item = [item.get(name, MISSING) for name in names]
        if type(item) not in (list, tuple):
            return self.wrong(path, "a list" if isinstance(like, list) else "a tuple", item, like)
        self.extra += [join(path, index) for index in range(len(like), len(item))]
        parts = [self.any(item[n] if n < len(item) else MISSING, each, join(path, n)) for n, each in enumerate(like)]
        return parts if isinstance(like, list) else tuple(parts)

    def plain(self, item: Any, like: Any, path: str) -> Any:
        if item is MISSING:
            self.missing.append(path)
            return like
        if isinstance(like, bool):
            return item if isinstance(item, bool) else self.wrong(path, "a bool", item, like)
        if isinstance(like, int):
            if not isinstance(item, int) or isinstance(item, bool):
                return self.wrong(path, "an integer", item, like)
            return Signed(item) if isinstance(like, Signed) else item
        if isinstance(like, float):
            if not isinstance(item, int | float) or isinstance(item, bool):
                return self.wrong(path, "a number", item, like)
            return float(item)
        if isinstance(like, str):
            return item if isinstance(item, str) else self.wrong(path, "a text", item, like)
        raise TypeError(f"a schema holds no {type(like).__name__}")


def _named(item: Any, unit: Any) -> tuple[Any, Any]:
    """Name and value of what may be a variant."""
    if isinstance(item, Variant):
        return item.name, item.value
    if isinstance(item, str):
        return item, unit if unit is None else MISSING
    if isinstance(item, dict) and len(item) == 1:
        return next(iter(item.items()))
    return None, None
