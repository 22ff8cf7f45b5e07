"""MessagePack: how bytes hold maps, lists, texts, numbers and binary objects.

Writers put heads before what they hold. `Reader` walks over bytes that may be anything: every length is compared with
what is left before anything is made of it, nesting is bounded, and so is the number of values.
"""

from __future__ import annotations

import struct
from typing import Any

from burn.errors import BurnError

MAX_DEPTH = 128
MAX_VALUES = 4_000_000

NIL, FALSE, TRUE = b"\xc0", b"\xc2", b"\xc3"


class MessagePackError(BurnError, ValueError):
    """Bytes that are no MessagePack, or a value that it cannot hold."""


# Writing


def _sized(length: int, small: tuple[int, int] | None, one: int, two: int, four: int) -> bytes:
    if small is not None and length < small[1]:
        return bytes((small[0] | length,))
    if one and length < 1 << 8:
        return struct.pack(">BB", one, length)
    if length < 1 << 16:
        return struct.pack(">BH", two, length)
    if length < 1 << 32:
        return struct.pack(">BI", four, length)
    raise MessagePackError(f"{length:,} bytes, entries or characters are more than MessagePack can count")


def map_head(length: int) -> bytes:
    """What comes before the entries of a map."""
    return _sized(length, (0x80, 16), 0, 0xDE, 0xDF)


def array_head(length: int) -> bytes:
    """What comes before the entries of a list."""
    return _sized(length, (0x90, 16), 0, 0xDC, 0xDD)


def binary_head(length: int) -> bytes:
    """What comes before a binary object."""
    return _sized(length, None, 0xC4, 0xC5, 0xC6)


def text(value: str) -> bytes:
    """A text."""
    data = value.encode("utf-8")
    return _sized(len(data), (0xA0, 32), 0xD9, 0xDA, 0xDB) + data


def integer(value: int) -> bytes:
    """A whole number, in as few bytes as it takes."""
    if -32 <= value < 128:
        return struct.pack(">b", value)
    if value >= 0:
        for tag, form, bits in ((0xCC, ">BB", 8), (0xCD, ">BH", 16), (0xCE, ">BI", 32), (0xCF, ">BQ", 64)):
            if value < 1 << bits:
                return struct.pack(form, tag, value)
    for tag, form, bits in ((0xD0, ">Bb", 7), (0xD1, ">Bh", 15), (0xD2, ">Bi", 31), (0xD3, ">Bq", 63)):
        if -(1 << bits) <= value < 0:
            return struct.pack(form, tag, value)
    raise MessagePackError(f"{value} has more than 64 bits")


def number(value: float) -> bytes:
    """A float, in 64 bits."""
    return struct.pack(">Bd", 0xCB, value)


def packed(value: Any) -> bytes:
    """A value of maps, lists, texts, bytes, numbers, bools and None."""
    pieces: list[bytes] = []
    _pack(value, pieces)
    return b"".join(pieces)


def _pack(value: Any, pieces: list[bytes]) -> None:
    if value is None:
        pieces.append(NIL)
    elif value is True or value is False:
        pieces.append(TRUE if value else FALSE)
    elif isinstance(value, dict):
        pieces.append(map_head(len(value)))
        for name, each in value.items():
            pieces.append(text(name))
            _pack(each, pieces)
    elif isinstance(value, list | tuple):
        pieces.append(array_head(len(value)))
        for each in value:
            _pack(each, pieces)
    elif isinstance(value, str):
        pieces.append(text(value))
    elif isinstance(value, bytes):
        pieces += (binary_head(len(value)), value)
    elif isinstance(value, int):
        pieces.append(integer(value))
    else:
        pieces.append(number(value))


# Reading


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


class Reader:
    """A position in the bytes, and the names that lead to it.

    `binary`, `array` and `fields` make of binary objects, lists and maps what a format wants of them.
    """

    error: type[BurnError] = MessagePackError
    subject = "a file"

    def __init__(self, data: Any) -> None:
        self.view = memoryview(data)
        self.size = len(self.view)
        self.at = 0
        self.left = MAX_VALUES
        self.path: list[str] = []

    def whole(self) -> Any:
        """The one value that all the bytes are."""
        found = self.value(0)
        if self.at != self.size:
            raise self.error(f"{self.size - self.at:,} bytes too many")
        return found

    def value(self, depth: int) -> Any:
        """The value that begins here."""
        self.left -= 1
        if self.left < 0:
            raise self.error(f"more than {MAX_VALUES:,} values")
        if self.at >= self.size:
            raise self.error("the file ends here")
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
            return self.binary(self._take(length), length)
        if tag in _STRING:
            return self._text(self._number(_COUNTS[_STRING[tag]]))
        if tag in _ARRAY:
            return self._array(self._number(_COUNTS[_ARRAY[tag]]), depth)
        if tag in _MAP:
            return self._map(self._number(_COUNTS[_MAP[tag]]), depth)
        if tag in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[tag]
        raise self.error(f"the byte 0x{tag:02x} starts nothing that {self.subject} holds")

    def binary(self, start: int, length: int) -> Any:
        """What a binary object becomes."""
        return bytes(self.view[start : start + length])

    def array(self, count: int, depth: int) -> Any:
        """What a list becomes; its entries begin here."""
        return [self.value(depth) for _ in range(count)]

    def fields(self, found: dict[str, Any]) -> Any:
        """What a map becomes."""
        return found

    def _take(self, length: int) -> int:
        start = self.at
        if length > self.size - start:
            raise self.error(f"{length:,} bytes are announced, {self.size - start:,} are left")
        self.at = start + length
        return start

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack_from(self.view, self._take(form.size))[0]

    def _text(self, length: int) -> str:
        start = self._take(length)
        try:
            return str(self.view[start : start + length], "utf-8")
        except UnicodeDecodeError:
            raise self.error("a text that is not UTF-8") from None

    def _deeper(self, count: int, smallest: int, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} levels")
        if count * smallest > self.size - self.at:
            raise self.error(f"{count:,} entries are announced, {self.size - self.at:,} bytes are left")
        return depth + 1

    def _array(self, count: int, depth: int) -> Any:
        return self.array(count, self._deeper(count, 1, depth))

    def _map(self, count: int, depth: int) -> Any:
        below = self._deeper(count, 2, depth)
        found: dict[str, Any] = {}
        for _ in range(count):
            name = self.value(below)
            if not isinstance(name, str):
                raise self.error("the name of a field should be a text")
            if name in found:
                raise self.error(f"the field {name[:80]!r} is there twice")
            self.path.append(name)
            found[name] = self.value(below)
            self.path.pop()
        return self.fields(found)
