"""LSTM and GRU nodes whose weights are constants, as modules; the machinery behind the rows of `recurrence`.

A module has one linear map for each gate and each side, so the stacked matrices of the standard are cut into those.
The standard puts time first and gives each direction a dim of its own; exporters turn that back, and where they do,
both turns disappear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.classes import dataclass
from burn_import.onnx.code.expression import Expression
from burn_import.onnx.code.fields import Array, Source, Weight
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.passes.infer.context import content_of

GATES = {
    "LSTM": ("input_gate", "output_gate", "forget_gate", "cell_gate"),
    "GRU": ("update_gate", "reset_gate", "new_gate"),
}


@dataclass(slots=True)
class Layer:
    """A recurrent layer: the field, what it is called with, and how its results are laid out."""

    field: Expression
    x: Expression
    batch_first: bool
    both: bool  # directions
    size: int


def layer_of(op: Operation) -> Layer | None:
    """The module that a node is; None when it does something that no module does."""
    kind = op.node.op_type
    weight, recurrence, bias = (op.node.input(index) for index in (1, 2, 3))
    if op.node.domain or weight is None or weight.constant is None or recurrence is None:
        return None
    if recurrence.constant is None or weight.constant.dtype is not op.dtype() or not weight.constant.dtype.is_float:
        return None
    if (bias is not None and bias.constant is None) or op.has(4) or (kind == "LSTM" and op.has(7)):
        return None
    if op.attribute("clip") or op.attribute("layout", 0) or op.flag("input_forget") or not _is_usual(op):
        return None
    direction = op.attribute("direction", "forward")
    if direction == "reverse" or (kind == "GRU" and not op.flag("linear_before_reset") and bias is None):
        return None
    both = direction == "bidirectional"
    _, rows, d_input = weight.constant.shape
    size = rows // len(GATES[kind])
    source, turned = _batch_first(op.node)
    weights: dict[str, Source] = {}
    for number, prefix in enumerate(("forward.", "reverse.") if both else ("",)):
        for place, gate in enumerate(GATES[kind]):
            for side, of, at in (("input", weight, 0), ("hidden", recurrence, 1)):
                path = f"{prefix}{gate}.{side}_transform"
                weights[f"{path}.weight"] = Weight(of, _matrix(number, place * size, size))
                if bias is not None:
                    start = (at * len(GATES[kind]) + place) * size
                    weights[f"{path}.bias"] = Weight(bias, _vector(number, start, size))
    keywords: dict[str, Any] = {}
    batch_first = kind == "GRU" or turned
    if kind == "LSTM" and not batch_first:
        keywords["batch_first"] = False
    if kind == "GRU" and not op.flag("linear_before_reset"):
        keywords["reset_after"] = False
    name = {"LSTM": "Lstm", "GRU": "Gru"}[kind]
    field = op.layer(f"Bi{name}" if both else name, d_input, size, bias is not None, weights=weights, **keywords)
    x = op.writer.tensor(source)
    if batch_first and not turned:
        x = x.method("swap_dims", 0, 1)
    return Layer(field, x, batch_first, both, size)


def _matrix(number: int, start: int, size: int) -> Callable[[Array], Array]:
    return lambda array: array[number, start : start + size].T


def _vector(number: int, start: int, size: int) -> Callable[[Array], Array]:
    return lambda array: array[number, start : start + size]


def _is_usual(op: Operation) -> bool:
    """Whether the activations are those that everybody uses."""
    usual = ("Sigmoid", "Tanh") if op.node.op_type == "GRU" else ("Sigmoid", "Tanh", "Tanh")
    given = tuple(op.attribute("activations") or ())
    return (
        given in ((), usual, usual * 2) and not op.attribute("activation_alpha") and not op.attribute("activation_beta")
    )


def _batch_first(node: Node) -> tuple[Value, bool]:
    """The sequence before it was turned to have time first, and whether it was."""
    value = node.inputs[0]
    assert value is not None
    before = value.node
    turned = before is not None and not before.domain and before.op_type == "Transpose" and len(value.uses) == 1
    if turned and before is not None and before.attributes.get("perm") == (1, 0, 2):
        source = before.input(0)
        if source is not None:
            return source, True
    return value, False


def laid_out(op: Operation, layer: Layer, result: Expression) -> Expression:
    """All hidden states as the standard lays them out, or as the nodes behind lay them out again."""
    node = op.node
    if not layer.both:
        squeezed = _next(op, node, "Squeeze")
        if squeezed is not None and _axes(squeezed) == [1]:
            return _turned_back(op, layer, result, squeezed)
    else:
        turned = _next(op, node, "Transpose")
        joined = None if turned is None else _next(op, turned, "Reshape")
        shape = None if joined is None else joined.output.tensor.shape
        swapped = turned is not None and turned.attributes.get("perm") == (0, 2, 1, 3)
        sides = shape is not None and len(shape) == 3 and shape[2] == 2 * layer.size
        if swapped and sides and turned is not None and joined is not None:
            op.writer.done.add(turned)
            return _turned_back(op, layer, result, joined)
    if layer.batch_first:
        result = result.method("swap_dims", 0, 1)
    if not layer.both:
        return result.method("unsqueeze_dim", 1)
    return result.method("reshape", [0, 0, 2, layer.size]).method("swap_dims", 1, 2)


def absorbed(op: Operation, layer: Layer, result: Expression) -> bool:
    """Whether the node behind only takes away the dim of a single direction, which is bound to `result` then."""
    squeezed = None if layer.both or layer.batch_first else _next(op, op.node, "Squeeze")
    if squeezed is None or _axes(squeezed) != [1]:
        return False
    op.writer.bind(squeezed.output, result)
    op.writer.done.add(squeezed)
    return True


def _turned_back(op: Operation, layer: Layer, result: Expression, last: Node) -> Expression:
    """The result in place of `last`, and of the turn behind it where there is one."""
    op.absorb(last)
    if not layer.batch_first:
        return result
    turn = _next(op, last, "Transpose")
    if turn is not None and turn.attributes.get("perm") == (1, 0, 2):
        op.writer.done.add(last)
        op.absorb(turn)
        return result
    return result.method("swap_dims", 0, 1)


def _next(op: Operation, node: Node, name: str) -> Node | None:
    """The only node that uses the first output, when it is a `name` in the same function."""
    uses = node.output.uses
    user = uses[0][0] if len(uses) == 1 else None
    if not isinstance(user, Node) or user.domain or user.op_type != name or user.graph is not node.graph:
        return None
    return user if op.writer.holds(user) else None


def _axes(node: Node) -> list[int] | None:
    value = node.input(1)
    content = None if value is None else content_of(value)
    return None if content is None else list(content.reshape(-1).tolist())
