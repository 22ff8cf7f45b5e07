"""From messages to the graph: names become values, numbers become types, and every fault is collected.

Nodes may come in any order; they are sorted here. A body sees the names of the graphs around it. Inputs that also
are initialisers, as old files must have them, are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Function, FunctionKey, Model
from burn_import.onnx.ir.names import Names
from burn_import.onnx.ir.sorting import sort
from burn_import.onnx.ir.types import Type
from burn_import.onnx.reader.attributes import AttributeFault, attribute
from burn_import.onnx.reader.external import ExternalFiles, map_file
from burn_import.onnx.reader.messages import SPECS
from burn_import.onnx.reader.runtime_format import is_runtime_format, parse_runtime_format
from burn_import.onnx.reader.scopes import scopes
from burn_import.onnx.reader.tensors import TensorFault, constant, sparse
from burn_import.onnx.reader.types import read_type
from burn_import.onnx.reader.wire import Message, WireError, parse


class Serializable(Protocol):
    """A message of the `onnx` package."""

    def SerializeToString(self) -> bytes: ...


Source = str | Path | bytes | bytearray | memoryview | BinaryIO | Serializable


def read(source: Source, *, folder: str | Path | None = None) -> Model:
    """Read a model from a path, bytes, a binary file or a `ModelProto`.

    External data are looked for below the folder of the path, or below `folder`. Raises `OnnxError` with every fault.
    """
    where: str | None = None
    if isinstance(source, str | Path):
        path = Path(source)
        where = str(path)
        if not path.is_file():
            reason = "is a folder; give the file in it" if path.is_dir() else "is not there"
            raise OnnxError("read", [f"{where} {reason}"])
        data = map_file(path)
        folder = path.parent if folder is None else folder
    elif isinstance(source, bytes | bytearray | memoryview):
        data = memoryview(source).cast("B")
    elif hasattr(source, "SerializeToString"):
        data = memoryview(source.SerializeToString())
    elif hasattr(source, "read"):
        data = memoryview(source.read())
    else:
        raise OnnxError("read", [f"{type(source).__name__} is no path, bytes, binary file or model"])
    operation = "read" if where is None else f"read {where}"
    _recognise(data, operation)
    try:
        if is_runtime_format(data):
            proto = parse_runtime_format(data)
        else:
            proto = parse(SPECS, "ModelProto", data, 0, len(data))
    except WireError as error:
        raise OnnxError(operation, [f"this is no ONNX file, or it is damaged: {error}"]) from None
    files = ExternalFiles(None if folder is None else Path(folder))
    builder = _Builder(files)
    model = builder.model(proto)
    if builder.faults:
        raise OnnxError(operation, list(dict.fromkeys(builder.faults)))
    model.source, model.is_whole = where, not files.are_read
    return model


_MAGIC = {
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"PK\x03\x04": "is a zip archive; unpack it, or read it as PyTorch weights",
    b"version https://git-lfs": "is a pointer of Git LFS, not the model; run `git lfs pull`",
    b"<!DOCTYPE": "is a web page, not a model; download the file itself",
}


def _recognise(data: memoryview, operation: str) -> None:
    """Refuse files that people confuse with ONNX models, saying what they are."""
    if not len(data):
        raise OnnxError(operation, ["the file is empty"])
    head = bytes(data[:32])
    for magic, reason in _MAGIC.items():
        if head.startswith(magic):
            raise OnnxError(operation, [reason])


def domain_of(name: str) -> str:
    return "" if name == "ai.onnx" else name


class _Scope:
    """The names a graph defines, and the scope around it."""

    def __init__(self, outer: _Scope | None) -> None:
        self.values: dict[str, Value] = {}
        self.outer = outer

    def find(self, name: str) -> Value | None:
        scope: _Scope | None = self
        while scope is not None:
            found = scope.values.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None


class _Builder:
    def __init__(self, files: ExternalFiles) -> None:
        self.files = files
        self.faults: list[str] = []
        self.ir_version = 0
        self.opsets: dict[str, int] = {}
        self.functions: set[tuple[str, str]] = set()

    def model(self, proto: Message) -> Model:
        if proto.graph is None:
            self.faults.append("the file has no graph; it is no ONNX model, or it is damaged")
            return Model(Graph())
        self.ir_version = proto.ir_version
        self.functions = {(domain_of(each.domain), each.name) for each in proto.functions}
        model = Model(
            Graph(),
            self._opsets(proto.opset_import),
            ir_version=proto.ir_version,
            producer_name=proto.producer_name,
            producer_version=proto.producer_version,
            domain=proto.domain,
            model_version=proto.model_version,
            doc=proto.doc_string,
            metadata={entry.key: entry.value for entry in proto.metadata_props},
        )
        for domain in schemas.DOMAINS:
            known = schemas.newest_opset(domain)
            if model.opset_imports.get(domain, 0) > known:
                model.notes.append(
                    f"opset {model.opset_imports[domain]} of {domain or 'ai.onnx'} is newer than {known}, the newest "
                    f"known here; its operators are read as those of {known}"
                )
        self.opsets = model.opset_imports
        model.graph = self.graph(proto.graph, None, Names(), f"graph {proto.graph.name!r}")
        for each in proto.functions:
            function = self.function(each)
            if function.key in model.functions:
                self.faults.append(f"function {_function_name(function.key)} is defined twice")
            model.functions[function.key] = function
        model.properties.add("sorted")
        return model

    def _opsets(self, imports: Sequence[Message]) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in imports:
            domain = domain_of(each.domain)
            if found.get(domain, each.version) != each.version:
                self.faults.append(
                    f"domain {domain or 'ai.onnx'!r} is imported twice, {found[domain]} and {each.version}"
                )
            if each.version < 1:
                self.faults.append(
                    f"domain {domain or 'ai.onnx'!r} is imported as version {each.version}; 1 is the first"
                )
            found[domain] = each.version
        found.setdefault("", 1)  # files from before there were imports
        return found

    def graph(self, proto: Message, outer: _Scope | None, names: Names, where: str, is_branch: bool = False) -> Graph:
        graph = Graph(proto.name, names)
        scope = _Scope(outer)
        is_main = outer is None
        for tensor in proto.initializer:
            self._constant(graph, scope, tensor.name, tensor, where)
        for tensor in proto.sparse_initializer:
            self._constant(graph, scope, tensor.values.name if tensor.values else "", tensor, where, is_sparse=True)
        initialised = set(scope.values)
        for info in proto.input:
            if info.name in initialised:
                if self.ir_version >= 4:
                    graph.overridable.append(scope.values[info.name])
                initialised.discard(info.name)
            elif not info.name:
                self.faults.append(f"{where} has an input without a name")
            elif info.name in scope.values:
                self.faults.append(f"{where} has two inputs {info.name!r}")
            elif is_branch:  # it takes none: some exporters list what it reads from around it
                if scope.find(info.name) is None:
                    self.faults.append(f"{where} declares input {info.name!r}, which nothing around it defines")
            else:
                value = graph.add_input(info.name, self._type(info.type, f"input {info.name!r}"))
                if not is_main:
                    value.name = names.fresh(info.name)
                scope.values[info.name] = value
        nodes = [self._node(graph, scope, each, where) for each in proto.node]
        for node, each in zip(nodes, proto.node):
            self._attributes(node, each, scope, where)
        for node, each in zip(nodes, proto.node):
            self._inputs(node, each, scope)
        for info in proto.output:
            found = scope.find(info.name)
            if found is None:
                self.faults.append(f"{where} gives {info.name!r}, which nothing defines")
            else:
                graph.add_output(found, self._type(info.type, f"output {info.name!r}"), info.name)
        for info in proto.value_info:
            value_of = scope.values.get(info.name)
            if value_of is not None and value_of.node is not None:
                value_of.declared = self._type(info.type, f"value {info.name!r}")
        for declared, value in zip(graph.declared_outputs, graph.outputs):
            if value.declared is None:
                value.declared = declared
        self._sort(graph, where)
        return graph

    def function(self, proto: Message) -> Function:
        key: FunctionKey = (domain_of(proto.domain), proto.name, proto.overload)
        where = f"function {_function_name(key)}"
        outside, self.opsets = self.opsets, self._opsets(proto.opset_import)
        graph = Graph(proto.name)
        scope = _Scope(None)
        for name in proto.input:
            if name in scope.values:
                self.faults.append(f"{where} has two inputs {name!r}")
            scope.values[name] = graph.add_input(name)
        nodes = [self._node(graph, scope, each, where) for each in proto.node]
        for node, each in zip(nodes, proto.node):
            self._attributes(node, each, scope, where)
        for node, each in zip(nodes, proto.node):
            self._inputs(node, each, scope)
        for name in proto.output:
            found = scope.find(name)
            if found is None:
                self.faults.append(f"{where} gives {name!r}, which nothing defines")
            else:
                graph.add_output(found, name=name)
        self._sort(graph, where)
        defaults: dict[str, Any] = {}
        for each in proto.attribute_proto:
            try:
                defaults[each.name] = attribute(each, self, scope, graph.names, where)[1]
            except AttributeFault as fault:
                self.faults.append(f"{where}, attribute {each.name!r}: {fault}")
        made = Function(*key, graph, self.opsets, tuple(proto.attribute), defaults)
        self.opsets = outside
        return made

    def _sort(self, graph: Graph, where: str) -> None:
        _, cycle = sort(graph)
        if cycle is not None:
            path = " -> ".join(_label(node) for node in (*cycle, cycle[0]))
            self.faults.append(f"{where} has a cycle, each node using the next: {path}")

    def _constant(
        self, graph: Graph, scope: _Scope, name: str, proto: Message, where: str, *, is_sparse: bool = False
    ) -> None:
        if not name:
            self.faults.append(f"{where} has an initialiser without a name")
            return
        if name in scope.values:
            self.faults.append(f"{where} has two initialisers {name!r}")
            return
        try:
            made = sparse(proto, self.files) if is_sparse else constant(proto, self.files)
        except TensorFault as fault:
            self.faults.append(f"initialiser {name!r}: {fault}")
            return
        scope.values[name] = graph.add_constant(made, name)

    def _node(self, graph: Graph, scope: _Scope, proto: Message, where: str) -> Node:
        domain = domain_of(proto.domain)
        opset = self.opsets.get(domain, 1)
        version = schemas.resolve(domain, proto.op_type, opset)
        outputs = list(proto.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        node = Node(
            proto.op_type, (), outputs, domain=domain, version=version if version is not None else opset,
            name=proto.name, overload=proto.overload,
        )  # fmt: skip
        if proto.metadata_props:
            node.scope, node.kinds = scopes(proto.metadata_props)
        if not proto.op_type:
            self.faults.append(f"{where} has a node {proto.name!r} without an operator")
        for value in node.outputs:
            name = value.name
            if not name:
                continue
            other = scope.values.get(name)
            if other is not None:
                by = "an input" if other.node is None else _label(other.node)
                by = "an initialiser" if other.is_constant else by
                self.faults.append(f"value {name!r} is defined twice, by {by} and by {_label(node)}")
            else:
                scope.values[name] = value
            value.name = graph.names.take(name) if scope.outer is None else graph.names.fresh(name)
        graph.append(node)
        if (domain, proto.op_type) not in self.functions:
            self._check_counts(node, proto)
        return node

    def _check_counts(self, node: Node, proto: Message) -> None:
        schema = schemas.schema(node.domain, node.op_type, node.version)
        if schema is None:
            return
        given = len(proto.input)
        needed = given
        while needed and not proto.input[needed - 1]:
            needed -= 1
        if given < schema.min_inputs or needed > schema.max_inputs:
            span = _span(schema.min_inputs, schema.max_inputs)
            self.faults.append(f"{_label(node)} has {given} inputs; version {node.version} takes {span}")
        count = len(node.outputs)
        if len(proto.output) < schema.min_outputs or count > schema.max_outputs:
            span = _span(schema.min_outputs, schema.max_outputs)
            self.faults.append(f"{_label(node)} has {len(proto.output)} outputs; version {node.version} gives {span}")

    def _inputs(self, node: Node, proto: Message, scope: _Scope) -> None:
        values: list[Value | None] = []
        for name in proto.input:
            found = scope.find(name) if name else None
            if name and found is None:
                self.faults.append(f"{_label(node)} uses {name!r}, which nothing defines")
            values.append(found)
        node.set_inputs(values)

    def _attributes(self, node: Node, proto: Message, scope: _Scope, where: str) -> None:
        schema = None
        if (node.domain, node.op_type) not in self.functions:
            schema = schemas.schema(node.domain, node.op_type, node.version)
        expected = schema.attributes if schema is not None else {}
        for each in proto.attribute:
            if not each.name:
                self.faults.append(f"{_label(node)} has an attribute without a name")
                continue
            if each.name in node.attributes:
                self.faults.append(f"{_label(node)} has two attributes {each.name!r}")
                continue
            try:
                inside = f"body {each.name!r} of {_label(node)}"
                kind, value = attribute(each, self, scope, node.graph.names if node.graph else Names(), inside)
            except AttributeFault as fault:
                self.faults.append(f"attribute {each.name!r} of {_label(node)}: {fault}")
                continue
            rule = expected.get(each.name)
            if rule is not None and kind != rule.kind:
                self.faults.append(
                    f"attribute {each.name!r} of {_label(node)} is of kind {kind}; version {node.version} of the "
                    f"operator takes {rule.kind}"
                )
                continue
            node.attributes[each.name] = value
        for name, rule in expected.items():
            if rule.required and name not in node.attributes and all(name != each.name for each in proto.attribute):
                self.faults.append(f"{_label(node)} lacks attribute {name!r}")

    def body(self, proto: Message, scope: Any, names: Names, where: str) -> Graph:
        """A graph inside an attribute."""
        return self.graph(proto, scope, names, where, is_branch=where.startswith(_BRANCHES))

    def tensor(self, proto: Message) -> Constant:
        return constant(proto, self.files)

    def sparse_tensor(self, proto: Message) -> Constant:
        return sparse(proto, self.files)

    def _type(self, proto: Message | None, where: str) -> Type | None:
        try:
            return read_type(proto)
        except TensorFault as fault:
            self.faults.append(f"{where}: {fault}")
            return None


_BRANCHES = ("body 'then_branch' of ", "body 'else_branch' of ")


def _label(node: Node) -> str:
    """The node as errors name it."""
    if node.name:
        return f"node {node.name!r} ({node.operator})"
    first = next((value.name for value in node.outputs if value.name), "")
    return f"node of {first!r} ({node.operator})"


def _function_name(key: FunctionKey) -> str:
    domain, name, overload = key
    return f"{domain}.{name}" + (f":{overload}" if overload else "")


def _span(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"at least {low}" if high > 1 << 20 else f"{low} to {high}"
