"""JSON records: the tree of the named formats as text, a tensor's bytes as an array of numbers.

The writer follows the Rust framework's spelling to the letter: its indentation, its floats, its escapes. The
reader makes tensors as soon as their map is complete, so that the numbers as Python objects never pile up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

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
MAX_CONTAINERS = 2_000_000
"""Maps and lists of a record."""

CHUNK = 1 << 16
NUMBERS = [str(value) for value in range(256)]


# Writing


def encode(item: Item, metadata: Metadata, settings: Settings | None, pretty: bool = False) -> Iterator[bytes]:
    """A whole record, in pieces."""
    writer = _Writer(settings, pretty)
    tree: dict[str, Any] = {"metadata": metadata._asdict(), "item": item, "_b": None}
    for text in writer.item(tree, "\n" if pretty else ""):
        yield text.encode("utf-8")


class _Writer:
    def __init__(self, settings: Settings | None, pretty: bool) -> None:
        self.settings, self.pretty = settings, pretty
        self.colon = ": " if pretty else ":"

    def item(self, item: Any, line: str) -> Iterator[str]:
        """The text of an item; `line` starts a line at its own depth."""
        if isinstance(item, TensorData):
            data = in_precision(item, self.settings)
            yield from self.tensor(data, list(data.shape), dtype_name(data.dtype), line)
        elif isinstance(item, QuantizedItem):
            yield from self.tensor(item.bytes, list(item.shape), {"QFloat": item.scheme}, line)
        elif isinstance(item, ParamItem):
            yield from self.members({"id": item.id, "param": item.data}, line)
        elif isinstance(item, Some):
            yield from self.item(item.value, line)
        elif isinstance(item, Variant):
            yield from self.members({item.name: item.value}, line)
        elif isinstance(item, Absent) or item is None:
            yield "null"
        elif isinstance(item, dict):
            yield from self.members(item, line)
        elif isinstance(item, list | tuple):
            yield from self.entries(item, line)
        else:
            yield plain(item)

    def members(self, fields: dict[str, Any], line: str) -> Iterator[str]:
        if not fields:
            yield "{}"
            return
        inner = f"{line}  " if self.pretty else ""
        start = "{"
        for name, value in fields.items():
            yield f"{start}{inner}{plain(name)}{self.colon}"
            yield from self.item(value, inner)
            start = ","
        yield f"{line}}}"

    def entries(self, values: Any, line: str) -> Iterator[str]:
        if not values:
            yield "[]"
            return
        inner = f"{line}  " if self.pretty else ""
        start = "["
        for value in values:
            yield f"{start}{inner}"
            yield from self.item(value, inner)
            start = ","
        yield f"{line}]"

    def tensor(self, data: TensorData, shape: list[int], dtype: Any, line: str) -> Iterator[str]:
        inner = f"{line}  " if self.pretty else ""
        yield f'{{{inner}"bytes"{self.colon}'
        yield from self.numbers(little_endian(data), inner)
        for name, value in (("shape", shape), ("dtype", dtype)):
            yield f",{inner}{plain(name)}{self.colon}"
            yield from self.item(value, inner)
        yield f"{line}}}"

    def numbers(self, values: memoryview, line: str) -> Iterator[str]:
        if not values:
            yield "[]"
            return
        between = f",{line}  " if self.pretty else ","
        start = between.replace(",", "[", 1)
        for first in range(0, len(values), CHUNK):
            yield start + between.join(map(NUMBERS.__getitem__, values[first : first + CHUNK]))
            start = between
        yield f"{line}]"


def plain(value: Any) -> str:
    """A text or a number."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if not math.isfinite(value):
        raise RecordError(f"{value} cannot be written in JSON")
    return shortest(value)


def shortest(value: float) -> str:
    """The shortest digits that give the float back, as Rust places them: `1e16`, `0.00001`, `1.5e-7`."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    shift = int(exponent or 0) - len(fraction)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return f"{sign}0.0"
    kept = digits.rstrip("0")
    shift += len(digits) - len(kept)
    point = len(kept) + shift
    if 0 < point <= 16:
        return f"{sign}{kept}{'0' * shift}.0" if shift >= 0 else f"{sign}{kept[:point]}.{kept[point:]}"
    if -5 < point <= 0:
        return f"{sign}0.{'0' * -point}{kept}"
    rest = f".{kept[1:]}" if len(kept) > 1 else ""
    return f"{sign}{kept[0]}{rest}e{point - 1}"


# Reading


def decode(source: Source, settings: Settings | None) -> Record:
    """The record of a source."""
    text = bytes(source.view)
    if text.count(b"{") + text.count(b"[") > MAX_CONTAINERS:
        raise RecordError(f"damaged or no JSON record: more than {MAX_CONTAINERS:,} maps and lists")
    reader = _Reader(settings)
    try:
        tree = json.loads(str(text, "utf-8"), object_pairs_hook=reader.map, parse_constant=_constant)
    except UnicodeDecodeError:
        raise RecordError("damaged or no JSON record: it is not UTF-8") from None
    except RecursionError:
        raise RecordError("damaged or no JSON record: it is nested too deeply") from None
    except RecordError as error:
        raise RecordError(f"damaged or no JSON record: {error}") from None
    except ValueError as error:
        raise RecordError(f"damaged or no JSON record: {str(error)[:200]}") from None
    _check_depth(tree)
    metadata, item = assemble.root(tree)
    return Record(item, metadata)


def _constant(name: str) -> Any:
    raise RecordError(f"{name} is no JSON number")


def _check_depth(tree: Any) -> None:
    level, depth = [tree], 0
    while level:
        if depth > MAX_DEPTH:
            raise RecordError(f"damaged or no JSON record: more than {MAX_DEPTH} levels")
        level = [part for each in level for part in _parts(each)]
        depth += 1


def _parts(value: Any) -> list[Any]:
    found = value.values() if isinstance(value, dict) else value if type(value) is list else ()
    return [part for part in found if isinstance(part, dict | list)]


class _Reader:
    def __init__(self, settings: Settings | None) -> None:
        self.settings = settings

    def map(self, pairs: list[tuple[str, Any]]) -> Any:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise RecordError(f"a field is there twice, among {', '.join(sorted(fields))[:200]}")
        if fields.keys() == assemble.TENSOR and isinstance(fields["bytes"], list):
            try:
                numbers = bytes(fields["bytes"])
            except (ValueError, TypeError):
                raise RecordError("the bytes of a tensor should be numbers from 0 to 255") from None
            return assemble.finish(fields, Source(numbers), (0, len(numbers)), self.settings)
        return assemble.finish(fields, Source(b""), None, self.settings)
