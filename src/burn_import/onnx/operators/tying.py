"""Weights that stand in several places: whether a layer of its own may hold one.

A layer that is applied twice is one field, because both nodes use the same weights in the same way. A weight that is
used in two ways (the rows of an embedding that are also the columns of the head) must stay one parameter, or training
would pull the two apart. Its users then write it as a `Param` and call the function.
"""

from __future__ import annotations

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.operators.operation import Operation


def is_tied(op: Operation, index: int) -> bool:
    """Whether the weight at `index` is used in another way somewhere else."""
    node, value = op.node, op.value(index)
    return any(
        user is not node and not (isinstance(user, Node) and place == index and _alike(user, node))
        for user, place in value.uses
    )


def _alike(one: Node, other: Node) -> bool:
    """Whether two nodes are one layer, applied twice: the same but for their first input."""
    if (one.domain, one.op_type, one.attributes) != (other.domain, other.op_type, other.attributes):
        return False
    return one.inputs[1:] == other.inputs[1:] and bias_after(one) is bias_after(other)


def bias_after(node: Node) -> Value | None:
    """The constant that the next node adds to a matrix product, as a linear layer does."""
    uses = node.outputs[0].uses
    user = uses[0][0] if len(uses) == 1 else None
    if node.op_type != "MatMul" or not isinstance(user, Node) or user.op_type != "Add" or user.domain:
        return None
    other = user.inputs[0] if user.inputs[1] is node.outputs[0] else user.inputs[1]
    return None if other is None or other.constant is None else other


__all__ = ["bias_after", "is_tied"]
