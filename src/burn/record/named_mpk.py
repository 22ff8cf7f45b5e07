"""Named MessagePack: structs as maps with their field names, tensors as binary objects.

The writer gives a record piece by piece, the numbers of a tensor as one piece that is not copied. The reader
walks over the bytes and leaves the large binary objects where they are, so the numbers of tensors do not count as
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from burn.message_pack import (
    FALSE,
    NIL,
    TRUE,
    MessagePackError,
    Reader,
    array_head,
    binary_head,
    integer,
    map_head,
    number,
    text,
)
from burn.record import assemble
from burn.record.errors import RecordError
from burn.record.items import Absent, Item, ParamItem, QuantizedItem, Some, Variant
from burn.record.metadata import Metadata
from burn.record.record import Record
from burn.record.settings import Settings, in_precision
from burn.record.source import Source
from burn.record.tensors import dtype_name, little_endian
from burn.tensor import TensorData

Piece = bytes | memoryview


# Writing


def encode(item: Item, metadata: Metadata, settings: Settings | None) -> Iterator[Piece]:
    """A whole record, in pieces."""
    yield map_head(3) + text("metadata") + map_head(len(metadata))
    for name, value in metadata._asdict().items():
        yield text(name) + text(value)
    yield text("item")
    try:
        yield from _item(item, settings)
    except MessagePackError as error:
        raise RecordError(str(error)) from None
    yield text("_b") + array_head(0)


def _item(item: Any, settings: Settings | None) -> Iterator[Piece]:
    if isinstance(item, TensorData):
        data = in_precision(item, settings)
        yield from _tensor(data, data.shape, text(dtype_name(data.dtype)))
    elif isinstance(item, QuantizedItem):
        scheme = b"".join(bytes(piece) for piece in _item({"QFloat": item.scheme}, None))
        yield from _tensor(item.bytes, item.shape, scheme)
    elif isinstance(item, ParamItem):
        yield map_head(2) + text("id") + text(item.id) + text("param")
        yield from _item(item.data, settings)
    elif isinstance(item, Some):
        yield from _item(item.value, settings)
    elif isinstance(item, Variant):
        yield map_head(1) + text(item.name)
        yield from _item(item.value, settings)
    elif isinstance(item, Absent) or item is None:
        yield NIL
    elif isinstance(item, dict):
        yield map_head(len(item))
        for name, value in item.items():
            yield text(name)
            yield from _item(value, settings)
    elif isinstance(item, list | tuple):
        yield array_head(len(item))
        for value in item:
            yield from _item(value, settings)
    elif isinstance(item, str):
        yield text(item)
    elif isinstance(item, bool):
        yield TRUE if item else FALSE
    elif isinstance(item, int):
        yield integer(item)
    else:
        yield number(item)


def _tensor(data: TensorData, shape: Any, dtype: bytes) -> Iterator[Piece]:
    numbers = little_endian(data)
    if len(numbers) >= 1 << 32:
        raise RecordError(
            f"a tensor of {len(numbers):,} bytes; MessagePack holds less than 4 GiB, "
            "BinFileRecorder, SafetensorsRecorder and BurnpackRecorder hold more"
        )
    yield map_head(3) + text("bytes") + binary_head(len(numbers))
    yield numbers
    yield text("shape") + array_head(len(shape)) + b"".join(map(integer, shape)) + text("dtype") + dtype


# Reading


class Blob(NamedTuple):
    """A binary object, left where it is."""

    offset: int
    length: int


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source."""
    reader = _Reader(source, settings)
    try:
        tree = reader.whole()
    except RecordError as error:
        where = ".".join(reader.path) or "its head"
        raise RecordError(f"damaged or no MessagePack record: at {where}, byte {reader.at:,}: {error}") from None
    metadata, item = assemble.root(tree)
    return Record(item, metadata)


_FLOATS = {0xCA: np.dtype([("tag", "u1"), ("value", ">f4")]), 0xCB: np.dtype([("tag", "u1"), ("value", ">f8")])}


class _Reader(Reader):
    error, subject = RecordError, "a record"

    def __init__(self, source: Source, settings: Settings | None) -> None:
        super().__init__(source.view)
        self.source, self.settings = source, settings

    def binary(self, start: int, length: int) -> Any:
        return Blob(start, length)

    def array(self, count: int, depth: int) -> Any:
        """A list; a long one of floats, as records older than 0.14 hold them, at once."""
        form = _FLOATS.get(self.view[self.at]) if count >= 32 else None
        if form is not None and count * form.itemsize <= self.size - self.at:
            found = np.frombuffer(self.view, form, count, self.at)
            if (found["tag"] == self.view[self.at]).all():
                self.at += count * form.itemsize
                return found["value"].astype(form["value"].newbyteorder("="))
        return super().array(count, depth)

    def fields(self, found: dict[str, Any]) -> Any:
        blobs = [name for name, value in found.items() if isinstance(value, Blob)]
        if blobs not in ([], ["bytes"]):
            raise RecordError("a binary object that belongs to no tensor")
        made = assemble.finish(found, self.source, found["bytes"] if blobs else None, self.settings)
        if made is found and blobs:
            raise RecordError("bytes without a shape and an element type")
        return made
