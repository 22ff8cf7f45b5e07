"""Protocol buffers as bytes: fields of a message, without copying.

A message is a list of fields, each a key (number and wire type) and a payload. `parse` walks them once along a table
of the fields we know and keeps payloads as slices of the input, so a gigabyte of weights costs a few objects. Input
is hostile until proven otherwise: lengths are checked before use, nesting is bounded, and every failure is a
`WireError` that says at which byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

MAX_DEPTH = 100  # levels of messages inside messages; as in other readers of the format
SHORT = 64  # bytes
_SIGN = 1 << 63
_WRAP = 1 << 64


class WireError(ValueError):
    """Bytes that are no protocol buffer message."""


class Spec(NamedTuple):
    """The fields of a message: number -> (name, kind, repeated), and what a message without the field has.

    Kinds are "int" (signed), "float", "double", "string", "bytes", "packed_int", "packed_float", "packed_double" and
    the name of a message. A packed field keeps its chunks; see `Packed`.
    """

    name: str
    fields: Mapping[int, tuple[str, str, bool]]
    defaults: Mapping[str, Any]


class Packed:
    """A repeated number field that may be large: chunks of payload, decoded on demand."""

    __slots__ = ("kind", "chunks", "singles")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.chunks: list[memoryview | list[Any] | np.ndarray[Any, Any]] = []
        self.singles: list[Any] | None = None

    def add(self, value: Any) -> None:
        """One number that was not packed."""
        if self.singles is None or not self.chunks or self.chunks[-1] is not self.singles:
            self.singles = []
            self.chunks.append(self.singles)
        self.singles.append(value)

    def __bool__(self) -> bool:
        return any(len(chunk) for chunk in self.chunks)

    def count(self) -> int:
        """How many numbers there are, without decoding them."""
        width = {"packed_float": 4, "packed_double": 8}.get(self.kind, 0)
        total = 0
        for chunk in self.chunks:
            if not isinstance(chunk, memoryview):
                total += len(chunk)
            elif width:
                if len(chunk) % width:
                    raise WireError(f"{len(chunk)} bytes of packed numbers are no multiple of {width}")
                total += len(chunk) // width
            else:
                total += count_varints(chunk)
        return total

    def array(self) -> np.ndarray[Any, Any]:
        """All numbers, as int64 (two's complement), float32 or float64."""
        dtype = {"packed_int": np.int64, "packed_float": np.float32, "packed_double": np.float64}[self.kind]
        parts: list[np.ndarray[Any, Any]] = []
        for chunk in self.chunks:
            if not isinstance(chunk, memoryview):
                parts.append(np.asarray(chunk, dtype=dtype))
            elif self.kind == "packed_int":
                parts.append(varints(chunk))
            else:
                width = np.dtype(dtype).itemsize
                if len(chunk) % width:
                    raise WireError(f"{len(chunk)} bytes of packed numbers are no multiple of {width}")
                parts.append(np.frombuffer(chunk, dtype=np.dtype(dtype).newbyteorder("<")))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, dtype)


def count_varints(data: memoryview) -> int:
    """How many variable-length integers `data` holds."""
    total, run = 0, 1 << 20
    for start in range(0, len(data), run):
        total += int(np.count_nonzero(np.frombuffer(data[start : start + run], dtype=np.uint8) < 0x80))
    if len(data) and data[-1] >= 0x80:
        raise WireError("packed integers end in the middle of one")
    return total


def varints(data: memoryview) -> np.ndarray[Any, Any]:
    """Every variable-length integer in `data`, as int64, a column of bytes at a time."""
    octets = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if len(octets) and (not len(ends) or ends[-1] != len(octets) - 1):
        raise WireError("packed integers end in the middle of one")
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    longest = int(lengths.max(initial=0))
    if longest > 10:
        raise WireError(f"a packed integer of {longest} bytes; ten is the most")
    result = np.zeros(len(ends), dtype=np.uint64)
    for position in range(longest):
        alive = np.flatnonzero(lengths > position)
        part = octets[starts[alive] + position].astype(np.uint64) & np.uint64(0x7F)
        result[alive] |= part << np.uint64(7 * position)
    return result.view(np.int64)


