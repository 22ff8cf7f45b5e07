"""Named MessagePack: structs as maps with their field names, tensors as binary objects.

The writer gives a record piece by piece, the numbers of a tensor as one piece that is not copied. The reader
walks over the bytes and leaves the large binary objects where they are. Every length is compared with
what is left before anything is made of it, nesting is bounded, and so is the number of values: a record has
a handful for each tensor, whose numbers do not count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from burn.record import assemble
from burn.record.errors import RecordError
from burn.record.items import Absent, Item, ParamItem, QuantizedItem, Some, Variant
from burn.record.metadata import Metadata
from burn.record.record import Record
from burn.record.settings import Settings, in_precision
from burn.record.source import Source
from burn.record.tensors import dtype_name, little_endian
from burn.tensor import TensorData

MAX_DEPTH = 128
MAX_VALUES = 4_000_000
"""Values of a record beside the numbers of its tensors."""

NIL, FALSE, TRUE = b"\xc0", b"\xc2", b"\xc3"
Piece = bytes | memoryview


# Writing


def encode(item: Item, metadata: Metadata, settings: Settings | None) -> Iterator[Piece]:
    """A whole record, in pieces."""
    yield _map(3) + _text("metadata") + _map(len(metadata))
    for name, value in metadata._asdict().items():
        yield _text(name) + _text(value)
    yield _text("item")
    yield from _item(item, settings)
    yield _text("_b") + _array(0)


def _item(item: Any, settings: Settings | None) -> Iterator[Piece]:
    if isinstance(item, TensorData):
        data = in_precision(item, settings)
        yield from _tensor(data, data.shape, _text(dtype_name(data.dtype)))
    elif isinstance(item, QuantizedItem):
        scheme = b"".join(bytes(piece) for piece in _item({"QFloat": item.scheme}, None))
        yield from _tensor(item.bytes, item.shape, scheme)
    elif isinstance(item, ParamItem):
        yield _map(2) + _text("id") + _text(item.id) + _text("param")
        yield from _item(item.data, settings)
    elif isinstance(item, Some):
        yield from _item(item.value, settings)
    elif isinstance(item, Variant):
        yield _map(1) + _text(item.name)
        yield from _item(item.value, settings)
    elif isinstance(item, Absent) or item is None:
        yield NIL
    elif isinstance(item, dict):
        yield _map(len(item))
        for name, value in item.items():
            yield _text(name)
            yield from _item(value, settings)
    elif isinstance(item, list | tuple):
        yield _array(len(item))
        for value in item:
            yield from _item(value, settings)
    elif isinstance(item, str):
        yield _text(item)
    elif isinstance(item, bool):
        yield TRUE if item else FALSE
    elif isinstance(item, int):
        yield _integer(item)
    else:
        yield struct.pack(">Bd", 0xCB, item)


def _tensor(data: TensorData, shape: Any, dtype: bytes) -> Iterator[Piece]:
    numbers = little_endian(data)
    if len(numbers) >= 1 << 32:
        raise RecordError(
            f"a tensor of {len(numbers):,} bytes; MessagePack holds less than 4 GiB, "
            "BinFileRecorder, SafetensorsRecorder and BurnpackRecorder hold more"
        )
    yield _map(3) + _text("bytes") + _sized(len(numbers), None, 0xC4, 0xC5, 0xC6)
    yield numbers
    yield _text("shape") + _array(len(shape)) + b"".join(map(_integer, shape)) + _text("dtype") + dtype


def _sized(length: int, small: tuple[int, int] | None, one: int, two: int, four: int) -> bytes:
    if small is not None and length < small[1]:
        return bytes((small[0] | length,))
    if one and length < 1 << 8:
        return struct.pack(">BB", one, length)
    if length < 1 << 16:
        return struct.pack(">BH", two, length)
    if length < 1 << 32:
        return struct.pack(">BI", four, length)
    raise RecordError(f"{length:,} entries or characters are more than MessagePack can count")


def _map(length: int) -> bytes:
    return _sized(length, (0x80, 16), 0, 0xDE, 0xDF)


def _array(length: int) -> bytes:
    return _sized(length, (0x90, 16), 0, 0xDC, 0xDD)


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return _sized(len(data), (0xA0, 32), 0xD9, 0xDA, 0xDB) + data


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    if value >= 0:
        for tag, form, bits in ((0xCC, ">BB", 8), (0xCD, ">BH", 16), (0xCE, ">BI", 32), (0xCF, ">BQ", 64)):
            if value < 1 << bits:
                return struct.pack(form, tag, value)
    for tag, form, bits in ((0xD0, ">Bb", 7), (0xD1, ">Bh", 15), (0xD2, ">Bi", 31), (0xD3, ">Bq", 63)):
        if -(1 << bits) <= value < 0:
            return struct.pack(form, tag, value)
    raise RecordError(f"{value} has more than 64 bits")


# Reading


class Blob(NamedTuple):
    """A binary object, left where it is."""

    offset: int
    length: int


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source."""
    reader = _Reader(source, settings)
    try:
        tree = reader.value(0)
        if reader.at != source.size:
            raise RecordError(f"{source.size - reader.at:,} bytes too many")
    except RecordError as error:
        where = ".".join(reader.path) or "its head"
        raise RecordError(f"damaged or no MessagePack record: at {where}, byte {reader.at:,}: {error}") from None
    metadata, item = assemble.root(tree)
    return Record(item, metadata)


