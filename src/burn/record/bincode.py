"""Bin: the values of a record one after the other, without names and types.

Integers take one byte up to 250, otherwise a mark and two, four or eight bytes. A text, a tensor's bytes and a
list begin with their length, an optional with 0 or 1, a variant with its position; a struct is its fields and a
constant a zero. What the values mean has to be known: `decode` gives a record that is read by a schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from burn.record.errors import RecordError
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
from burn.record.layouts import layout_of
from burn.record.matching import Matched, join
from burn.record.metadata import FIELDS, Metadata, origin, release
from burn.record.record import Record
from burn.record.settings import Settings, in_precision
from burn.record.source import Source
from burn.record.tensors import DTYPES, MAX_RANK, dtype_name, little_endian, positions, tensor_at
from burn.tensor import TensorData

MAX_TEXT = 4096
"""Bytes of a text in the head of a file, or of a parameter's id."""

FORMS = ((251, struct.Struct("<H")), (252, struct.Struct("<I")), (253, struct.Struct("<Q")))
ORDER = positions(None)
Piece = bytes | memoryview
QUANTIZED = "a quantised tensor: Bin holds none, use NamedMpkFileRecorder"


# Writing


def encode(item: Item, metadata: Metadata, settings: Settings | None) -> Iterator[Piece]:
    """A whole record, in pieces."""
    if layout_of(item) is not None:
        raise RecordError(
            "these are weights under foreign names, and Bin holds no names: fit them to a module first with "
            "record.for_module(model)"
        )
    yield b"".join(map(_text, metadata))
    yield from _item(item, settings)


def _integer(value: int) -> bytes:
    if value < 0:
        raise RecordError(f"{value}: Bin writes an integer that may be negative as Signed({value})")
    if value < 251:
        return bytes((value,))
    for mark, form in FORMS:
        if value < 1 << (8 * form.size):
            return bytes((mark,)) + form.pack(value)
    raise RecordError(f"{value} has more than 64 bits")


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return _integer(len(data)) + data


def _item(item: Any, settings: Settings | None) -> Iterator[Piece]:
    if isinstance(item, TensorData):
        data = in_precision(item, settings)
        numbers = little_endian(data)
        yield _integer(len(numbers))
        yield numbers
        sizes = b"".join(map(_integer, data.shape))
        yield _integer(data.rank) + sizes + _integer(ORDER.index(dtype_name(data.dtype)))
    elif isinstance(item, QuantizedItem):
        raise RecordError(QUANTIZED)
    elif isinstance(item, ParamItem):
        yield _text(item.id)
        yield from _item(item.data, settings)
    elif isinstance(item, Some):
        yield b"\1"
        yield from _item(item.value, settings)
    elif isinstance(item, Absent) or item is None:
        yield b"\0"
    elif isinstance(item, Variant):
        yield _integer(item.index)
        yield from _item(item.value, settings)
    elif isinstance(item, dict):
        named = isinstance(item, Mapping)
        if named:
            yield _integer(len(item))
        for name, value in item.items():
            if named:
                yield _text(name)
            yield from _item(value, settings)
    elif isinstance(item, list | tuple):
        if isinstance(item, list):
            yield _integer(len(item))
        for value in item:
            yield from _item(value, settings)
    elif isinstance(item, str):
        yield _text(item)
    elif isinstance(item, bool):
        yield b"\1" if item else b"\0"
    elif isinstance(item, Signed):
        yield _integer(2 * item if item >= 0 else -2 * item - 1)
    elif isinstance(item, int):
        yield _integer(item)
    else:
        yield struct.pack("<d", item)