class Message:
    """A decoded message: one attribute per field."""

    __slots__ = ("__dict__",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__ = values

    def __getattr__(self, name: str) -> Any:  # only reached for a field no message has
        raise AttributeError(name)


def parse(specs: Mapping[str, Spec], name: str, data: memoryview, start: int, end: int, depth: int = 0) -> Message:
    """The message `name` between two offsets of `data`. Unknown fields are skipped; the last of a single field wins,
    and a repeated single message is merged as the format demands."""
    if depth > MAX_DEPTH:
        raise WireError(f"more than {MAX_DEPTH} levels of nested messages at byte {start}")
    spec = specs[name]
    fields = spec.fields
    values: dict[str, Any] = dict(spec.defaults)
    texts: dict[bytes, bytes] = {}
    position = start
    while position < end:
        key = data[position]
        if key < 0x80:
            position += 1
        else:
            key, position = _varint(data, position, end)
        wire = key & 7
        known = fields.get(key >> 3)
        if wire == 2:
            at = position
            if position >= end:
                raise WireError(f"{spec.name} ends at byte {end} in the middle of a field")
            size = data[position]
            if size < 0x80:
                position += 1
            else:
                size, position = _varint(data, position, end)
            stop = position + size
            if stop > end:
                raise WireError(
                    f"a field of {spec.name} at byte {at} claims {size} bytes, and only {end - position} are left"
                )
            if known is not None:
                field, kind, repeated = known
                value: Any
                if kind == "string":
                    value = bytes(data[position:stop]).decode("utf-8", "surrogateescape")
                elif kind == "bytes":
                    value = data[position:stop]
                    if repeated and size <= SHORT:  # texts that come again and again are kept once
                        value = bytes(value)
                        value = texts.setdefault(value, value)
                elif kind in specs:
                    value = parse(specs, kind, data, position, stop, depth + 1)
                    if not repeated and values.get(field) is not None:
                        value = _merge(values[field], value)
                else:
                    _add_packed(values, field, kind, data[position:stop])
                    position = stop
                    continue
                _store(values, field, value, repeated)
            position = stop
            continue
        if wire == 0:
            if known is not None and known[1] == "packed_int" and key < 0x80:
                packed = values[known[0]]
                if packed is not None and packed.singles is not None and len(packed.singles) >= RUN:
                    position = _run(packed, data, position - 1, end, key)
                    continue
            number, position = _varint(data, position, end)
            if known is not None:
                field, kind, repeated = known
                if kind not in ("int", "packed_int"):
                    raise WireError(f"{spec.name}.{field} at byte {position} is a number, {kind} was expected")
                signed = number - _WRAP if number >= _SIGN else number
                _store_number(values, field, kind, signed, repeated)
            continue
        if wire == 5 or wire == 1:
            width = 4 if wire == 5 else 8
            stop = position + width
            if stop > end:
                raise WireError(f"{spec.name} ends at byte {end} in the middle of a number")
            if known is not None:
                field, kind, repeated = known
                if kind == "packed_float" and wire == 5 and key < 0x80:
                    packed = values[field]
                    if packed is not None and packed.singles is not None and len(packed.singles) >= RUN:
                        position = _run_of_floats(packed, data, position - 1, end, key)
                        continue
                if kind not in (("float", "packed_float") if wire == 5 else ("double", "packed_double")):
                    raise WireError(f"{spec.name}.{field} at byte {position} is a float, {kind} was expected")
                real = float(np.frombuffer(data[position:stop], dtype="<f4" if wire == 5 else "<f8")[0])
                _store_number(values, field, kind, real, repeated)
            position = stop
            continue
        raise WireError(f"wire type {wire} of {spec.name} at byte {position}; this is no ONNX file, or it is damaged")
    return Message(values)


RUN = 16  # numbers that came one by one before their followers are decoded together
WINDOW = 1 << 16


def _run(packed: Packed, data: memoryview, position: int, end: int, key: int) -> int:
    """Integers of one field that follow each other, each with its key: a window of bytes at a time."""
    while position < end and data[position] == key:
        octets = np.frombuffer(data[position : min(position + WINDOW, end)], dtype=np.uint8)
        ends = np.flatnonzero(octets < 0x80)
        window = int(ends[-1]) + 1 if len(ends) else 0
        numbers = varints(data[position : position + window])
        keys = numbers[0::2]
        wrong = np.flatnonzero(keys != key)
        count = min(int(wrong[0]) if len(wrong) else len(keys), len(numbers) // 2)
        if count == 0:
            raise WireError(f"the number at byte {position} is cut off or has more than ten bytes")
        packed.chunks.append(numbers[1 : 2 * count : 2].copy())
        position += int(ends[2 * count - 1]) + 1
    packed.singles = None
    return position


def _run_of_floats(packed: Packed, data: memoryview, position: int, end: int, key: int) -> int:
    """Floats of one field that follow each other, each with its key."""
    count = (end - position) // 5
    rows = np.frombuffer(data[position : position + 5 * count], dtype=np.uint8).reshape(count, 5)
    wrong = np.flatnonzero(rows[:, 0] != key)
    count = int(wrong[0]) if len(wrong) else count
    if count == 0:
        raise WireError(f"the data end at byte {end} in the middle of a number")
    numbers = np.ascontiguousarray(rows[:count, 1:]).view("<f4").reshape(-1)
    packed.chunks.append(numbers)
    packed.singles = None
    return position + 5 * count


def _store(values: dict[str, Any], field: str, value: Any, repeated: bool) -> None:
    if not repeated:
        values[field] = value
        return
    present = values[field]
    if present == ():
        values[field] = [value]
    else:
        present.append(value)


def _store_number(values: dict[str, Any], field: str, kind: str, value: Any, repeated: bool) -> None:
    if kind.startswith("packed"):
        packed = values[field]
        if packed is None:
            packed = values[field] = Packed(kind)
        packed.add(value)
    else:
        _store(values, field, value, repeated)


def _add_packed(values: dict[str, Any], field: str, kind: str, chunk: memoryview) -> None:
    """A run of numbers in one payload, which the format allows for every repeated number field."""
    if kind.startswith("packed"):
        if values[field] is None:
            values[field] = Packed(kind)
        values[field].chunks.append(chunk)
        return
    if values[field] is None or not isinstance(values[field], (tuple, list)):
        raise WireError(f"field {field} is a run of bytes, {kind} was expected")
    packed = Packed(f"packed_{kind}")
    packed.chunks.append(chunk)
    for number in packed.array().tolist():
        _store(values, field, number, True)


def _merge(old: Message, new: Message) -> Message:
    merged = dict(old.__dict__)
    for field, value in new.__dict__.items():
        if value is None or value == () or value == "":
            continue
        present = merged[field]
        if isinstance(value, list):
            merged[field] = [*present, *value]
        elif isinstance(value, Message) and isinstance(present, Message):
            merged[field] = _merge(present, value)
        else:
            merged[field] = value
    return Message(merged)


def _varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    start = position
    while position < end:
        octet = data[position]
        position += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value & (_WRAP - 1), position
        shift += 7
        if shift > 63:
            raise WireError(f"the number at byte {start} has more than ten bytes")
    raise WireError(f"the data end at byte {end} in the middle of a number")
