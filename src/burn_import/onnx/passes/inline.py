"""Put the bodies of a model's own functions where they are called.

Inside a body, references to attributes become the attributes of the call, or the function's defaults, or disappear
when neither has them. Functions may call functions; one that calls itself is an error, and so is a model that would
grow beyond `LIMIT` nodes, which a few nested functions can do.
"""

from __future__ import annotations

from collections.abc import Mapping

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.copying import copy_nodes
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Reference, Value
from burn_import.onnx.ir.model import Function, FunctionKey, Model
from burn_import.onnx.passes.driver import Pass

LIMIT = 1_000_000


class Inline(Pass):
    """No calls of model-local functions are left, and `model.functions` is empty."""

    name = "inline"
    requires = frozenset({"sorted"})
    ensures = frozenset({"inlined"})
    breaks = frozenset({"lifted", "typed"})

    def run(self, model: Model) -> bool:
        if not model.functions:
            return False
        _check_calls(model)
        for graph in list(model.graph.graphs()):
            _inline_graph(graph, model)
        model.functions.clear()
        return True


def _find(model: Model, node: Node) -> Function | None:
    key: FunctionKey = (node.domain, node.op_type, node.overload)
    return model.functions.get(key)


def _check_calls(model: Model) -> None:
    """Refuse functions that call themselves, and models that would become too large, before anything is copied."""
    sizes: dict[FunctionKey, int] = {}

    def size_of(graph: Graph, path: tuple[FunctionKey, ...]) -> int:
        total = 0
        for node in graph.walk():
            called = _find(model, node)
            total += 1 if called is None else visit(called.key, path)
        return total

    def visit(key: FunctionKey, path: tuple[FunctionKey, ...]) -> int:
        if key in path:
            names = " -> ".join(f"{domain}.{name}" for domain, name, _ in (*path[path.index(key) :], key))
            raise OnnxError("inline", [f"functions call themselves: {names}"])
        if key not in sizes:
            sizes[key] = size_of(model.functions[key].body, (*path, key))
        return sizes[key]

    for key in model.functions:
        visit(key, ())
    total = size_of(model.graph, ())
    if total > LIMIT:
        raise OnnxError("inline", [f"functions inside functions give {total:,} nodes; {LIMIT:,} is the most"])


def _inline_graph(graph: Graph, model: Model) -> None:
    node = graph.first
    while node is not None:
        function = _find(model, node)
        if function is None:
            node = node.next
            continue
        previous = node.previous
        _inline_call(graph, node, function, model)
        # what came in is walked again: it may call other functions
        node = graph.first if previous is None else previous.next


def _inline_call(graph: Graph, node: Node, function: Function, model: Model) -> None:
    missing = [name for name in function.required if name not in node.attributes]
    if missing:
        raise OnnxError("inline", [f"{node!r} lacks the attributes {missing} of function {function.name!r}"])
    attributes: Mapping[str, Attribute] = {**function.defaults, **node.attributes}
    values: dict[Value, Value | None] = {inner: node.input(index) for index, inner in enumerate(function.body.inputs)}

    def bind(attribute: Attribute) -> Attribute:
        return attributes.get(attribute.name) if isinstance(attribute, Reference) else attribute

    before = node.previous
    copy_nodes(function.body, graph, values, before=node, bind=bind)
    first = graph.first if before is None else before.next
    while first is not None and first is not node:
        for body in list(first.subgraphs.values()):
            for inside in list(body.graphs()):
                _inline_graph(inside, model)
        first = first.next
    for outer, inner in zip(node.outputs, function.body.outputs):
        made = values.get(inner)
        if made is None:
            if outer.is_used:
                raise OnnxError("inline", [f"{node!r} uses an output of {function.name!r} that an absent input gives"])
            continue
        outer.replace_by(made)
    node.remove()
