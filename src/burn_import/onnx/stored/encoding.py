"""A prepared graph to data, and the copy of it that reading the data back gives.

The source beside the data is written from that copy, so that the two cannot disagree: whoever reads the data gets the
graph that the source came from. Constants of many elements are left to the record. Those that the writer looks into
all the same, because the text depends on them, are noted while it writes and packed into the data.

    stored = store(imported.model)
    written = write(stored.model)
    program = stored.program(written)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dim import Dim
from burn_import.onnx.code.fields import Weight
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.names import Names
from burn_import.onnx.ir.numbers import Numbers
from burn_import.onnx.ir.types import ElementType, Type
from burn_import.onnx.stored import elements
from burn_import.onnx.stored.decoding import VERSION, decode
from burn_import.onnx.stored.types import encode_shape, encode_size, encode_type

if TYPE_CHECKING:
    from burn_import.onnx.writer import Written


class Stored:
    """A graph as data, and `model`, what reading it back gives."""

    def __init__(self, model: Model) -> None:
        if model.functions:
            raise OnnxError("store", [f"{len(model.functions)} functions were not inlined"])
        encoder = _Encoder(model)
        self._data = encoder.graph(model.graph)
        self._large = encoder.large
        self._entries = encoder.entries
        self._every = encoder.every
        self._read: set[str] = set()
        self.model = decode(self._data, self._constant)
        for name in ("opset_imports", "ir_version", "producer_name", "producer_version", "source", "doc"):
            setattr(self.model, name, getattr(model, name))

    def _constant(self, name: str, dtype: ElementType, shape: tuple[int, ...]) -> Constant:
        """The constant that the record will hold; whoever looks into it is noted."""
        constant = self._large[name]

        def load() -> np.ndarray[Any, Any]:
            self._read.add(name)
            return constant.array

        return Constant(dtype, shape, load)

    def program(self, written: Written, read: Iterable[str] | None = None) -> dict[str, Any]:
        """The data, with what the source needs to know of constants, and the paths of the record."""
        for name in self._read if read is None else read:
            constant = self._large[name]
            self._entries[name].update(elements.encode(constant.array, constant.dtype))
        for path, source in written.weights.items():
            if isinstance(source, Weight):
                entry = self._every.get(source.value.name)
                if entry is not None:
                    entry.setdefault("record", []).append(path)
        return {"version": VERSION, "graph": self._data, "parameters": list(written.weights)}

    @property
    def read(self) -> frozenset[str]:
        """The constants that were looked into so far."""
        return frozenset(self._read)


def store(model: Model) -> Stored:
    """The data of a prepared model."""
    return Stored(model)


class _Encoder:
    """One walk over a model. Values are known by their names, which are made unique where they are not."""

    def __init__(self, model: Model) -> None:
        self.large: dict[str, Constant] = {}
        self.entries: dict[str, dict[str, Any]] = {}  # of constants that the record holds
        self.every: dict[str, dict[str, Any]] = {}
        self.known: dict[Value, str] = {}
        self.names = Names()

    def define(self, value: Value) -> str:
        self.known[value] = self.names.fresh(value.name)
        return self.known[value]

    def graph(self, graph: Graph) -> dict[str, Any]:
        inputs = [[self.define(value), encode_type(value.type)] for value in graph.inputs]
        constants = [self.constant(value) for value in graph.constants]
        nodes = [self.node(node) for node in graph]
        outputs = [[self.known[value], name] for value, name in zip(graph.outputs, graph.output_names)]
        return {"name": graph.name, "inputs": inputs, "constants": constants, "nodes": nodes, "outputs": outputs}

    def constant(self, value: Value) -> dict[str, Any]:
        constant = value.constant
        assert constant is not None
        name = self.define(value)
        entry = {"name": name, "dtype": constant.dtype.name, "shape": list(constant.shape)}
        self.every[name] = entry
        if elements.is_written(constant.dtype, constant.size):
            entry.update(elements.encode(constant.array, constant.dtype))
        else:
            self.large[name] = constant
            self.entries[name] = entry
        return entry

    def node(self, node: Node) -> dict[str, Any]:
        made: dict[str, Any] = {"op": node.op_type}
        if node.domain:
            made["domain"] = node.domain
        made["version"] = node.version
        if node.name:
            made["name"] = node.name
        made["inputs"] = [None if value is None else self.known[value] for value in node.inputs]
        if node.attributes:
            made["attributes"] = {name: self.attribute(value) for name, value in node.attributes.items()}
        made["outputs"] = [self.output(value) for value in node.outputs]
        return made

    def output(self, value: Value) -> list[Any]:
        made = [self.define(value), encode_type(value.type)]
        if value.content is not None:
            content = [_element(each) for each in value.content.reshape(-1).tolist()]
            made.append([list(value.content.shape), content])
        return made

    def attribute(self, value: Attribute) -> list[Any]:
        if isinstance(value, tuple):
            kind = "int" if not value else self.attribute(value[0])[0]
            return [f"{kind}s", [self.attribute(each)[1] for each in value]]
        match value:
            case bool() | int():
                return ["int", int(value)]
            case float():
                return ["float", elements.encode_number(value)]
            case str():
                return ["string", value]
            case bytes():
                return ["bytes", value.hex()]
            case Numbers():
                return ["numbers", {"dtype": value.array.dtype.str.lstrip("<=|"), "size": len(value),
                                    "packed": elements.pack(value.array)}]  # fmt: skip
            case Constant():
                head = {"dtype": value.dtype.name, "shape": list(value.shape)}
                return ["tensor", {**head, **elements.encode(value.array, value.dtype)}]
            case Graph():
                return ["graph", self.graph(value)]
        if isinstance(value, Type):
            return ["type", encode_type(value)]
        raise OnnxError("store", [f"an attribute of {type(value).__name__} has no form as data"])


def _element(value: Any) -> Any:
    """One element of what inference knows: a number, a size, or nothing."""
    if value is None or isinstance(value, Dim):
        return encode_size(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, float):
        return {"float": elements.encode_number(value)}
    return int(value)


__all__ = ["VERSION", "Stored", "encode_shape", "store"]
