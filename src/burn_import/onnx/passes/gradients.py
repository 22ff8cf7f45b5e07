"""Give each Gradient node the part of the graph that it differentiates, as a body.

In a file the node only names the value `y`, and the values `xs` and `zs` it is a function of. What lies between is
copied into a body whose inputs are those of the node, so that it can be written as a function; values that do not
depend on them are captured.
"""

from __future__ import annotations

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.copying import copy_node
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass

DOMAIN = "ai.onnx.preview.training"


class Gradients(Pass):
    """Gradient nodes became GradientOf nodes with a `body`."""

    name = "gradients"
    requires = frozenset({"sorted"})

    def run(self, model: Model) -> bool:
        changed, faults = False, []
        for graph in list(model.graphs()):
            for node in graph.nodes:
                if (node.domain, node.op_type) == (DOMAIN, "Gradient"):
                    faults += _enclose(graph, node)
                    changed = True
        if faults:
            raise OnnxError("gradients", faults)
        return changed


def _enclose(graph: Graph, node: Node) -> list[str]:
    named = {value.name: value for each in graph for value in each.outputs}
    named |= {value.name: value for value in (*graph.inputs, *graph.constants)}
    chosen = [_text(name) for name in (*node.attribute("xs", ()), *(node.attribute("zs") or ()))]
    y = _text(node.attribute("y", ""))
    unknown = [name for name in (*chosen, y) if name not in named]
    if unknown or len(chosen) != len(node.inputs):
        reason = f"there is no value {', '.join(map(repr, unknown))}" if unknown else f"it names {len(chosen)} inputs"
        return [f"{node!r}: {reason}"]
    body = Graph("gradient", graph.names)
    values: dict[Value, Value | None] = {}
    for name in chosen:
        values[named[name]] = body.add_input(graph.names.fresh(name), named[name].type)
    depend = set(values)
    for each in graph:
        if any(value in depend for value in (*each.inputs, *each.captures()) if value is not None):
            depend.update(value for value in each.outputs if value not in values)
    for each in _between(graph, named[y], depend - set(values)):
        copy_node(each, body, values)
    result = values.get(named[y], named[y])
    assert result is not None
    body.add_output(result, None, y)
    node.op_type = "GradientOf"  # a form of ours, which no version of the standard knows
    node.attributes.clear()
    node.attributes["body"] = body
    return []


def _between(graph: Graph, y: Value, inside: set[Value]) -> list[Node]:
    """The nodes that compute `y` from the chosen values, in order."""
    needed = {y}
    found: list[Node] = []
    for node in reversed(graph):
        if any(value in needed and value in inside for value in node.outputs):
            found.append(node)
            needed.update(value for value in (*node.inputs, *node.captures()) if value is not None)
    return found[::-1]


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
