"""Programs as plain data: the one form in which they are stored, sent and exported.

    {"format": "burn-program", "version": 1,
     "inputs": [{"dtype": "f32", "shape": [2, 3], "name": "x"}],        a name is optional
     "scalars": ["float"],                                              numbers given at run time, by kind
     "nodes": [{"op": "mul", "version": 1,                              a row and its version
                "operands": [0, {"scalar": 0}],
                "attributes": {},                                       by name, every one of the row
                "results": [{"dtype": "f32", "shape": [2, 3]}]}],
     "outputs": [1]}

Values are numbered: the inputs first, then the results of the nodes in order; a node reads only what stands before it,
so nothing can refer to itself. An operand is the number of a value, a list of them, `{"scalar": slot}`,
`{"constant": number}`, or null for one that is left out. What could be mistaken for something else says what it is:
`{"float": 0.5}` (or `"nan"`, `"inf"`, `"-inf"`), `{"dtype": "f32"}`, `{"bytes": ...}`, `{"program": ...}`; null, true,
3, "text" and lists are themselves. As MessagePack, bytes are a binary object; in JSON they are a text in base 64.

Reading trusts nothing: the rules of the rows check every node, all faults are told at once, nothing is computed, and
nothing is allocated that the data does not hold.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.dtype import ARITHMETIC, STORAGE, DType
from burn.errors import BurnError
from burn.message_pack import MessagePackError, Reader, packed
from burn.ops.exchange import find_row
from burn.ops.op import Op
from burn.program.lawful import row_faults
from burn.program.node import Constant, Node, Operand, Scalar, Value
from burn.shape import LARGEST, Shape

if TYPE_CHECKING:
    from burn.program.program import Program

FORMAT, VERSION = "burn-program", 1
MOST_FAULTS = 1000
MOST_DIMS = 64
DEEPEST = 8
"""Levels of lists, and of programs inside of programs."""

MOST_ENTRIES = 1 << 20
"""Entries of lists, those of a list that stands in several places counted in each: small data could go on for ever."""

LONGEST_NAME = 1 << 10
_DTYPES = {each.name: each for each in (*ARITHMETIC, *STORAGE)}
_SCALARS = ("float", "int")


_ABSENT: Any = object()
"""Stands for a field that is not there."""


class ProgramDataError(BurnError, ValueError):
    """Data that is no program; `faults` lists everything that is wrong with it."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        told = faults[0] if len(faults) == 1 else f"{len(faults)} faults\n  " + "\n  ".join(faults)
        super().__init__(f"program data: {told}")


# Writing


def encode(program: Program) -> dict[str, Any]:
    """A program as plain data."""
    kinds = ["float"] * program.scalars
    numbers = list(range(program.inputs))
    for node in program.nodes:
        numbers += node.results
        for operand in node.operands:
            if isinstance(operand, Scalar):
                kinds[operand.slot] = operand.kind
    if numbers != list(range(len(program.values))):
        raise ProgramDataError(["values must be numbered in the order in which they are made"])
    inputs: list[dict[str, Any]] = [_value(value) for value in program.values[: program.inputs]]
    for entry, name in zip(inputs, program.names, strict=False):
        if name:
            entry["name"] = name
    nodes = [_node(program, node) for node in program.nodes]
    head = {"format": FORMAT, "version": VERSION}
    return {**head, "inputs": inputs, "scalars": kinds, "nodes": nodes, "outputs": list(program.outputs)}


def to_json(program: Program) -> str:
    """A program as JSON text."""
    return json.dumps(encode(program), allow_nan=False, default=lambda data: base64.b64encode(data).decode("ascii"))


def to_message_pack(program: Program) -> bytes:
    """A program as MessagePack."""
    return packed(encode(program))


def _value(value: Value) -> dict[str, Any]:
    return {"dtype": value.dtype.name, "shape": list(value.shape)}


