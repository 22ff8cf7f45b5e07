"""The graph back as an ONNX model, so that other programs can run what passes made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from burn_import.onnx.ir import (
    Constant,
    ElementType,
    Graph,
    MapType,
    Model,
    Node,
    Numbers,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    schemas,
)


def to_proto(model: Model, opset: int | None = None) -> onnx.ModelProto:
    """The model with `opset` (the newest by default); attributes that version does not know are left out."""
    opset = opset if opset is not None else schemas.newest_opset("")
    # version 5 of ai.onnx.ml calls the older tree operators deprecated, and readers refuse them there
    new_trees = any(node.op_type == "TreeEnsemble" for graph in model.graphs() for node in graph)
    imports = [helper.make_opsetid("", opset)]
    for domain in sorted({node.domain for graph in model.graphs() for node in graph} - {""}):
        version = 3 if domain == "ai.onnx.ml" and not new_trees else model.opset_imports.get(domain, 1)
        imports.append(helper.make_opsetid(domain, version))
    graph = _graph(model.graph, opset, is_main=True)
    made = helper.make_model(graph, opset_imports=imports, ir_version=10 if opset <= 22 else 13)
    return made


def _graph(graph: Graph, opset: int, *, is_main: bool = False) -> onnx.GraphProto:
    outputs = []
    seen: set[str] = set()
    extra: list[onnx.NodeProto] = []
    for name, value in zip(graph.output_names, graph.outputs):
        name = name if is_main else value.name
        if name in seen or name != value.name or value.node is None or value.node.graph is not graph:
            # a graph may give one value twice, or a value from outside; a file may not
            named = is_main and name not in seen and name != value.name
            name = name if named else f"{value.name}__output{id(graph)}_{len(seen)}"
            extra.append(helper.make_node("Identity", [value.name], [name]))
        seen.add(name)
        outputs.append(_info(name, value.type))
    return helper.make_graph(
        [*(_node(node, opset) for node in graph), *extra],
        graph.name or "graph",
        [_info(value.name, value.type) for value in graph.inputs],
        outputs,
        initializer=[_tensor(value.constant, value.name) for value in graph.constants if value.constant is not None],
    )


def _node(node: Node, opset: int) -> onnx.NodeProto:
    schema = None
    if not node.domain:
        version = schemas.resolve("", node.op_type, opset)
        schema = schemas.schema("", node.op_type, version) if version is not None else None
    made = helper.make_node(
        node.op_type,
        ["" if value is None else value.name for value in node.inputs],
        [value.name for value in node.outputs],
        name=node.name,
        domain=node.domain,
        overload=node.overload,
    )
    for name, value in node.attributes.items():
        if schema is not None and name not in schema.attributes:
            continue
        if schema is not None and value == () and schema.attributes[name].kind in ("INTS", "FLOATS", "STRINGS"):
            made.attribute.append(helper.make_attribute(name, [], attr_type=_KINDS[schema.attributes[name].kind]))
            continue
        made.attribute.append(helper.make_attribute(name, _value(value, opset)))
    return made


_KINDS = {
    "INTS": onnx.AttributeProto.INTS,
    "FLOATS": onnx.AttributeProto.FLOATS,
    "STRINGS": onnx.AttributeProto.STRINGS,
}


def _value(value: Any, opset: int) -> Any:
    if isinstance(value, Constant):
        return _tensor(value, "")
    if isinstance(value, Graph):
        return _graph(value, opset)
    if isinstance(value, tuple | Numbers):
        return [_value(each, opset) for each in value]
    if isinstance(value, TensorType | SequenceType | OptionalType | MapType):
        return _type(value)
    return value


def _tensor(constant: Constant, name: str) -> onnx.TensorProto:
    array = constant.array
    if constant.dtype is ElementType.string:
        return helper.make_tensor(name, onnx.TensorProto.STRING, array.shape, [x.encode() for x in array.reshape(-1)])
    return numpy_helper.from_array(np.array(array, order="C", copy=True).reshape(array.shape), name)


def _type(type_: Type | None) -> onnx.TypeProto:
    if isinstance(type_, TensorType):
        shape = None
        if type_.shape is not None:
            shape = [
                size if isinstance(size, int) else (str(size) if size is not None else None) for size in type_.shape
            ]
        return helper.make_tensor_type_proto(type_.dtype.value if type_.dtype else 0, shape)
    if isinstance(type_, SequenceType):
        return helper.make_sequence_type_proto(_type(type_.element))
    if isinstance(type_, OptionalType):
        return helper.make_optional_type_proto(_type(type_.element))
    if isinstance(type_, MapType):
        return helper.make_map_type_proto(type_.key.value, _type(type_.value))
    return onnx.TypeProto()


def _info(name: str, type_: Type | None) -> onnx.ValueInfoProto:
    if type_ is None:
        return onnx.ValueInfoProto(name=name)
    return helper.make_value_info(name, _type(type_))
