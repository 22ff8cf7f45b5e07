"""Burnpack: a small binary head, a CBOR map of the tensors, and their bytes at multiples of 256.

Numbers of a record are typed scalars beside the tensors, and a parameter's id is the 64-bit number behind its
thirteen characters; texts, and ids of another form, go into the metadata. Files of 0.19 have the same head
but no padding; the length of the file tells them apart.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import Any

from burn.record import assemble, cbor, flat
from burn.record.errors import RecordError
from burn.record.flat import IDS, VALUES, compact, parse
from burn.record.items import Item, Signed
from burn.record.metadata import VERSION, Metadata
from burn.record.record import Record
from burn.record.settings import Settings
from burn.record.source import Source
from burn.record.tensors import dtype_name, little_endian

MAGIC, FORMAT = 0x4255524E, 1
HEAD = struct.Struct("<IHI")
ALIGNMENT = 256
MAX_METADATA = 100 << 20
MAX_TENSORS = 100_000
ID_BYTES = 8
Piece = bytes | memoryview


def aligned(offset: int) -> int:
    """The next multiple of the alignment."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


# Writing


def encode(item: Item, metadata: Metadata | None, settings: Settings | None) -> Iterator[Piece]:
    """A whole record, in pieces."""
    tensors, others = flat.split(item, settings)
    described: dict[str, Any] = {}
    end, places = 0, []
    for entry in tensors:
        data = entry.value
        start = aligned(end)
        places.append(start - end)
        end = start + data.num_elements() * data.dtype.size
        found = {"dtype": dtype_name(data.dtype), "shape": list(data.shape), "data_offsets": [start, end]}
        number = id_number(entry.id)
        described[entry.path] = found if number is None else {**found, "param_id": number}
    texts = {"format": "burnpack", "producer": "burn", "version": VERSION}
    strings = {entry.path: entry.value for entry in others if isinstance(entry.value, str)}
    if strings:
        texts[VALUES] = compact(strings)
    names = {entry.path: entry.id for entry in tensors if entry.id and id_number(entry.id) is None}
    if names:
        texts[IDS] = compact(names)
    tree: dict[str, Any] = {"tensors": _sorted(described), "metadata": _sorted(texts)}
    scalars = {entry.path: _scalar(entry.value) for entry in others if not isinstance(entry.value, str)}
    if scalars:
        tree["scalars"] = _sorted(scalars)
    text = cbor.dumps(tree)
    head = HEAD.pack(MAGIC, FORMAT, len(text)) + text
    yield head + bytes(aligned(len(head)) - len(head))
    for entry, padding in zip(tensors, places, strict=True):
        if padding:
            yield bytes(padding)
        yield little_endian(entry.value)


def _sorted(fields: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(fields.items(), key=lambda pair: pair[0].encode("utf-8")))


def _scalar(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"Bool": value}
    if isinstance(value, float):
        return {"Float": value}
    return {"Int" if value < 0 or isinstance(value, Signed) else "UInt": int(value)}


def id_number(text: str | None) -> int | None:
    """The number behind a parameter's id, None for an id of another form (a UUID of an old record)."""
    try:
        number = int.from_bytes(base64.b32hexdecode((text or "").upper() + "==="), "little")
    except (binascii.Error, ValueError):
        return None
    return number if number < 1 << (8 * ID_BYTES) and id_text(number) == text else None


def id_text(number: int) -> str:
    """The thirteen characters of a parameter's id."""
    return base64.b32hexencode(number.to_bytes(ID_BYTES, "little")).decode("ascii").rstrip("=").lower()


# Reading


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source."""
    try:
        return Record(flat.nest(_entries(source, settings)))
    except RecordError as error:
        raise RecordError(f"damaged or no burnpack file: {error}") from None


def _entries(source: Source, settings: Settings | None) -> list[flat.Entry]:
    if source.size < HEAD.size:
        raise RecordError("it has no head")
    magic, version, length = HEAD.unpack_from(source.view)
    if magic != MAGIC:
        raise RecordError("it does not begin with the mark of one")
    if version != FORMAT:
        raise RecordError(f"it has version {version}, and {FORMAT} is known")
    if length > MAX_METADATA or length > source.size - HEAD.size:
        raise RecordError(f"a header of {length:,} bytes is announced in a file of {source.size:,}")
    tree = cbor.loads(source.view[HEAD.size : HEAD.size + length])
    tensors, texts, scalars = (_part(tree, name) for name in ("tensors", "metadata", "scalars"))
    if len(tensors) > MAX_TENSORS:
        raise RecordError(f"more than {MAX_TENSORS:,} tensors")
    start = _start(source.size, HEAD.size + length, _places(tensors))
    ids, strings = _texts(texts, IDS), _texts(texts, VALUES)
    entries = [_tensor(source, start, name, each, ids.get(name), settings) for name, each in tensors.items()]
    entries += [flat.Entry(name, None, _number(name, each)) for name, each in scalars.items()]
    return entries + [flat.Entry(name, None, each) for name, each in strings.items()]


def _texts(texts: dict[str, Any], name: str) -> dict[str, str]:
    """A map of texts that we keep in the metadata, which files of other writers do not have."""
    found = parse(texts[name]) if isinstance(texts.get(name), str) else {}
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise RecordError(f"{name} should be a map of texts")
    return found


def _part(tree: Any, name: str) -> dict[str, Any]:
    if not isinstance(tree, dict) or "tensors" not in tree:
        raise RecordError("its header has no tensors")
    found = tree.get(name, {})
    if not isinstance(found, dict):
        raise RecordError(f"{name} should be a map")
    return found


def _places(tensors: dict[str, Any]) -> int:
    """The end of the last tensor, after their places were found not to overlap."""
    places = []
    for name, each in tensors.items():
        offsets = each.get("data_offsets") if isinstance(each, dict) else None
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(end) is int for end in offsets)):
            raise RecordError(f"{name[:200]}: it has no place")
        places.append((offsets[0], offsets[1], name))
    at = 0
    for start, end, name in sorted(places):
        if start < at or end < start:
            raise RecordError(f"{name[:200]}: the bytes {start:,} to {end:,} overlap those of another tensor")
        at = end
    return at


def _start(size: int, unpadded: int, end: int) -> int:
    """Where the tensors begin: the file is as long as one of two layouts makes it."""
    for start in (aligned(unpadded), unpadded):
        if size == start + end:
            return start
    raise RecordError(f"the file should have {aligned(unpadded) + end:,} bytes and has {size:,}")


def _tensor(
    source: Source, start: int, name: str, each: dict[str, Any], text: str | None, settings: Settings | None
) -> flat.Entry:
    first, end = each["data_offsets"]
    number = each.get("param_id")
    if number is not None and (type(number) is not int or not 0 <= number < 1 << 64):
        raise RecordError(f"{name[:200]}: the id is no 64-bit number")
    try:
        data = assemble.tensor(source, start + first, end - first, each.get("shape"), each.get("dtype"), settings)
    except RecordError as error:
        raise RecordError(f"{name[:200]}: {error}") from None
    return flat.Entry(name, text if number is None else id_text(number), data)


def _number(name: str, each: Any) -> Any:
    kinds: dict[str, Any] = {"Int": int, "UInt": int, "Float": (int, float), "Bool": bool}
    if isinstance(each, dict) and len(each) == 1:
        ((kind, value),) = each.items()
        if isinstance(value, kinds.get(kind, ())) and isinstance(value, bool) == (kind == "Bool"):
            return Signed(value) if kind == "Int" else float(value) if kind == "Float" else value
    raise RecordError(f"{name[:200]}: no number")
