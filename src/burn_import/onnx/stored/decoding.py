"""Data back to a graph: strict, bounded, and with every fault at once.

Whatever the data is, the result is a graph that the verifier accepts, made of known operators in the versions that the
writer knows, or one error. Values are used after they are defined, so nothing can refer to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.numbers import Numbers
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.ir.verifier import verify
from burn_import.onnx.operators import rows
from burn_import.onnx.stored import elements
from burn_import.onnx.stored.types import (
    LARGEST,
    decode_element_type,
    decode_name,
    decode_shape,
    decode_size,
    decode_type,
    shown,
)

VERSION = 1  # of the data
MOST_NODES = 1 << 20
MOST_FAULTS = 200
MOST_CONTENT = 1 << 12
DEEPEST = 32  # bodies inside bodies
_NODE_KEYS = frozenset(["op", "domain", "version", "name", "inputs", "attributes", "outputs"])
_CONSTANT_KEYS = frozenset(["name", "dtype", "shape", "data", "packed", "record"])
_GRAPH_KEYS = frozenset(["name", "inputs", "constants", "nodes", "outputs"])
_KINDS = {
    "INT": {"int"}, "FLOAT": {"float"}, "STRING": {"string", "bytes"}, "TENSOR": {"tensor"},
    "SPARSE_TENSOR": {"tensor"}, "GRAPH": {"graph"}, "TYPE_PROTO": {"type"}, "INTS": {"ints", "numbers"},
    "FLOATS": {"ints", "floats", "numbers"}, "STRINGS": {"ints", "strings", "bytess"}, "TENSORS": {"ints", "tensors"},
    "GRAPHS": {"ints", "graphs"}, "TYPE_PROTOS": {"ints", "types"},
}  # fmt: skip

Records = dict[Value, tuple[str, ...]]
Provide = Callable[[str, ElementType, tuple[int, ...]], Constant]


def decode(data: Any, constant: Provide, records: Records | None = None) -> Model:
    """The model of some data. `constant` gives those that have no elements here, by name and type; `records` takes the
    paths that constants have in the record."""
    decoder = _Decoder(constant)
    if records is not None:
        decoder.records = records
    graph = decoder.graph(data, "graph", {}, None, 0)
    if decoder.faults:
        raise OnnxError("program", decoder.faults)
    model = Model(graph)
    verify(model)
    model.properties = {"sorted", "inlined", "lifted", "typed"}
    return model


class _Decoder:
    def __init__(self, constant: Provide) -> None:
        self.provide = constant
        self.faults: list[str] = []
        self.taken: set[str] = set()
        self.nodes = 0
        self.records: Records = {}

    def fault(self, place: str, text: object) -> None:
        self.faults.append(f"{place}: {text}")
        if len(self.faults) >= MOST_FAULTS:
            raise OnnxError("program", self.faults)

    def entries(self, data: Any, place: str) -> list[Any]:
        if isinstance(data, list):
            return data
        self.fault(place, f"{shown(data)} is no list")
        return []

    def keys(self, data: Any, known: frozenset[str], place: str) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            self.fault(place, f"{shown(data)} is no object")
            return {}
        for key in data:
            if key not in known:
                self.fault(place, f"unknown key {shown(key)}")
        return data

    def define(self, name: Any, place: str) -> str:
        try:
            text = decode_name(name)
        except ValueError as error:
            self.fault(place, error)
            text = f"?{len(self.taken)}"
        if not text or text in self.taken:
            self.fault(place, f"the name {shown(text)} is taken or empty")
        self.taken.add(text)
        return text

    def text(self, data: Any, place: str) -> str:
        try:
            return decode_name(data)
        except ValueError as error:
            self.fault(place, error)
            return ""

    def graph(self, data: Any, place: str, outer: Mapping[str, Value], around: Graph | None, depth: int) -> Graph:
        found = self.keys(data, _GRAPH_KEYS, place)
        made = Graph(self.text(found.get("name", ""), f"{place}.name"), None if around is None else around.names)
        if depth > DEEPEST:
            self.fault(place, f"bodies are nested more than {DEEPEST} deep")
            return made
        scope = dict(outer)
        for index, entry in enumerate(self.entries(found.get("inputs"), f"{place}.inputs")):
            self.input(entry, f"{place}.inputs[{index}]", made, scope)
        for index, entry in enumerate(self.entries(found.get("constants"), f"{place}.constants")):
            self.constant(entry, f"{place}.constants[{index}]", made, scope)
        for index, entry in enumerate(self.entries(found.get("nodes"), f"{place}.nodes")):
            self.node(entry, f"{place}.nodes[{index}]", made, scope, depth)
        for index, entry in enumerate(self.entries(found.get("outputs"), f"{place}.outputs")):
            here = f"{place}.outputs[{index}]"
            if not isinstance(entry, list) or len(entry) != 2:
                self.fault(here, f"{shown(entry)} is no output")
                continue
            value = self.used(entry[0], here, scope)
            name = self.text(entry[1], here)
            if value is not None:
                made.add_output(value, None, name)
        return made

    def input(self, entry: Any, place: str, graph: Graph, scope: dict[str, Value]) -> None:
        if not isinstance(entry, list) or len(entry) != 2:
            self.fault(place, f"{shown(entry)} is no input")
            return
        name = self.define(entry[0], place)
        try:
            scope[name] = graph.add_input(name, decode_type(entry[1]))
        except ValueError as error:
            self.fault(place, error)

    def constant(self, entry: Any, place: str, graph: Graph, scope: dict[str, Value]) -> None:
        found = self.keys(entry, _CONSTANT_KEYS, place)
        name = self.define(found.get("name"), place)
        try:
            made = self.tensor(found, name)
        except ValueError as error:
            self.fault(place, error)
            return
        value = Value(graph.names.take(name), constant=made)
        value.graph = graph
        graph.constants[value] = None
        scope[name] = value
        paths = found.get("record", [])
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            self.fault(place, f"{shown(paths)} are no paths of a record")
        elif paths:
            self.records[value] = tuple(paths)

    def tensor(self, found: Mapping[str, Any], name: str | None) -> Constant:
        dtype = decode_element_type(found.get("dtype"))
        sizes = decode_shape(found.get("shape"))
        if sizes is None or not all(type(each) is int for each in sizes):
            raise ValueError(f"{shown(found.get('shape'))} is no shape of a constant")
        shape = tuple(int(each) for each in sizes)  # type: ignore[arg-type]
        if prod(shape) > LARGEST:
            raise ValueError(f"{shown(list(shape))} is larger than any memory")
        if "data" in found or "packed" in found:
            if "data" in found and "packed" in found:
                raise ValueError("data and packed exclude each other")
            array = elements.decode(dict(found), dtype, shape)
            made = Constant(dtype, shape, lambda: array)
            array.flags.writeable = False
            made._array = array
            return made
        if name is None or elements.is_written(dtype, prod(shape)):
            raise ValueError("the elements are missing")
        return self.provide(name, dtype, shape)

    def used(self, name: Any, place: str, scope: Mapping[str, Value]) -> Value | None:
        value = scope.get(name) if isinstance(name, str) else None
        if value is None:
            self.fault(place, f"{shown(name)} is used and not defined before")
        return value

    # -- nodes

    def node(self, entry: Any, place: str, graph: Graph, scope: dict[str, Value], depth: int) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            self.fault(place, f"more than {MOST_NODES:,} nodes")
            raise OnnxError("program", self.faults)
        found = self.keys(entry, _NODE_KEYS, place)
        operator = self.text(found.get("op"), f"{place}.op")
        domain = self.text(found.get("domain", ""), f"{place}.domain")
        version = found.get("version")
        if type(version) is not int or not 0 <= version < 1 << 31:
            self.fault(f"{place}.version", f"{shown(version)} is no version")
            version = 0
        if (domain, operator) not in rows():
            named = f"{domain}.{operator}" if domain else operator
            self.fault(place, f"operator {shown(named)} is not known here; a plugin may have to be loaded first")
        inputs: list[Value | None] = []
        for index, each in enumerate(self.entries(found.get("inputs"), f"{place}.inputs")):
            inputs.append(None if each is None else self.used(each, f"{place}.inputs[{index}]", scope))
        attributes = self.attributes(found.get("attributes", {}), place, graph, scope, depth)
        made = Node(operator, inputs, 0, attributes, domain=domain, version=version)
        made.name = self.text(found.get("name", ""), f"{place}.name")
        outputs = []
        for index, each in enumerate(self.entries(found.get("outputs"), f"{place}.outputs")):
            value = self.output(each, f"{place}.outputs[{index}]")
            if value is not None:
                made._append_output(value)
                outputs.append(value)
        self.check(made, found, place)
        graph.insert(made)
        for value in outputs:
            graph.names.take(value.name)
            scope[value.name] = value

    def output(self, entry: Any, place: str) -> Value | None:
        if not isinstance(entry, list) or len(entry) not in (2, 3):
            self.fault(place, f"{shown(entry)} is no output")
            return None
        value = Value(self.define(entry[0], place))
        try:
            value.type = decode_type(entry[1])
            if len(entry) == 3:
                value.content = _content(entry[2])
        except ValueError as error:
            self.fault(place, error)
        return value

    def check(self, node: Node, found: Mapping[str, Any], place: str) -> None:
        """What the standard says about the operator; operators of others are only known by name."""
        newest = schemas.newest(node.domain, node.op_type)
        if newest is None:
            return
        if node.version != newest:
            self.fault(place, f"{node.op_type} has version {node.version}; version {newest} is known")
            return
        schema = schemas.schema(node.domain, node.op_type, newest)
        if schema is None or (not schema.inputs and not schema.outputs):
            return
        for name in node.attributes:
            known = schema.attributes.get(name)
            kind = found["attributes"][name][0]
            if known is None:
                self.fault(place, f"{node.op_type} has no attribute {shown(name)}")
            elif kind not in _KINDS.get(known.kind, {kind}):
                self.fault(place, f"attribute {name} is {shown(kind)} and not {known.kind.lower()}")
        for name, known in schema.attributes.items():
            if known.required and name not in node.attributes:
                self.fault(place, f"{node.op_type} needs the attribute {name}")
        if not schema.min_inputs <= len(node.inputs) <= schema.max_inputs:
            self.fault(place, f"{node.op_type} has {len(node.inputs)} inputs")
        if len(node.outputs) > schema.max_outputs or not node.outputs:
            self.fault(place, f"{node.op_type} has {len(node.outputs)} outputs")
        for parameter, value in zip(schema.inputs, node.inputs):
            if value is None and parameter.kind == "single":
                self.fault(place, f"{node.op_type} needs the input {parameter.name}")

    def attributes(
        self, data: Any, place: str, graph: Graph, scope: Mapping[str, Value], depth: int
    ) -> dict[str, Attribute]:
        if not isinstance(data, dict):
            self.fault(f"{place}.attributes", f"{shown(data)} is no object")
            return {}
        made: dict[str, Attribute] = {}
        for name, entry in data.items():
            here = f"{place}.{shown(name)}"
            if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
                self.fault(here, f"{shown(entry)} is no attribute")
                continue
            try:
                made[name] = self.attribute(entry[0], entry[1], here, graph, scope, depth)
            except ValueError as error:
                if isinstance(error, OnnxError):
                    raise
                self.fault(here, error)
        return made

    def attribute(
        self, kind: str, data: Any, place: str, graph: Graph, scope: Mapping[str, Value], depth: int
    ) -> Attribute:
        if kind == "graph":
            return self.graph(data, place, scope, graph, depth + 1)
        if kind == "tensor":
            return self.tensor(self.keys(data, _CONSTANT_KEYS, place), None)
        if kind == "numbers":
            return _numbers(data)
        if kind in _PLAIN:
            return _PLAIN[kind](data)
        single = kind.removesuffix("s")
        if kind == f"{single}s" and isinstance(data, list) and (single in _PLAIN or single in ("graph", "tensor")):
            return tuple(
                self.attribute(single, each, f"{place}[{index}]", graph, scope, depth)
                for index, each in enumerate(data)
            )
        raise ValueError(f"{shown(kind)} is no kind of attribute")


def _int(data: Any) -> int:
    if type(data) is not int or not -(1 << 63) <= data < 1 << 64:
        raise ValueError(f"{shown(data)} is no int")
    return data


def _string(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError(f"{shown(data)} is no string")
    return data


def _bytes(data: Any) -> bytes:
    try:
        return bytes.fromhex(_string(data))
    except ValueError:
        raise ValueError(f"{shown(data)} are no bytes") from None


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "int": _int, "float": elements.decode_number, "string": _string, "bytes": _bytes, "type": decode_type,
}  # fmt: skip


def _numbers(data: Any) -> Numbers:
    match data:
        case {"dtype": ("f4" | "f8" | "i4" | "i8") as dtype, "size": int(size), "packed": packed} if len(data) == 3:
            if 0 <= size <= LARGEST:
                return Numbers(elements.unpack(packed, np.dtype(dtype), size))
    raise ValueError(f"{shown(data)} are no numbers")


def _content(data: Any) -> np.ndarray[Any, Any]:
    if not isinstance(data, list) or len(data) != 2 or not isinstance(data[1], list):
        raise ValueError(f"{shown(data)} is no content")
    shape = decode_shape(data[0])
    if shape is None or not all(type(each) is int for each in shape) or len(data[1]) > MOST_CONTENT:
        raise ValueError(f"{shown(data)} is no content")
    sizes = tuple(int(each) for each in shape)  # type: ignore[arg-type]
    if prod(sizes) != len(data[1]):
        raise ValueError(f"{len(data[1])} elements of content for shape {list(sizes)}")
    made = np.empty(len(data[1]), object)
    for index, each in enumerate(data[1]):
        made[index] = _known(each)
    return made.reshape(sizes)


def _known(data: Any) -> Any:
    if type(data) is bool:
        return data
    match data:
        case {"float": number} if len(data) == 1:
            return elements.decode_number(number)
        case {"fraction": [int(over), int(under)]} if len(data) == 1 and 0 < under <= LARGEST and abs(over) <= LARGEST:
            return Fraction(over, under)
    return decode_size(data)


__all__ = ["decode"]
