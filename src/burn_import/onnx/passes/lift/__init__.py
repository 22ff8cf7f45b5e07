"""Opset lifting: any version of any operator becomes the newest form of it, node by node.

Lifting walks the graph together with inference, because an adapter may need the rank or the element type of what a
node is given: old broadcasting, old softmax. After it every node has the newest version, every attribute with
a default is written out, and nodes that hold constants are constants of their graph.
"""

from __future__ import annotations

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.infer.engine import Engine
from burn_import.onnx.passes.lift import arithmetic, layers, legacy, movement
from burn_import.onnx.passes.lift.compatible import COMPATIBLE
from burn_import.onnx.passes.lift.registry import ADAPTERS, CANONICAL, Adapter, Edit

__all__ = ["COMPATIBLE", "Lift", "Lifter", "arithmetic", "layers", "legacy", "movement"]


class Lifter:
    """Lifts one node at a time; remembers which nodes are done."""

    def __init__(self, notes: list[str]) -> None:
        self.faults: list[str] = []
        self.notes = notes
        self._done: set[Node] = set()

    def __call__(self, node: Node) -> bool:
        """Bring `node` to the newest form; whether there was anything to do."""
        if node in self._done:
            return False
        self._done.add(node)
        edit = Edit(node, self.faults, self.notes)
        while True:
            name = node.op_type
            following = next((each for each in ADAPTERS.get((node.domain, name), ()) if each[0] > node.version), None)
            if following is None:
                break
            version, adapter = following
            count = len(self.faults)
            self._try(adapter, node, edit)
            if node.graph is None or len(self.faults) > count:
                return True
            # a renamed operator starts at the version that its new name first had
            node.version = version if node.op_type == name else max(version, schemas.versions("", node.op_type)[0])
        finish = CANONICAL.get((node.domain, node.op_type))
        if finish is not None:
            count = len(self.faults)
            self._try(finish, node, edit)
            if node.graph is None or len(self.faults) > count:
                return True
        layers.newest_form(node)
        return True

    def _try(self, adapter: Adapter, node: Node, edit: Edit) -> None:
        try:
            adapter(node, edit)
        except Exception as error:
            edit.fault(f"its inputs or attributes do not fit the operator ({type(error).__name__}: {error})")


class Lift(Pass):
    """Every node in the newest form of its operator, and typed."""

    name = "lift"
    requires = frozenset({"sorted", "inlined"})
    ensures = frozenset({"lifted", "typed"})

    def run(self, model: Model) -> bool:
        lifter = Lifter(model.notes)
        Engine(model, lifter).run()
        if lifter.faults:
            raise OnnxError("lift", lifter.faults)
        for domain in model.opset_imports:
            model.opset_imports[domain] = schemas.newest_opset(domain) or model.opset_imports[domain]
        return True
