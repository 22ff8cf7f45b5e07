"""Typed items: rows of text, JSON, MessagePack or SQL as dataclasses, and back.

A row comes as a dict by field name or as a list in field order. Each field is converted to what its
annotation says, and all fields that do not fit are reported together. Text becomes numbers and booleans only
where the annotation asks for them; no number loses digits on the way.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import numpy as np

from burn.errors import ArgumentError, DataError

Convert = Callable[[Any], Any]
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")


class Unfit(Exception):
    """A value that is not what its annotation says."""


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of an item: its name, its annotation, how a value becomes one of it, and what absence means."""

    name: str
    annotation: Any
    convert: Convert
    required: bool


_FIELDS: dict[type, tuple[Field, ...]] = {}


def fields_of(item: type) -> tuple[Field, ...]:
    """The fields of a dataclass or of a NamedTuple."""
    found = _FIELDS.get(item)
    if found is None:
        found = _FIELDS[item] = _read_fields(item)
    return found


def _read_fields(item: type) -> tuple[Field, ...]:
    try:
        hints = typing.get_type_hints(item)
    except NameError as error:
        raise ArgumentError(
            f"item: an annotation of {item.__name__} cannot be read: {error}; declare it in the module, not in a "
            "function"
        ) from None
    if dataclasses.is_dataclass(item):
        named = {
            each.name: each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
            for each in dataclasses.fields(item)
            if each.init
        }
    elif issubclass(item, tuple) and hasattr(item, "_fields"):
        named = {name: name not in item._field_defaults for name in item._fields}  # type: ignore[attr-defined]
    else:
        raise ArgumentError(f"item: {item.__name__} has no fields; write a dataclass or a NamedTuple")
    return tuple(Field(name, hints[name], converter(hints[name]), required) for name, required in named.items())


def has_fields(annotation: Any) -> bool:
    """Whether the annotation is a class with fields."""
    return isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation) or (issubclass(annotation, tuple) and hasattr(annotation, "_fields"))
    )


def make_item(item: type, row: Any) -> Any:
    """An item of a row, or a DataError that names every field that does not fit."""
    if item is dict:
        return dict(row)
    fields = fields_of(item)
    values: dict[str, Any] = {}
    faults: list[str] = []
    if isinstance(row, Mapping):
        pairs = [(field, row[field.name]) for field in fields if field.name in row]
        faults += [f"{field.name}: is missing" for field in fields if field.required and field.name not in row]
    else:
        pairs = list(zip(fields, row, strict=False))
        if len(row) != len(fields):
            faults.append(f"has {len(row)} values where {item.__name__} has {len(fields)} fields")
    for field, value in pairs:
        try:
            values[field.name] = field.convert(value)
        except Unfit as error:
            faults.append(f"{field.name}: {error}")
    if faults:
        raise DataError("; ".join(faults))
    return item(**values)


def values_of(item: Any) -> tuple[Any, ...]:
    """The values of an item in the order of its fields."""
    if isinstance(item, Mapping):
        return tuple(item.values())
    if isinstance(item, tuple):
        return tuple(item)
    return tuple(getattr(item, field.name) for field in fields_of(type(item)))


def plain(value: Any) -> Any:
    """A value as lists, dicts, numbers, text and bytes: what MessagePack writes."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    if has_fields(type(value)):
        return [plain(each) for each in values_of(value)]
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    raise DataError(f"item: a value of {type(value).__name__} cannot be stored: {value!r}")


# Converters


def converter(annotation: Any) -> Convert:
    """How a value becomes one of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, typing.TypeVar):
        return lambda value: value
    if origin is typing.Annotated:
        return converter(arguments[0])
    if origin is typing.Literal:
        return _one_of(arguments)
    if origin is Union or isinstance(annotation, types.UnionType):
        return _union(arguments)
    if annotation is np.ndarray or origin is np.ndarray:
        return _array(annotation)
    if origin in (list, tuple, Sequence, set, frozenset) or annotation in (list, tuple, set):
        return _several(origin or annotation, arguments)
    if origin in (dict, Mapping):
        return _mapping(arguments)
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enumerated(annotation)
    if has_fields(annotation):
        return _nested(annotation)
    if isinstance(annotation, type):
        return _instance(annotation)
    raise ArgumentError(f"item: the annotation {annotation!r} is not one that rows can be converted to")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        return int(value)
    try:
        if isinstance(value, float | np.floating) and float(value).is_integer():
            return int(value)
        if isinstance(value, int | np.integer) or (isinstance(value, str) and "_" not in value):
            return int(value)
    except ValueError:
        pass
    raise Unfit(f"{_shown(value)} is not an int")


