"""Nodes that do nothing: identities, casts to the type there is, neutral elements, operators applied twice.

Each rule looks at one node and answers with the value that may take its place, or None. The replacement must have
the same type: an addition of a zero that also broadcasts is no identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType, TensorType
from burn_import.onnx.passes.driver import Pass

Rule: TypeAlias = Callable[[Node], Value | None]
RULES: dict[str, list[Rule]] = {}


class Simplify(Pass):
    """No node is left that a rule can replace by a value that exists."""

    name = "simplify"
    requires = frozenset({"sorted", "lifted", "typed"})

    def run(self, model: Model) -> bool:
        changed = False
        for graph in list(model.graphs()):
            for node in graph:
                if node.domain or node.op_type not in RULES:
                    continue
                changed = _cast_to_known(node) or changed
                for each in RULES.get(node.op_type, ()):
                    value = each(node)
                    if value is None or any(output.is_used for output in node.outputs[1:]):
                        continue
                    _keep_name(node.output, value)
                    node.output.replace_by(value)
                    node.remove()
                    changed = True
                    break
        return changed


def _keep_name(old: Value, new: Value) -> None:
    """A result of the model keeps its name when the value that takes its place has none that people know."""
    owner = old.owner
    if old.is_output and new.node is not None and not new.is_output and owner is new.owner:
        old.name, new.name = new.name, old.name


def simplifies(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for some operators."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES.setdefault(name, []).append(rule)
        return rule

    return register


def same_type(value: Value | None, output: Value) -> Value | None:
    """`value`, if it surely has the type of `output`."""
    if value is None or not isinstance(value.type, TensorType) or not isinstance(output.type, TensorType):
        return None
    if value.type.dtype is None or value.type.shape is None or value.type != output.type:
        return None
    return value


def _cast_to_known(node: Node) -> bool:
    """A cast to the type of another value becomes a cast to the type it is known to have."""
    if node.op_type != "CastLike":
        return False
    like = node.input(1)
    dtype = like.tensor.dtype if like is not None else None
    if dtype is None:
        return False
    node.op_type, node.version = "Cast", schemas.newest("", "Cast") or node.version
    node.attributes["to"] = dtype.value
    node.set_inputs([node.input(0)])
    return True


@simplifies("Identity")
def identity(node: Node) -> Value | None:
    return node.input(0)


@simplifies("Dropout")
def inference_dropout(node: Node) -> Value | None:
    """Without a training mode, or with a false one, dropout passes its input on. Training models keep it."""
    mode = node.input(2)
    if mode is not None and (mode.constant is None or bool(mode.constant.array.any())):
        return None
    return None if mode is None and _ratio(node) else node.input(0)


def _ratio(node: Node) -> bool:
    """Kept when it has a ratio: whoever trains the imported model wants it back."""
    ratio = node.input(1)
    return ratio is None or ratio.constant is None or bool(ratio.constant.array.any())


@simplifies("Cast", "CastLike")
def cast_to_itself(node: Node) -> Value | None:
    return same_type(node.input(0), node.output)


@simplifies("Reshape", "Flatten", "Expand", "Squeeze", "Unsqueeze")
def same_shape(node: Node) -> Value | None:
    """A change of shape that changes nothing, by names of sizes or by numbers."""
    return same_type(node.input(0), node.output)


@simplifies("Transpose")
def same_order(node: Node) -> Value | None:
    order = node.attributes.get("perm")
    return node.input(0) if order is not None and order == tuple(range(len(order))) else None


@simplifies("Concat", "Sum", "Max", "Min", "Mean")
def single(node: Node) -> Value | None:
    return node.input(0) if len(node.inputs) == 1 else None


@simplifies("Slice")
def whole_slice(node: Node) -> Value | None:
    steps = node.input(4)
    if steps is not None and (steps.constant is None or (steps.constant.array != 1).any()):
        return None
    starts = node.input(1)
    if starts is None or starts.constant is None or (starts.constant.array != 0).any():
        return None
    return same_type(node.input(0), node.output)


@simplifies("Tile")
def one_copy(node: Node) -> Value | None:
    counts = node.input(1)
    return node.input(0) if counts is not None and _is_all(counts, 1) else None


@simplifies("Pad")
def no_padding(node: Node) -> Value | None:
    pads = node.input(1)
    return node.input(0) if pads is not None and _is_all(pads, 0) else None


@simplifies("Add", "Sub", "Mul", "Div", "Pow")
def neutral_element(node: Node) -> Value | None:
    """x + 0, x - 0, x * 1, x / 1, x ** 1, and the same from the left where the order does not matter."""
    neutral = 0 if node.op_type in ("Add", "Sub") else 1
    left, right = node.input(0), node.input(1)
    if _is_learnt(left) or _is_learnt(right):
        return None
    if right is not None and _is_all(right, neutral):
        return same_type(left, node.output)
    if node.op_type in ("Add", "Mul") and left is not None and _is_all(left, neutral):
        return same_type(right, node.output)
    return None


@simplifies("And", "Or")
def neutral_truth(node: Node) -> Value | None:
    neutral = node.op_type == "And"
    for one, other in ((0, 1), (1, 0)):
        value = node.input(one)
        if value is not None and _is_all(value, neutral):
            return same_type(node.input(other), node.output)
    return None


@simplifies("Relu", "Abs", "Ceil", "Floor", "Round", "Sign", "Identity")
def applied_twice(node: Node) -> Value | None:
    """f(f(x)) is f(x)."""
    value = node.input(0)
    inner = value.node if value is not None else None
    return value if inner is not None and not inner.domain and inner.op_type == node.op_type else None


@simplifies("Neg", "Not", "BitwiseNot")
def undone(node: Node) -> Value | None:
    """f(f(x)) is x, where no bit is lost."""
    value = node.input(0)
    inner = value.node if value is not None else None
    if inner is None or inner.domain or inner.op_type != node.op_type:
        return None
    return inner.input(0)


@simplifies("Transpose")
def transposed_back(node: Node) -> Value | None:
    value = node.input(0)
    inner = value.node if value is not None else None
    if inner is None or inner.op_type != "Transpose" or inner.domain:
        return None
    first, second = inner.attributes.get("perm"), node.attributes.get("perm")
    if first is None or second is None or any(first[axis] != place for place, axis in enumerate(second)):
        return None
    return inner.input(0)


@simplifies("Where")
def decided(node: Node) -> Value | None:
    condition = node.input(0)
    if condition is None or condition.constant is None or not condition.constant.size:
        return None
    chosen = condition.constant.array
    if chosen.all():
        return same_type(node.input(1), node.output)
    return same_type(node.input(2), node.output) if not chosen.any() else None


def _is_learnt(value: Value | None) -> bool:
    """Whether a constant may be a weight: a bias of zeros is where training begins."""
    return (
        value is not None and value.constant is not None and value.constant.dtype.is_float and value.constant.size > 1
    )


def _is_all(value: Value, number: float | bool) -> bool:
    """Whether every element of a small constant is `number`; a zero with a sign is none."""
    constant = value.constant
    if constant is None or not constant.size or constant.dtype is ElementType.string or constant.size > 1 << 16:
        return False
    array = constant.array
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float32)
    return bool((array == number).all())
