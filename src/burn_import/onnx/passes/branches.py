"""An If whose condition is known becomes the branch that is taken."""

from __future__ import annotations

from burn_import.onnx.ir.copying import copy_nodes
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.infer.context import content_of


class Branches(Pass):
    """No If is left that always takes the same branch."""

    name = "branches"
    requires = frozenset({"sorted", "lifted", "typed"})

    def run(self, model: Model) -> bool:
        changed = False
        for graph in list(model.graphs()):
            for node in graph:
                if node.op_type == "If" and not node.domain and _decide(graph, node):
                    changed = True
        return changed


def _decide(graph: Graph, node: Node) -> bool:
    condition = node.input(0)
    known = content_of(condition) if condition is not None else None
    if known is None or known.size != 1 or not isinstance(known.reshape(-1)[0], bool):
        return False
    body = node.attributes["then_branch" if known.reshape(-1)[0] else "else_branch"]
    values: dict[Value, Value | None] = {}
    copy_nodes(body, graph, values, before=node)
    results: list[Value] = []
    for value in body.outputs:
        made = values.get(value, value)
        assert made is not None
        results.append(made)
    node.replace_by(*results)
    return True