def _number(value: Any) -> float:
    try:
        if isinstance(value, int | float | np.number) or (isinstance(value, str) and "_" not in value):
            return float(value)
    except ValueError:
        pass
    raise Unfit(f"{_shown(value)} is not a float")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in (*TRUE, *FALSE):
        return value.strip().lower() in TRUE
    raise Unfit(f"{_shown(value)} is not a bool")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Unfit(f"{_shown(value)} is not a str")


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list) and all(isinstance(each, int) and 0 <= each < 256 for each in value):
        return bytes(value)
    raise Unfit(f"{_shown(value)} is not bytes")


def _path(value: Any) -> Path:
    return Path(_text(value)) if not isinstance(value, Path) else value


def _nothing(value: Any) -> None:
    if value is not None and value != "":
        raise Unfit(f"{_shown(value)} is not None")


SIMPLE: dict[Any, Convert] = {
    int: _integer,
    float: _number,
    bool: _boolean,
    str: _text,
    bytes: _bytes,
    Path: _path,
    type(None): _nothing,
    object: lambda value: value,
}


def _one_of(choices: tuple[Any, ...]) -> Convert:
    def convert(value: Any) -> Any:
        for choice in choices:
            if value == choice or (isinstance(value, str) and value == str(choice)):
                return choice
        raise Unfit(f"{_shown(value)} is none of {', '.join(map(repr, choices))}")

    return convert


def _union(arguments: tuple[Any, ...]) -> Convert:
    optional = type(None) in arguments
    kinds = [each for each in arguments if each is not type(None)]
    choices = [converter(each) for each in kinds]

    def convert(value: Any) -> Any:
        # An empty text is no value for a number, and a text for a str.
        if optional and (value is None or (value == "" and str not in kinds)):
            return None
        for kind in kinds:
            if isinstance(kind, type) and type(value) is kind:
                return value
        reasons = []
        for choice in choices:
            try:
                return choice(value)
            except Unfit as error:
                reasons.append(str(error))
        raise Unfit(" and ".join(reasons))

    return convert


def _several(container: Any, arguments: tuple[Any, ...]) -> Convert:
    kind = list if container is Sequence else container
    fixed = kind is tuple and arguments and arguments[-1] is not Ellipsis
    each = [converter(argument) for argument in arguments if argument is not Ellipsis]

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list | tuple | set | frozenset):
            raise Unfit(f"{_shown(value)} is not a {kind.__name__}")
        if fixed:
            if len(value) != len(each):
                raise Unfit(f"{_shown(value)} has {len(value)} values, not {len(each)}")
            return tuple(change(part) for change, part in zip(each, value, strict=True))
        return kind(each[0](part) for part in value) if each else kind(value)

    return convert


def _mapping(arguments: tuple[Any, ...]) -> Convert:
    key, each = converter(arguments[0]), converter(arguments[1])

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise Unfit(f"{_shown(value)} is not a dict")
        return {key(name): each(part) for name, part in value.items()}

    return convert


def _array(annotation: Any) -> Convert:
    found = [each for each in get_args(annotation)[1:] if get_origin(each) is np.dtype]
    element = get_args(found[0])[0] if found else None
    dtype = element if isinstance(element, type) and issubclass(element, np.generic) else None

    def convert(value: Any) -> Any:
        try:
            return np.asarray(value, dtype)
        except (TypeError, ValueError) as error:
            raise Unfit(f"{_shown(value)} is not an array: {error}") from None

    return convert


def _enumerated(kind: type[enum.Enum]) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if isinstance(value, str) and value in kind.__members__:
            return kind[value]
        for member in kind:
            if value == member.value or (isinstance(value, str) and value == str(member.value)):
                return member
        raise Unfit(f"{_shown(value)} is none of {', '.join(kind.__members__)}")

    return convert


def _nested(item: type) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, item):
            return value
        if not isinstance(value, Mapping | list | tuple):
            raise Unfit(f"{_shown(value)} is not a {item.__name__}")
        try:
            return make_item(item, value)
        except DataError as error:
            raise Unfit(str(error)) from None

    return convert


def _instance(kind: type) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise Unfit(f"{_shown(value)} is not a {kind.__name__}")
        return value

    return convert