def _node(program: Program, node: Node) -> dict[str, Any]:
    op = node.op
    if node.fused is not None:
        raise ProgramDataError([f"{op.name}: fused work belongs to a plan; store the program as it was recorded"])
    if len(node.attributes) != len(op.attributes):
        raise ProgramDataError([f"{op.name}: {len(node.attributes)} attributes, and the row has {len(op.attributes)}"])
    attributes = dict(zip(op.attributes, node.attributes, strict=True))
    return {
        "op": op.name,
        "version": op.version,
        "operands": [_operand(each) for each in node.operands],
        "attributes": {
            name: _attribute(value, f"{op.name}.{name}", type(program)) for name, value in attributes.items()
        },
        "results": [_value(program.values[number]) for number in node.results],
    }


def _operand(operand: Operand) -> Any:
    if isinstance(operand, Scalar):
        return {"scalar": operand.slot}
    if isinstance(operand, Constant):
        return {"constant": _attribute(operand.value, "a constant", ())}
    return list(operand) if isinstance(operand, tuple) else operand


def _attribute(value: Any, where: str, region: Any) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value if math.isfinite(value) else str(value)}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, bytes):
        return {"bytes": value}
    if isinstance(value, region):
        return {"program": encode(value)}
    if isinstance(value, tuple):
        return [_attribute(each, where, region) for each in value]
    raise ProgramDataError([f"{where}: a {type(value).__name__} has no form as data; use plain values and tuples"])


# Reading


def decode(data: dict[str, Any] | bytes | str, make: type[Program]) -> Program:
    """The program of plain data, of MessagePack (bytes) or of JSON (text)."""
    plain = _unpacked(data) if isinstance(data, bytes) else _parsed(data) if isinstance(data, str) else data
    decoder = _Decoder(make)
    program = decoder.program(plain, "program", 0)
    if decoder.faults:
        raise ProgramDataError(decoder.faults)
    return program


def _unpacked(data: bytes) -> Any:
    reader = Reader(data)
    try:
        return reader.whole()
    except MessagePackError as error:
        where = ".".join(reader.path)[:80] or "its head"
        raise ProgramDataError([f"damaged or no MessagePack: at {where}, byte {reader.at:,}: {error}"]) from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise ProgramDataError(["damaged or no JSON: it is nested too deep"]) from None
    except ValueError as error:
        raise ProgramDataError([f"damaged or no JSON: {_shown(str(error), 120)}"]) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _shown(value: Any, most: int = 60) -> str:
    """A value for a message: short, and printable whatever it is."""
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    return ascii(value[:most] if isinstance(value, str | bytes) else value)[: most + 2]


