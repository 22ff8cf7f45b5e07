"""Types and sizes as data.

["tensor", "f32", [1, "batch", null]]        a number, a named size, nothing known
["sequence", ["tensor", "i64", null]]        a shape of null: not even the rank is known
{"sum": [[2, "height"], [1]]}                2 * height + 1
{"sum": [[1, {"//": ["height", 2]}]]}        height // 2; "max" and "min" likewise
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from burn.dim import Atom, Dim, Linear, Number, Operation, TooComplex, assembled
from burn_import.onnx.ir.types import (
    ElementType,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    Size,
    SparseTensorType,
    TensorType,
    Type,
)

DEEPEST = 16
LARGEST = 1 << 64
LONGEST = 1 << 16  # characters of a name
MOST_DIMS = 64
_OPERATIONS = ("//", "max", "min")


def encode_type(type_: Type | None) -> Any:
    """A type as nested lists; None for one that is not known."""
    match type_:
        case None:
            return None
        case TensorType(dtype, shape):
            return ["tensor", _name(dtype), encode_shape(shape)]
        case SparseTensorType(dtype, shape):
            return ["sparse", _name(dtype), encode_shape(shape)]
        case SequenceType(element):
            return ["sequence", encode_type(element)]
        case OptionalType(element):
            return ["optional", encode_type(element)]
        case MapType(key, value):
            return ["map", key.name, encode_type(value)]
        case OpaqueType(domain, name):
            return ["opaque", domain, name]


def encode_shape(shape: Shape | None) -> list[Any] | None:
    return None if shape is None else [encode_size(size) for size in shape]


def encode_size(size: Size) -> Any:
    """A size as a number, a name, None or a sum."""
    if not isinstance(size, Dim):
        return None if size is None else int(size)
    if size.name is not None:
        return size.name
    return {"sum": [[_factor(factor), *map(_atom, atoms)] for atoms, factor in size.terms]}


def _name(dtype: ElementType | None) -> str | None:
    return None if dtype is None else dtype.name


def _factor(factor: Number) -> Any:
    return [factor.numerator, factor.denominator] if isinstance(factor, Fraction) else int(factor)


def _atom(atom: Atom) -> Any:
    if isinstance(atom, str):
        return atom
    return {atom.operation: [encode_size(atom.left), encode_size(atom.right)]}


def decode_type(data: Any, depth: int = 0) -> Type | None:
    """The type of some data; a `ValueError` says what is wrong with it."""
    if data is None:
        return None
    if not isinstance(data, list) or not data or depth > DEEPEST:
        raise ValueError(f"{shown(data)} is no type")
    match data:
        case ["tensor", dtype, shape]:
            return TensorType(None if dtype is None else decode_element_type(dtype), decode_shape(shape))
        case ["sparse", dtype, shape]:
            return SparseTensorType(None if dtype is None else decode_element_type(dtype), decode_shape(shape))
        case ["sequence", element]:
            return SequenceType(decode_type(element, depth + 1))
        case ["optional", element]:
            return OptionalType(decode_type(element, depth + 1))
        case ["map", key, value]:
            return MapType(decode_element_type(key), decode_type(value, depth + 1))
        case ["opaque", domain, name]:
            return OpaqueType(decode_name(domain), decode_name(name))
    raise ValueError(f"{shown(data)} is no type")


def decode_element_type(data: Any) -> ElementType:
    if not isinstance(data, str) or data not in ElementType.__members__:
        raise ValueError(f"{shown(data)} is no element type")
    return ElementType[data]


def decode_shape(data: Any) -> Shape | None:
    if data is None:
        return None
    if not isinstance(data, list) or len(data) > MOST_DIMS:
        raise ValueError(f"{shown(data)} is no shape")
    found = tuple(decode_size(each) for each in data)
    if any(type(each) is int and each < 0 for each in found):
        raise ValueError(f"{shown(data)} has a negative size")
    return found


def decode_size(data: Any, depth: int = 0) -> Size:
    """A size, or an element of a content: any whole number, a name, None or a sum."""
    if data is None or (type(data) is int and abs(data) <= LARGEST):
        return data
    if isinstance(data, str):
        return Dim(decode_name(data))
    if depth > DEEPEST or not isinstance(data, dict) or list(data) != ["sum"] or not isinstance(data["sum"], list):
        raise ValueError(f"{shown(data)} is no size")
    terms: dict[tuple[Atom, ...], Number] = {}
    for term in data["sum"]:
        if not isinstance(term, list) or not term:
            raise ValueError(f"{shown(term)} is no term of a size")
        atoms = tuple(_decode_atom(each, depth) for each in term[1:])
        terms[atoms] = terms.get(atoms, 0) + _decode_factor(term[0])
    try:
        return assembled(terms)
    except TooComplex as error:
        raise ValueError(f"{shown(data)} is no size: {error}") from None


def _decode_factor(data: Any) -> Number:
    if type(data) is int and abs(data) <= LARGEST:
        return data
    numbers = (
        data if isinstance(data, list) and all(type(each) is int and abs(each) <= LARGEST for each in data) else []
    )
    if len(numbers) == 2 and numbers[1] > 0:
        return Fraction(numbers[0], numbers[1])
    raise ValueError(f"{shown(data)} is no factor of a size")


def _decode_atom(data: Any, depth: int) -> Atom:
    if isinstance(data, str):
        return decode_name(data)
    if isinstance(data, dict) and len(data) == 1:
        ((operation, sides),) = data.items()
        if operation in _OPERATIONS and isinstance(sides, list) and len(sides) == 2:
            left, right = (_decode_side(each, depth) for each in sides)
            return Operation(operation, left, right)
    raise ValueError(f"{shown(data)} is no part of a size")


def _decode_side(data: Any, depth: int) -> Linear:
    found = decode_size(data, depth + 1)
    if found is None:
        raise ValueError("one side of a size is not known")
    return found


def decode_name(data: Any) -> str:
    """A text that is no longer than names are."""
    if not isinstance(data, str) or len(data) > LONGEST:
        raise ValueError(f"{shown(data)} is no name")
    return data


def shown(data: Any) -> str:
    """Some data for a message: short, and printable whatever it is."""
    return ascii(data)[:60]


__all__ = [
    "decode_element_type", "decode_name", "decode_shape", "decode_size", "decode_type", "encode_shape", "encode_size",
    "encode_type", "shown",
]  # fmt: skip