_NUMBERS = {
    0xCA: struct.Struct(">f"), 0xCB: struct.Struct(">d"),
    0xCC: struct.Struct(">B"), 0xCD: struct.Struct(">H"), 0xCE: struct.Struct(">I"), 0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"), 0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_COUNTS = {1: struct.Struct(">B"), 2: struct.Struct(">H"), 4: struct.Struct(">I")}
_BINARY = {0xC4: 1, 0xC5: 2, 0xC6: 4}
_STRING = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_ARRAY = {0xDC: 2, 0xDD: 4}
_MAP = {0xDE: 2, 0xDF: 4}
_FLOATS = {0xCA: np.dtype([("tag", "u1"), ("value", ">f4")]), 0xCB: np.dtype([("tag", "u1"), ("value", ">f8")])}


class _Reader:
    """A position in the bytes, and the names that lead to it."""

    def __init__(self, source: Source, settings: Settings | None) -> None:
        self.source, self.view, self.settings = source, source.view, settings
        self.at = 0
        self.left = MAX_VALUES
        self.path: list[str] = []

    def value(self, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RecordError(f"more than {MAX_VALUES:,} values")
        if self.at >= self.source.size:
            raise RecordError("the file ends here")
        tag = self.view[self.at]
        self.at += 1
        if tag <= 0x7F:
            return tag
        if tag >= 0xE0:
            return tag - 256
        if tag <= 0x8F:
            return self._map(tag & 15, depth)
        if tag <= 0x9F:
            return self._array(tag & 15, depth)
        if tag <= 0xBF:
            return self._text(tag & 31)
        if tag in _NUMBERS:
            return self._number(_NUMBERS[tag])
        if tag in _BINARY:
            length = self._number(_COUNTS[_BINARY[tag]])
            return Blob(self._take(length), length)
        if tag in _STRING:
            return self._text(self._number(_COUNTS[_STRING[tag]]))
        if tag in _ARRAY:
            return self._array(self._number(_COUNTS[_ARRAY[tag]]), depth)
        if tag in _MAP:
            return self._map(self._number(_COUNTS[_MAP[tag]]), depth)
        if tag in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[tag]
        raise RecordError(f"the byte 0x{tag:02x} starts nothing that a record holds")

    def _take(self, length: int) -> int:
        start = self.at
        if length > self.source.size - start:
            raise RecordError(f"{length:,} bytes are announced, {self.source.size - start:,} are left")
        self.at = start + length
        return start

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack_from(self.view, self._take(form.size))[0]

    def _text(self, length: int) -> str:
        start = self._take(length)
        try:
            return str(self.view[start : start + length], "utf-8")
        except UnicodeDecodeError:
            raise RecordError("a text that is not UTF-8") from None

    def _deeper(self, count: int, smallest: int, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise RecordError(f"more than {MAX_DEPTH} levels")
        if count * smallest > self.source.size - self.at:
            raise RecordError(f"{count:,} entries are announced, {self.source.size - self.at:,} bytes are left")
        return depth + 1

    def _array(self, count: int, depth: int) -> Any:
        below = self._deeper(count, 1, depth)
        numbers = self._floats(count)
        return [self.value(below) for _ in range(count)] if numbers is None else numbers

    def _floats(self, count: int) -> Any:
        """A long list of floats, as records older than 0.14 hold them, at once."""
        form = _FLOATS.get(self.view[self.at]) if count >= 32 else None
        if form is None or count * form.itemsize > self.source.size - self.at:
            return None
        found = np.frombuffer(self.view, form, count, self.at)
        if (found["tag"] != self.view[self.at]).any():
            return None
        self.at += count * form.itemsize
        return found["value"].astype(form["value"].newbyteorder("="))

    def _map(self, count: int, depth: int) -> Any:
        below = self._deeper(count, 2, depth)
        fields: dict[str, Any] = {}
        place = None
        for _ in range(count):
            name = self.value(below)
            if not isinstance(name, str):
                raise RecordError("the name of a field should be a text")
            if name in fields:
                raise RecordError(f"the field {name[:80]!r} is there twice")
            self.path.append(name)
            value = self.value(below)
            if isinstance(value, Blob):
                place = value if name == "bytes" else None
                if place is None:
                    raise RecordError("a binary object that belongs to no tensor")
            fields[name] = value
            self.path.pop()
        made = assemble.finish(fields, self.source, place, self.settings)
        if made is fields and place is not None:
            raise RecordError("bytes without a shape and an element type")
        return made