class _Decoder:
    def __init__(self, make: type[Program]) -> None:
        self.make = make
        self.faults: list[str] = []
        self.entries_left = MOST_ENTRIES

    def fault(self, place: str, text: str) -> None:
        self.faults.append(f"{place}: {text}")
        if len(self.faults) >= MOST_FAULTS:
            raise ProgramDataError(self.faults)

    def fields(self, data: Any, known: tuple[str, ...], place: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
        """The fields of an object; what is not there is told here and nowhere else."""
        if not isinstance(data, dict):
            if data is not _ABSENT:
                self.fault(place, f"{_shown(data)} is no object")
            return dict.fromkeys((*known, *optional), _ABSENT)
        missing = [name for name in known if name not in data]
        if missing:
            self.fault(place, f"{' and '.join(missing)} missing")
        for name in data:
            if name not in known and name not in optional:
                self.fault(place, f"unknown field {_shown(name)}")
        return {name: data.get(name, _ABSENT) for name in (*known, *optional)}

    def entries(self, data: Any, place: str) -> list[Any]:
        if isinstance(data, list):
            self.entries_left -= len(data)
            if self.entries_left < 0:
                raise ProgramDataError([*self.faults, f"{place}: more than {MOST_ENTRIES:,} entries up to here"])
            return data
        if data is not _ABSENT:
            self.fault(place, f"{_shown(data)} is no list")
        return []

    def program(self, data: Any, place: str, depth: int) -> Program:
        found = self.fields(data, ("format", "version", "inputs", "scalars", "nodes", "outputs"), place)
        if found["format"] != FORMAT or type(found["version"]) is not int or found["version"] != VERSION:
            given = f"{_shown(found['format'])} of version {_shown(found['version'])}"
            raise ProgramDataError([*self.faults, f"{place}: {given}, and {FORMAT!r} of version {VERSION} is read"])
        values: list[Value | None] = []
        names = self.inputs(found["inputs"], f"{place}.inputs", values)
        inputs = len(values)
        scalars = self.entries(found["scalars"], f"{place}.scalars")
        for index, kind in enumerate(scalars):
            if kind not in _SCALARS:
                self.fault(f"{place}.scalars[{index}]", f"{_shown(kind)} is neither {' nor '.join(_SCALARS)}")
        nodes = []
        for index, entry in enumerate(self.entries(found["nodes"], f"{place}.nodes")):
            node = self.node(entry, f"{place}.nodes[{index}]", values, scalars, depth)
            if node is not None:
                nodes.append(node)
        outputs = []
        for index, number in enumerate(self.entries(found["outputs"], f"{place}.outputs")):
            if self.is_number(number, len(values), f"{place}.outputs[{index}]"):
                outputs.append(number)
        described = tuple(value for value in values if value is not None)
        return self.make(described, inputs, len(scalars), tuple(nodes), tuple(outputs), names)

    def inputs(self, data: Any, place: str, values: list[Value | None]) -> tuple[str, ...]:
        names: list[str] = []
        taken: set[str] = set()
        for index, entry in enumerate(self.entries(data, place)):
            here = f"{place}[{index}]"
            found = self.fields(entry, ("dtype", "shape"), here, ("name",))
            values.append(self.value(found, here))
            name = found["name"]
            if name is not _ABSENT and (not _is_text(name) or not 0 < len(name) <= LONGEST_NAME or name in taken):
                self.fault(here, f"the name {_shown(name)} is taken, empty or no text")
            names.append(name if isinstance(name, str) else "")
            taken.add(names[-1])
        return tuple(names) if any(names) else ()

    def value(self, found: dict[str, Any], place: str) -> Value | None:
        dtype, sizes = self.dtype(found["dtype"], place), found["shape"]
        if sizes is _ABSENT:
            return None
        if not isinstance(sizes, list) or len(sizes) > MOST_DIMS:
            self.fault(place, f"{_shown(sizes)} is no shape: a list of sizes, {MOST_DIMS} at the most")
            return None
        wrong = [size for size in sizes if type(size) is not int or not 0 <= size <= LARGEST]
        if wrong:
            self.fault(place, f"{_shown(wrong[0])} is no size")
        elif dtype is not None and math.prod(size for size in sizes if size) * dtype.size > LARGEST:
            self.fault(place, f"shape {_shown(tuple(sizes))} of {dtype} needs more memory than can exist")
        elif dtype is not None:
            return Value(Shape(sizes), dtype)
        return None

    def dtype(self, data: Any, place: str) -> DType | None:
        found = _DTYPES.get(data) if isinstance(data, str) else None
        if found is None and data is not _ABSENT:
            self.fault(place, f"{_shown(data)} is no dtype")
        return found

    def is_number(self, data: Any, made: int, place: str) -> bool:
        if type(data) is int and 0 <= data < made:
            return True
        self.fault(place, f"{_shown(data)} is not the number of a value that was made before")
        return False

    # Nodes

    def node(self, entry: Any, place: str, values: list[Value | None], scalars: list[Any], depth: int) -> Node | None:
        before = len(self.faults)
        found = self.fields(entry, ("op", "version", "operands", "attributes", "results"), place)
        op = find_row(found["op"]) if isinstance(found["op"], str) else None
        if op is None and found["op"] is not _ABSENT:
            self.fault(place, f"there is no row {_shown(found['op'])}; an extension may have to be imported first")
        elif op is not None and (type(found["version"]) is not int or found["version"] != op.version):
            self.fault(place, f"{op.name} has version {op.version} here, and {_shown(found['version'])} in the data")
        operands = tuple(
            self.operand(each, f"{place}.operands[{index}]", len(values), scalars)
            for index, each in enumerate(self.entries(found["operands"], f"{place}.operands"))
        )
        attributes = self.attributes(op, found["attributes"], f"{place}.attributes", depth)
        first = len(values)
        for index, each in enumerate(self.entries(found["results"], f"{place}.results")):
            here = f"{place}.results[{index}]"
            values.append(self.value(self.fields(each, ("dtype", "shape"), here), here))
        if op is None or len(self.faults) > before:
            return None
        node = Node(op, operands, attributes, tuple(range(first, len(values))))
        for fault in row_faults(node, values):
            self.fault(f"{place} ({op.name})", fault)
        return node

    def operand(self, data: Any, place: str, made: int, scalars: list[Any]) -> Operand:
        if data is None:
            return None
        if isinstance(data, list):
            return tuple([number for number in self.entries(data, place) if self.is_number(number, made, place)])
        if not isinstance(data, dict):
            return data if self.is_number(data, made, place) else None
        if list(data) == ["scalar"]:
            slot = data["scalar"]
            if type(slot) is int and 0 <= slot < len(scalars):
                return Scalar(slot, scalars[slot])
            self.fault(place, f"{_shown(slot)} is none of the {len(scalars)} scalars")
        elif list(data) == ["constant"]:
            number = self.attribute(data["constant"], place, DEEPEST)
            if type(number) in (bool, int, float):
                return Constant(number)
            self.fault(place, f"{_shown(number)} is no number")
        else:
            self.fault(place, "an operand is the number of a value, a list of them, a scalar or a constant")
        return None

    def attributes(self, op: Op | None, data: Any, place: str, depth: int) -> tuple[Any, ...]:
        if op is None:
            return ()
        found = self.fields(data, op.attributes, place)
        return tuple(self.attribute(found[name], f"{place}.{name}", depth) for name in op.attributes)

    def attribute(self, data: Any, place: str, depth: int) -> Any:
        if data is None or data is _ABSENT or type(data) is bool or _is_text(data):
            return data
        if type(data) is int:
            if -(1 << 63) <= data < 1 << 64:
                return data
            self.fault(place, f"{_shown(data)} has more than 64 bits")
            return 0
        if isinstance(data, list):
            if depth >= DEEPEST:
                self.fault(place, f"more than {DEEPEST} levels")
                return ()
            return tuple([self.attribute(each, place, depth + 1) for each in self.entries(data, place)])
        if isinstance(data, dict) and len(data) == 1:
            ((kind, held),) = data.items()
            if kind == "program" and depth < DEEPEST:
                return self.program(held, place, depth + 1)
            read = _KINDS.get(kind)
            made = None if read is None else read(held)
            if made is not None:
                return made
        self.fault(place, f"{_shown(data)} is no attribute")
        return None


def _is_text(data: Any) -> bool:
    """Whether some data is a text that can be written again: JSON can spell what is no Unicode."""
    return isinstance(data, str) and (data.isascii() or not any("\ud800" <= each <= "\udfff" for each in data))


def _float(data: Any) -> float | None:
    if isinstance(data, str):
        return float(data) if data in ("nan", "inf", "-inf") else None
    if type(data) is int and abs(data) <= 1 << 53:
        return float(data)
    return data if type(data) is float and math.isfinite(data) else None


def _bytes(data: Any) -> bytes | None:
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except (binascii.Error, ValueError):
        return None


_KINDS: dict[Any, Callable[[Any], Any]] = {
    "float": _float,
    "bytes": _bytes,
    "dtype": lambda data: _DTYPES.get(data) if isinstance(data, str) else None,
}