# Reading


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source: its head now, its item when a schema is there."""
    reader = _Reader(source, settings)
    try:
        metadata = Metadata(*(reader.text(MAX_TEXT) for _ in FIELDS))
    except RecordError as error:
        raise RecordError(f"damaged or no Bin record: in its head, byte {reader.at:,}: {error}") from None
    start, order = reader.at, positions(release(metadata))
    found = release(metadata)
    if found is not None and found < (0, 14):
        raise RecordError(
            f"a Bin record of version {metadata.version}, whose tensors are lists of numbers; load it in Rust with "
            "version 0.14 to 0.16 and the feature record-backward-compat, and save it again"
        )

    def by_schema(like: Item) -> Matched:
        walk = _Reader(source, settings, start, order)
        try:
            item = walk.item(like, "")
            if walk.at != source.size:
                raise RecordError(f"{source.size - walk.at:,} bytes are left when everything has been read")
        except RecordError as error:
            where = walk.where or "the record"
            raise RecordError(
                f"load_record: at {where}, byte {walk.at:,}: {error}; the file is damaged or holds another structure: "
                f"{origin(metadata)}"
            ) from None
        return Matched(item, [], walk.extra, walk.faults)

    return Record(None, metadata, by_schema)


class _Reader:
    """A position in the bytes."""

    def __init__(self, source: Source, settings: Settings | None, at: int = 0, order: tuple[str, ...] = ORDER) -> None:
        self.source, self.settings, self.at, self.order = source, settings, at, order
        self.where = ""
        self.extra: list[str] = []
        self.faults: list[str] = []

    def take(self, length: int) -> int:
        start = self.at
        if length > self.source.size - start:
            raise RecordError(f"{length:,} bytes are announced, {self.source.size - start:,} are left")
        self.at = start + length
        return start

    def byte(self) -> int:
        return self.source.view[self.take(1)]

    def integer(self) -> int:
        first = self.byte()
        if first < 251:
            return first
        for mark, form in FORMS:
            if first == mark:
                return int(form.unpack_from(self.source.view, self.take(form.size))[0])
        raise RecordError(f"the byte {first} starts no integer")

    def text(self, longest: int) -> str:
        length = self.integer()
        if length > longest:
            raise RecordError(f"a text of {length:,} bytes where {longest:,} are allowed")
        start = self.take(length)
        try:
            return str(self.source.view[start : start + length], "utf-8")
        except UnicodeDecodeError:
            raise RecordError("a text that is not UTF-8") from None

    def flag(self) -> bool:
        found = self.byte()
        if found > 1:
            raise RecordError(f"the byte {found} where 0 or 1 is expected")
        return found == 1

    def item(self, like: Any, path: str) -> Any:
        self.where = path
        if like is None:
            if self.byte():
                raise RecordError("a value where a constant is expected")
            return None
        if isinstance(like, ParamItem):
            return ParamItem(self.text(MAX_TEXT), self.tensor())
        if isinstance(like, TensorData):
            return self.tensor()
        if isinstance(like, Some | Absent):
            return self.optional(like.value if isinstance(like, Some) else like.like, like, path)
        if isinstance(like, Variant | Choice):
            return self.variant(like, path)
        if isinstance(like, MappingOf):
            return Mapping(self.pairs(like.value, path))
        if isinstance(like, dict):
            return {name: self.item(each, join(path, name)) for name, each in like.items()}
        if isinstance(like, list):
            return self.list(like, path)
        if isinstance(like, tuple):
            return tuple(self.item(each, join(path, index)) for index, each in enumerate(like))
        return self.plain(like)

    def plain(self, like: Any) -> Any:
        if isinstance(like, bool):
            return self.flag()
        if isinstance(like, Signed):
            value = self.integer()
            return Signed(value // 2 if value % 2 == 0 else -(value + 1) // 2)
        if isinstance(like, int):
            return self.integer()
        if isinstance(like, float):
            return struct.unpack_from("<d", self.source.view, self.take(8))[0]
        if isinstance(like, str):
            return self.text(self.source.size)
        raise TypeError(f"a schema holds no {type(like).__name__}")

    def tensor(self) -> TensorData:
        length = self.integer()
        start = self.take(length)
        rank = self.integer()
        if rank > MAX_RANK:
            raise RecordError(f"a tensor of {rank:,} dimensions")
        shape = [self.integer() for _ in range(rank)]
        position = self.integer()
        if position >= len(self.order):
            raise RecordError(f"the element type {position}, and there are {len(self.order)}")
        name = self.order[position]
        if name == "QFloat":
            raise RecordError(QUANTIZED)
        return in_precision(tensor_at(self.source, start, length, shape, DTYPES[name]), self.settings)

    def optional(self, inner: Any, like: Any, path: str) -> Any:
        if not self.flag():
            return Absent(inner)
        if inner is None and isinstance(like, Absent):
            raise RecordError("an optional that is there, and what it holds is not known")
        return Some(self.item(inner, path))

    def variant(self, like: Variant | Choice, path: str) -> Variant:
        index = self.integer()
        if isinstance(like, Variant):
            if index != like.index:
                raise RecordError(f"the variant {like.name}, number {like.index}, is expected, the file has {index}")
            name, inner = like.name, like.value
        else:
            if index >= len(like.variants):
                raise RecordError(f"the variant number {index} of {', '.join(like.variants)}")
            name, inner = list(like.variants.items())[index]
        return Variant(name, index, self.item(inner, join(path, name)))

    def count(self) -> int:
        found = self.integer()
        if found > self.source.size - self.at:
            raise RecordError(f"{found:,} entries are announced, {self.source.size - self.at:,} bytes are left")
        return found

    def pairs(self, like: Any, path: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for _ in range(self.count()):
            name = self.text(MAX_TEXT)
            if name in made:
                raise RecordError(f"the key {name[:80]!r} is there twice")
            made[name] = self.item(like, join(path, name))
        return made

    def list(self, like: list[Any], path: str) -> list[Any]:
        count = self.count()
        if count and not like:
            raise RecordError(f"a list of {count:,} entries where an empty one is expected")
        made = [self.item(like[min(n, len(like) - 1)], join(path, n)) for n in range(count)]
        if count < len(like):
            self.faults.append(f"{path or 'the record'}: {len(like)} entries are expected, the record has {count}")
        self.extra += [join(path, index) for index in range(len(like), count)]
        return made[: len(like)]
