"""Safetensors: a JSON header with a name, a type, a shape and a place for each tensor, and their bytes.

Ids of parameters, numbers and texts are kept in the header's metadata, which other readers pass over.
The largest element types come first and the header is padded, so every tensor is aligned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from burn.dtype import DType, bf16, bool_, f8e4m3fn, f8e5m2, f8e8m0, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from burn.record import flat
from burn.record.errors import RecordError
from burn.record.flat import IDS, VALUES, compact, parse
from burn.record.items import Item
from burn.record.metadata import VERSION, Metadata
from burn.record.record import Record
from burn.record.settings import Settings, in_precision
from burn.record.source import Source
from burn.record.tensors import little_endian, tensor_at

MAX_HEADER = 100_000_000
MAX_TENSORS = 100_000
DTYPES = {
    "F64": f64, "F32": f32, "F16": f16, "BF16": bf16, "I64": i64, "I32": i32, "I16": i16, "I8": i8, "U64": u64,
    "U32": u32, "U16": u16, "U8": u8, "BOOL": bool_, "F8_E4M3": f8e4m3fn, "F8_E5M2": f8e5m2, "F8_E8M0": f8e8m0,
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}
Piece = bytes | memoryview


def encode(item: Item, metadata: Metadata | None, settings: Settings | None) -> Iterator[Piece]:
    """A whole record, in pieces."""
    tensors, others = flat.split(item, settings)
    wrong = [f"{each.path} ({each.value.dtype})" for each in tensors if each.value.dtype not in NAMES]
    if wrong:
        raise RecordError(f"safetensors has no name for the element type of {', '.join(wrong)}")
    tensors.sort(key=lambda entry: (-entry.value.dtype.size, entry.path))
    texts = {"format": "safetensors", "producer": "burn", "version": VERSION}
    ids = {entry.path: entry.id for entry in tensors if entry.id}
    if ids:
        texts[IDS] = compact(ids)
    if others:
        texts[VALUES] = compact({entry.path: entry.value for entry in others})
    header: dict[str, Any] = {"__metadata__": texts}
    end = 0
    for entry in tensors:
        start, end = end, end + entry.value.num_elements() * entry.value.dtype.size
        shape = list(entry.value.shape)
        header[entry.path] = {"dtype": NAMES[entry.value.dtype], "shape": shape, "data_offsets": [start, end]}
    text = compact(header).encode("utf-8")
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for entry in tensors:
        yield little_endian(entry.value)


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source."""
    try:
        return Record(flat.nest(read_entries(source, settings)))
    except RecordError as error:
        raise RecordError(f"damaged or no safetensors file: {error}") from None


def read_entries(source: Source, settings: Settings | None) -> list[flat.Entry]:
    """The tensors of a source, then its plain values."""
    header, start = _header(source)
    texts = _texts(header.pop("__metadata__", {}))
    _check_places(header, source.size - start)
    entries = [_entry(source, start, name, each, texts[0], settings) for name, each in header.items()]
    return entries + [flat.Entry(path, None, value) for path, value in texts[1].items()]


def _header(source: Source) -> tuple[dict[str, Any], int]:
    if source.size < 8:
        raise RecordError("it has no header")
    length = int.from_bytes(source.view[:8], "little")
    if length > MAX_HEADER or length > source.size - 8:
        raise RecordError(f"a header of {length:,} bytes is announced in a file of {source.size:,}")
    header = parse(bytes(source.view[8 : 8 + length]))
    if not isinstance(header, dict):
        raise RecordError("the header should be a map")
    if len(header) > MAX_TENSORS + 1:
        raise RecordError(f"more than {MAX_TENSORS:,} tensors")
    return header, 8 + length


def _texts(texts: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Ids and plain values by path, which files of other writers do not have."""
    if not isinstance(texts, dict) or not all(isinstance(value, str) for value in texts.values()):
        raise RecordError("the metadata should be a map of texts")
    ids, values = (parse(texts.get(name, "{}")) for name in (IDS, VALUES))
    if not isinstance(ids, dict) or not all(isinstance(each, str) for each in ids.values()):
        raise RecordError(f"{IDS} should be a map of texts")
    if not isinstance(values, dict) or not all(isinstance(each, str | int | float) for each in values.values()):
        raise RecordError(f"{VALUES} should be a map of numbers and texts")
    return ids, values


def _check_places(header: dict[str, Any], size: int) -> None:
    """Refuse tensors that do not follow each other or do not fill the file."""
    places = []
    for name, each in header.items():
        offsets = each.get("data_offsets") if isinstance(each, dict) else None
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(end) is int for end in offsets)):
            raise RecordError(f"{name[:200]}: it has no place")
        places.append((offsets[0], offsets[1], name))
    at = 0
    for start, end, name in sorted(places):
        if start != at or end < start:
            raise RecordError(f"{name[:200]}: its bytes {start:,} to {end:,} should begin at {at:,}")
        at = end
    if at != size:
        raise RecordError(f"{at:,} bytes of tensors are announced, {size:,} are there")


def _entry(
    source: Source, start: int, name: str, each: Any, ids: dict[str, str], settings: Settings | None
) -> flat.Entry:
    first, end = each["data_offsets"]
    dtype: DType | None = DTYPES.get(each.get("dtype")) if isinstance(each.get("dtype"), str) else None
    if dtype is None:
        raise RecordError(f"{name[:200]}: unknown element type {str(each.get('dtype'))[:40]!r}")
    try:
        data = tensor_at(source, start + first, end - first, each.get("shape"), dtype)
    except RecordError as error:
        raise RecordError(f"{name[:200]}: {error}") from None
    return flat.Entry(name, ids.get(name), in_precision(data, settings))
