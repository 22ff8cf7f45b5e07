"""The laws of a well-formed graph. Passes are held to them in tests: `verify` after each one."""

from __future__ import annotations

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Reference, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.numbers import Numbers
from burn_import.onnx.ir.types import Type

_PLAIN = {int, float, str, bytes}


def verify(model: Model) -> None:
    """Raise `OnnxError` with every law that the model breaks:

    - a value is defined once, before it is used, in the graph that uses it or one around that graph;
    - uses and inputs tell the same story, as do the links between nodes and their graph;
    - names are unique; constants have the type they say; attributes are of the kinds the reader makes.
    """
    faults = list(_graph_faults(model.graph, set(), {}, in_function=False))
    for function in model.functions.values():
        faults += _graph_faults(function.body, set(), {}, in_function=True)
    if faults:
        raise OnnxError("verify", faults)


def _graph_faults(graph: Graph, outside: set[Value], named: dict[str, Value], *, in_function: bool) -> list[str]:
    faults: list[str] = []
    known = set(outside)

    def define(value: Value, kind: str) -> None:
        if value in known:
            faults.append(f"{kind} {value} is defined twice")
        other = named.get(value.name)
        if other is not None and other is not value:
            faults.append(f"two values have the name {value.name!r}")
        named[value.name] = value
        known.add(value)

    for index, value in enumerate(graph.inputs):
        define(value, "input")
        if value.node is not None or value.graph is not graph or value.index != index:
            faults.append(f"input {value} does not know its place in {graph}")
    for value in graph.constants:
        define(value, "constant")
        if value.constant is None or value.graph is not graph or value.node is not None:
            faults.append(f"constant {value} does not know its place in {graph}")
        elif value.type != value.constant.type:
            faults.append(f"constant {value} says it is {value.type} and holds {value.constant.type}")
    count = 0
    for node in graph:
        count += 1
        faults += _node_faults(node, graph, known, in_function)
        for body in node.subgraphs.values():
            faults += _graph_faults(body, known, named, in_function=in_function)
        for index, value in enumerate(node.outputs):
            define(value, "output")
            if value.node is not node or value.index != index:
                faults.append(f"output {value} does not know that {node} makes it")
            _check_uses(value, faults)
    if count != len(graph):
        faults.append(f"{graph} counts {len(graph)} nodes and links {count}")
    for value in (*graph.inputs, *graph.constants):
        _check_uses(value, faults)
    for index, value in enumerate(graph.outputs):
        if value not in known:
            faults.append(f"{graph} gives {value}, which is not defined in it")
        if (graph, index) not in value.uses:
            faults.append(f"{value} does not know that {graph} gives it")
    return faults


def _node_faults(node: Node, graph: Graph, known: set[Value], in_function: bool) -> list[str]:
    faults: list[str] = []
    if node.graph is not graph:
        faults.append(f"{node} does not know its graph")
    if not node.op_type:
        faults.append(f"{node} has no operator")
    for index, value in enumerate(node.inputs):
        if value is None:
            continue
        if value not in known:
            faults.append(f"{node} uses {value} before it is defined")
        if (node, index) not in value.uses:
            faults.append(f"{value} does not know that {node} uses it")
    for name, attribute in node.attributes.items():
        if not _is_attribute(attribute, in_function):
            faults.append(f"attribute {name!r} of {node} is a {type(attribute).__name__}")
    return faults


def _check_uses(value: Value, faults: list[str]) -> None:
    for user, index in value.uses:
        if isinstance(user, Node):
            if user.input(index) is not value:
                faults.append(f"{value} says that {user} uses it as input {index}")
            elif user.graph is None:
                faults.append(f"{value} is used by {user}, which is in no graph")
        elif index >= len(user.outputs) or user.outputs[index] is not value:
            faults.append(f"{value} says that {user} gives it as output {index}")


def _is_attribute(value: Attribute, in_function: bool) -> bool:
    if isinstance(value, tuple):
        kinds = set(map(type, value))
        return len(kinds) <= 1 and (kinds <= _PLAIN or all(_is_attribute(each, in_function) for each in value))
    if isinstance(value, Reference):
        return in_function
    return type(value) in _PLAIN or isinstance(value, Constant | Graph | Numbers | Type)
