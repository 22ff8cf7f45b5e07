"""Common subexpressions: nodes that do the same to the same values become one, equal numbers and index lists too."""

from __future__ import annotations

from collections.abc import Hashable

from burn_import.onnx.ir.constant import KEPT, Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.driver import Pass

RANDOM = frozenset({"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli",
                    "Multinomial", "Dropout"})  # fmt: skip


class Common(Pass):
    """No two nodes of one graph compute the same; a body may use what a graph around it has computed."""

    name = "common"
    requires = frozenset({"sorted"})

    def run(self, model: Model) -> bool:
        return _merge(model.graph, {}, {})


def _merge(graph: Graph, seen: dict[Hashable, Node], constants: dict[Hashable, Value]) -> bool:
    changed = False
    seen, constants = dict(seen), dict(constants)
    for value in list(graph.constants):
        assert value.constant is not None
        if value in graph.overridable or _may_be_trained(value.constant):
            continue
        key = _constant_key(value.constant)
        if key is None:
            continue
        other = constants.setdefault(key, value)
        if other is not value and value.is_used:
            value.replace_by(other)
            changed = True
    for node in graph:
        for body in node.subgraphs.values():
            changed = _merge(body, seen, constants) or changed
        if node.subgraphs or node.op_type in RANDOM:
            continue
        key = _node_key(node)
        if key is None:
            continue
        same = seen.setdefault(key, node)
        if same is node:
            continue
        if len(same.outputs) < len(node.outputs) or _gives_two_outputs(node, same):
            continue
        for old, new in zip(node.outputs, same.outputs):
            old.replace_by(new)
        node.remove()
        changed = True
    return changed


def _may_be_trained(constant: Constant) -> bool:
    """Two layers may begin with equal weights and are still two: what is not a single number or an integer stays."""
    return bool(constant.shape) and not constant.dtype.is_int and constant.dtype is not ElementType.bool_


def _gives_two_outputs(node: Node, same: Node) -> bool:
    """Whether a merge would let a graph give one value twice under two names, which the caller may tell apart."""
    return any(old.is_output and new.is_output for old, new in zip(node.outputs, same.outputs))


def _node_key(node: Node) -> Hashable | None:
    attributes = []
    for name, value in sorted(node.attributes.items()):
        key = _attribute_key(value)
        if key is None:
            return None
        attributes.append((name, key))
    inputs = tuple(None if value is None else id(value) for value in node.inputs)
    return node.domain, node.op_type, node.version, node.overload, inputs, tuple(attributes)


def _attribute_key(value: Attribute) -> Hashable | None:
    if isinstance(value, Constant):
        return _constant_key(value)
    if isinstance(value, float):
        return "float", value.hex()  # -0.0 is not 0.0, and NaN is NaN
    if isinstance(value, int | str | bytes):
        return type(value).__name__, value
    if isinstance(value, tuple) and len(value) < 1024:
        keys = tuple(_attribute_key(each) for each in value)
        return None if None in keys else ("tuple", keys)
    return None


def _constant_key(constant: Constant) -> Hashable | None:
    if constant.nbytes > KEPT:
        return None
    array = constant.array
    data: Hashable = tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()
    return constant.dtype, constant.shape, data
