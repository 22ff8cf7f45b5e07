"""CBOR, as much of it as burnpack's header uses: maps, arrays, texts, numbers, bools and null.

Numbers are written in their shortest form. The reader takes lengths given beforehand or ended by a mark,
compares every one with what is left, and bounds the nesting.
"""

from __future__ import annotations

import struct
from typing import Any

from burn.record.errors import RecordError

MAX_DEPTH = 128
MAX_VALUES = 4_000_000
UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, OTHER = range(8)
FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
PLAIN = {20: False, 21: True, 22: None}
ENDLESS, BREAK = 31, 0xFF


def dumps(value: Any) -> bytes:
    """The bytes of a value."""
    pieces: list[bytes] = []
    _write(value, pieces)
    return b"".join(pieces)


def _write(value: Any, pieces: list[bytes]) -> None:
    if isinstance(value, bool) or value is None:
        pieces.append(bytes((OTHER << 5 | {False: 20, True: 21, None: 22}[value],)))
    elif isinstance(value, int):
        pieces.append(_head(UNSIGNED, value) if value >= 0 else _head(NEGATIVE, -1 - value))
    elif isinstance(value, float):
        pieces.append(_float(value))
    elif isinstance(value, str):
        data = value.encode("utf-8")
        pieces.append(_head(TEXT, len(data)) + data)
    elif isinstance(value, dict):
        pieces.append(_head(MAP, len(value)))
        for name, each in value.items():
            _write(name, pieces)
            _write(each, pieces)
    elif isinstance(value, list | tuple):
        pieces.append(_head(ARRAY, len(value)))
        for each in value:
            _write(each, pieces)
    else:
        raise TypeError(f"CBOR: {type(value).__name__} is not used")


def _head(major: int, count: int) -> bytes:
    if count < 24:
        return bytes((major << 5 | count,))
    for mark, form in ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if count < 1 << (8 * struct.calcsize(form)):
            return bytes((major << 5 | mark,)) + struct.pack(form, count)
    raise RecordError(f"{count} has more than 64 bits")


def _float(value: float) -> bytes:
    """The shortest of three forms that gives the float back."""
    for mark, form in FLOATS.items():
        try:
            data = form.pack(value)
        except OverflowError:
            continue
        back = form.unpack(data)[0]
        if back == value or back != back:
            return bytes((OTHER << 5 | mark,)) + data
    raise AssertionError


def loads(data: memoryview) -> Any:
    """The one value that the bytes hold."""
    reader = _Reader(data)
    value = reader.value(0)
    if reader.at != len(data):
        raise RecordError(f"{len(data) - reader.at:,} bytes too many")
    return value


class _Reader:
    def __init__(self, data: memoryview) -> None:
        self.data, self.at, self.left = data, 0, MAX_VALUES

    def take(self, length: int) -> memoryview:
        start = self.at
        if length > len(self.data) - start:
            raise RecordError(f"{length:,} bytes are announced, {len(self.data) - start:,} are left")
        self.at = start + length
        return self.data[start : self.at]

    def head(self) -> tuple[int, int, int]:
        """Kind, mark and argument; the argument of a value without one is -1."""
        first = self.take(1)[0]
        major, mark = first >> 5, first & 31
        if mark < 24:
            return major, mark, mark
        if mark <= 27:
            return major, mark, int.from_bytes(self.take(1 << (mark - 24)), "big")
        if mark == ENDLESS and major in (TEXT, ARRAY, MAP, OTHER):
            return major, mark, -1
        raise RecordError(f"the byte 0x{first:02x} starts nothing")

    def value(self, depth: int) -> Any:
        self.left -= 1
        if depth > MAX_DEPTH or self.left < 0:
            raise RecordError(f"more than {MAX_DEPTH} levels or {MAX_VALUES:,} values")
        major, mark, argument = self.head()
        if major == UNSIGNED:
            return argument
        if major == NEGATIVE:
            return -1 - argument
        if major == TEXT:
            return self.text(argument)
        if major == ARRAY:
            return [self.value(depth + 1) for _ in self.entries(argument, 1)]
        if major == MAP:
            return self.map(argument, depth)
        if major == OTHER and mark in FLOATS:
            return FLOATS[mark].unpack(argument.to_bytes(FLOATS[mark].size, "big"))[0]
        if major == OTHER and mark in PLAIN:
            return PLAIN[mark]
        raise RecordError(f"the kind {major} of value {argument} is not used here")

    def text(self, length: int) -> str:
        if length < 0:
            return "".join(self.pieces())
        try:
            return str(self.take(length), "utf-8")
        except UnicodeDecodeError:
            raise RecordError("a text that is not UTF-8") from None

    def pieces(self) -> list[str]:
        found = []
        for _ in self.entries(-1, 1):
            major, _, length = self.head()
            if major != TEXT or length < 0:
                raise RecordError("a piece of a text that is none")
            found.append(self.text(length))
        return found

    def entries(self, count: int, smallest: int) -> Any:
        if count >= 0:
            if count * smallest > len(self.data) - self.at:
                raise RecordError(f"{count:,} entries are announced, {len(self.data) - self.at:,} bytes are left")
            yield from range(count)
            return
        while True:
            if self.at >= len(self.data):
                raise RecordError("the end is missing")
            if self.data[self.at] == BREAK:
                self.at += 1
                return
            yield None

    def map(self, count: int, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for _ in self.entries(count, 2):
            name = self.value(depth + 1)
            if not isinstance(name, str):
                raise RecordError("the name of a field should be a text")
            if name in made:
                raise RecordError(f"{name[:80]!r} is there twice")
            made[name] = self.value(depth + 1)
        return made
