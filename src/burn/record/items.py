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
    """A parameter, or a running statistic, in a record: its `id` (13 characters) and its values (`data`).

    The values are `TensorData`, or a `QuantizedItem`; a schema may leave them out with None.

    >>> item = nn.Linear(2, 3).into_record().item["weight"]
    >>> len(item.id), item.data.shape
    (13, Shape([2, 3]))
    """

    id: str
    data: Any


class QuantizedItem(NamedTuple):
    """A quantised tensor as files hold it: packed `bytes` (values, zero points, scales), `shape` and `scheme`.

    >>> from burn.quantization import Quantizer
    >>> from burn.record import DefaultRecorder
    >>> nn.Linear(2, 3).quantize_weights(Quantizer()).save_file("small")
    >>> like = nn.Linear(2, 3).into_record().item
    >>> item = DefaultRecorder().load("small").resolve(like)["weight"].data
    >>> item.shape
    Shape([2, 3])
    """

    bytes: TensorData
    shape: tuple[int, ...]
    scheme: Any


class Some(NamedTuple):
    """An optional in a record that is there; `value` is what it holds.

    >>> from burn.record import Some
    >>> Some(3).value
    3
    """

    value: Any


class Absent(NamedTuple):
    """An optional in a record that is not there; `like` shows what it would be, None where nobody knows.

    >>> from burn.record import Absent
    >>> Absent(like=0).like
    0
    """

    like: Any = None


class Variant(NamedTuple):
    """One variant of an enumeration in a record: its `name`, its position (`index`), and its `value`.

    >>> from burn.record import Variant
    >>> Variant("Dense", 0, {"weight": 1}).name
    'Dense'
    """

    name: str
    index: int  # type: ignore[assignment]
    value: Any


class Mapping(dict[str, Any]):
    """A map whose keys are data, such as an optimizer's states by parameter id. `Bin` writes the keys too.

    >>> from burn.record import Mapping
    >>> Mapping({"8vojso07rkksg": 1})["8vojso07rkksg"]
    1
    """


class Signed(int):
    """An integer that may be negative. `Bin` writes signed and unsigned integers in different ways.

    >>> from burn.record import Signed
    >>> Signed(-3) + 1
    -2
    """


class MappingOf(NamedTuple):
    """In a schema: a `Mapping` with any keys, whose values are all like `value`.

    >>> from burn.record import MappingOf, Record
    >>> Record({"a": 1, "b": 2}).match(MappingOf(0)).faults
    []
    """

    value: Any


class Choice(NamedTuple):
    """In a schema: whichever `Variant` the file holds; `variants` are by name, in the order of their positions.

    >>> from burn.record import Choice
    >>> list(Choice({"Dense": {"weight": 0}, "Nothing": None}).variants)
    ['Dense', 'Nothing']
    """

    variants: dict[str, Any]
