"""Remove nodes, constants and captured values that nothing uses."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Graph
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass


class Dead(Pass):
    """Every node has a use, and so has every constant."""

    name = "dead"

    def run(self, model: Model) -> bool:
        changed = [_sweep(graph) for graph in list(model.graphs())]
        return any(changed)


def _sweep(graph: Graph) -> bool:
    changed = False
    for node in reversed(graph):
        if not any(value.is_used for value in node.outputs):
            node.remove()
            changed = True
    for value in [value for value in graph.constants if not value.is_used]:
        if value in graph.overridable:
            continue
        graph.remove_constant(value)
        changed = True
    return changed
