"""The operators of a model, and those that have no row: found before anything is written or run."""

from __future__ import annotations

from collections import Counter

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.model import Model
from burn_import.onnx.operators import rows


def check_operators(model: Model) -> None:
    """Every operator that has no row, with its nodes, as one error."""
    missing: dict[str, list[Node]] = {}
    for node in model.graph.walk():
        if (node.domain, node.op_type) not in rows():
            missing.setdefault(node.operator, []).append(node)
    if missing:
        faults = []
        for name, nodes in sorted(missing.items(), key=lambda each: (-len(each[1]), each[0])):
            shown = ", ".join(repr(node.name or node.outputs[0].name) for node in nodes[:3])
            more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
            faults.append(
                f"operator {name} is not supported: {len(nodes)} node{'s' * (len(nodes) > 1)} ({shown}{more})"
            )
        raise OnnxError("import", faults)


def operators_of(model: Model) -> Counter[str]:
    """How often each operator occurs."""
    return Counter(node.operator for node in model.graph.walk())


__all__ = ["check_operators", "operators_of"]
