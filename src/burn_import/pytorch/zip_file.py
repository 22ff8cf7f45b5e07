"""Zip archives, as far as PyTorch writes them: files stored without compression, found where they lie.

Only the directory at the end is read. Every place in it is compared with the size of the file before it is used.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from burn.record.errors import RecordError
from burn.record.source import Source

END, END_64, LOCATOR_64, ENTRY, LOCAL = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x01\x02", b"PK\x03\x04"
MAX_ENTRIES = 1_000_000
FULL_4, FULL_2 = 0xFFFFFFFF, 0xFFFF


class Entry(NamedTuple):
    """A file in an archive: where its header lies, its size, and how it is stored."""

    header: int
    size: int
    method: int
    flags: int


def directory(source: Source) -> dict[str, Entry]:
    """The files of an archive by name."""
    count, size, start = _end(source)
    if count > MAX_ENTRIES or not 0 <= start <= source.size - size:
        raise RecordError("damaged zip archive: its directory lies outside the file")
    entries: dict[str, Entry] = {}
    at, end = start, start + size
    for _ in range(count):
        if at + 46 > end or bytes(source.view[at : at + 4]) != ENTRY:
            raise RecordError("damaged zip archive: its directory is broken")
        flags, method = struct.unpack_from("<HH", source.view, at + 8)
        packed, plain, name_length, extra, comment = struct.unpack_from("<IIHHH", source.view, at + 20)
        (header,) = struct.unpack_from("<I", source.view, at + 42)
        if at + 46 + name_length + extra + comment > end:
            raise RecordError("damaged zip archive: its directory is broken")
        raw = bytes(source.view[at + 46 : at + 46 + name_length])
        fields = bytes(source.view[at + 46 + name_length : at + 46 + name_length + extra])
        plain, packed, header = _wide(fields, plain, packed, header)
        name = raw.decode("utf-8", "replace")
        if name in entries:
            raise RecordError(f"damaged zip archive: {name[:80]!r} is there twice")
        entries[name] = Entry(header, plain, method if plain == packed else max(method, 1), flags)
        at += 46 + name_length + extra + comment
    return entries


def _end(source: Source) -> tuple[int, int, int]:
    """Number of files, size and place of the directory."""
    tail = bytes(source.view[max(0, source.size - FULL_2 - 22) :])
    found = tail.rfind(END)
    if found < 0 or len(tail) - found < 22:
        raise RecordError("damaged zip archive: it has no end; was it copied completely?")
    count, size, start = struct.unpack_from("<HII", tail, found + 10)
    place = source.size - len(tail) + found
    before = place - 20
    if (count == FULL_2 or FULL_4 in (size, start)) and before >= 0 and source.view[before : before + 4] == LOCATOR_64:
        (wide,) = struct.unpack_from("<Q", source.view, before + 8)
        if wide > source.size - 56 or source.view[wide : wide + 4] != END_64:
            raise RecordError("damaged zip archive: its end is broken")
        count, size, start = struct.unpack_from("<QQQ", source.view, wide + 32)
    return count, size, start


def _wide(fields: bytes, plain: int, packed: int, header: int) -> tuple[int, int, int]:
    """Sizes and place, from the extra field with 64 bits where 32 are not enough."""
    if FULL_4 not in (plain, packed, header):
        return plain, packed, header
    at = 0
    while at + 4 <= len(fields):
        kind, length = struct.unpack_from("<HH", fields, at)
        if kind == 1:
            body, numbers = fields[at + 4 : at + 4 + length], [plain, packed, header]
            for index, number in enumerate(numbers):
                if number == FULL_4:
                    if len(body) < 8:
                        break
                    numbers[index], body = int.from_bytes(body[:8], "little"), body[8:]
            return numbers[0], numbers[1], numbers[2]
        at += 4 + length
    return plain, packed, header


def place(source: Source, name: str, entry: Entry) -> tuple[int, int]:
    """Where the bytes of a file begin, and how many they are."""
    if entry.flags & 1:
        raise RecordError(f"{name[:80]}: is encrypted")
    if entry.method:
        raise RecordError(f"{name[:80]}: is compressed, which PyTorch does not do; save the file again with torch.save")
    if entry.header > source.size - 30 or source.view[entry.header : entry.header + 4] != LOCAL:
        raise RecordError(f"damaged zip archive: {name[:80]} is not where its directory says")
    name_length, extra = struct.unpack_from("<HH", source.view, entry.header + 26)
    start = entry.header + 30 + name_length + extra
    if not 0 <= entry.size <= source.size - start:
        raise RecordError(f"damaged zip archive: {name[:80]} reaches out of the file")
    return start, entry.size
