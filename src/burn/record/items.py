"""What a record is made of: plain data between a module (or an optimizer) and a file.

A record is a tree. A struct is a `dict` in field order; a growing list is a `list`; a tuple or an
array of fixed length is a `tuple`; numbers and strings are themselves; a constant (something a module
keeps but a record does not) is `None`. The other kinds are the classes below. Named formats write a
present optional as its value; `Bin`, which has no names and no types, needs to be told.

A *schema* is a tree of the same shape that says what is expected: its leaves may be empty
(`ParamItem(id, None)`), and `MappingOf` and `Choice` stand for what only the file knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from burn.tensor import TensorData

Item: TypeAlias = (
    "dict[str, Item] | list[Item] | tuple[Item, ...] | ParamItem | QuantizedItem | Some | Absent | Variant "
    "| MappingOf | Choice | TensorData | int | float | str | None"
)
"""A node of a record."""


class ParamItem(NamedTuple):
    """A parameter, or a running statistic: its id (13 characters) and its values.

    The values are `TensorData`, or a `QuantizedItem`; a schema may leave them out with None.
    """

    id: str
    data: Any


class QuantizedItem(NamedTuple):
    """A quantised tensor as the files hold it: packed bytes, then zero points and scales, and the scheme."""

    bytes: TensorData
    shape: tuple[int, ...]
    scheme: Any


class Some(NamedTuple):
    """An optional that is there."""

    value: Any


class Absent(NamedTuple):
    """An optional that is not there; `like` shows what it would be, None where nobody knows."""

    like: Any = None


class Variant(NamedTuple):
    """One variant of an enumeration: its name, the position `Bin` writes, and what it holds."""

    name: str
    index: int  # type: ignore[assignment]
    value: Any


class Mapping(dict[str, Any]):
    """A map whose keys are data, such as an optimizer's states by parameter id. `Bin` writes the keys too."""


class Signed(int):
    """An integer that may be negative. `Bin` writes signed and unsigned integers in different ways."""


class MappingOf(NamedTuple):
    """In a schema: a `Mapping` with any keys, whose values are all like this one."""

    value: Any


class Choice(NamedTuple):
    """In a schema: whichever `Variant` the file holds, by name, in the order of their positions."""

    variants: dict[str, Any]
