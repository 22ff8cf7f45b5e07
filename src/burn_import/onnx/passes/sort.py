"""Order the nodes of every graph so that each comes after those it uses."""

from __future__ import annotations

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.sorting import sort
from burn_import.onnx.passes.driver import Pass


class Sort(Pass):
    """Topological order, in graphs and bodies. A cycle is an error that names its nodes."""

    name = "sort"
    ensures = frozenset({"sorted"})

    def run(self, model: Model) -> bool:
        changed = False
        for graph in model.graphs():
            moved, cycle = sort(graph)
            if cycle is not None:
                raise OnnxError("sort", [f"nodes form a cycle: {' -> '.join(repr(node) for node in cycle)}"])
            changed = changed or moved
        return changed
