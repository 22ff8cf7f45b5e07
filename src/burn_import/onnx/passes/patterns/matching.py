"""What patterns are made of: a pass that looks at one kind of node, and questions about the nodes before it.

A pattern recognises what an exporter took apart and puts one operator of the standard in its place. It only does so
where the result is the same up to rounding for every input, and where nobody else uses the steps in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType, TensorType
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.infer.context import content_of

Operand: TypeAlias = Value | Constant | None
_PRECISION = {ElementType.f16: 2e-3, ElementType.bf16: 1e-2, ElementType.f64: 1e-6}


class Found(NamedTuple):
    """The operator that takes the place of a node; `last` is that node where it is not the one looked at."""

    op_type: str
    inputs: Sequence[Operand]
    attributes: Mapping[str, Any] = {}
    last: Node | None = None


class Pattern(Pass):
    """Looks at each node whose operator is one of `roots`, and replaces it by what `match` finds."""

    requires = frozenset({"sorted", "lifted", "typed"})
    roots: tuple[str, ...] = ()

    def run(self, model: Model) -> bool:
        changed = False
        for graph in list(model.graphs()):
            for node in graph:
                if node.op_type not in self.roots or node.domain:
                    continue
                found = self.match(node)
                if found is not None:
                    _replace(graph, found.last or node, found)
                    changed = True
        return changed

    def match(self, node: Node) -> Found | None:
        """What the nodes that end in `node` are together; None when they are nothing more."""
        raise NotImplementedError


def _replace(graph: Graph, old: Node, found: Found) -> None:
    made = insert(graph, old, found.op_type, found.inputs, found.attributes)
    value, result = old.output, made.output
    result.type, result.content = value.type, value.content
    value.name, result.name = result.name, value.name
    value.replace_by(result)
    old.remove()


def insert(
    graph: Graph, before: Node, op_type: str, inputs: Sequence[Operand], attributes: Mapping[str, Any] | None = None
) -> Node:
    """A new node in front of another one, traced where that was."""
    values = [
        graph.add_constant(each, f"{before.output.name}.constant") if isinstance(each, Constant) else each
        for each in inputs
    ]
    version = schemas.newest("", op_type)
    assert version is not None, op_type
    name = graph.names.fresh(before.output.name)
    made = Node(op_type, values, [name], attributes, version=version, name=before.name)
    made.scope, made.kinds = before.scope, before.kinds
    return graph.insert(made, before=before)


# -- questions


def made_by(value: Value | None, *names: str) -> Node | None:
    """The node that a value comes from, when it is one of these operators of the standard."""
    node = None if value is None else value.node
    return node if node is not None and not node.domain and node.op_type in names and value is node.output else None


def step(value: Value | None, *names: str) -> Node | None:
    """The same, when only one node uses the value."""
    return made_by(value, *names) if is_step(value) else None


def is_step(value: Value | None, uses: int = 1) -> bool:
    """Whether a value is used so often, and is no result of a graph."""
    return value is not None and len(value.uses) == uses and not value.is_output


def follower(node: Node, *names: str) -> Node | None:
    """The only node that uses the result of `node`, when it is one of these operators in the same graph."""
    if not is_step(node.output) or any(value.is_used for value in node.outputs[1:]):
        return None
    user = node.output.uses[0][0]
    if not isinstance(user, Node) or user.domain or user.op_type not in names or user.graph is not node.graph:
        return None
    return user


def other(node: Node, value: Value) -> Value | None:
    """The operand of a binary node beside `value`."""
    return node.input(1) if node.input(0) is value else node.input(0)


def orders(node: Node) -> Iterator[tuple[Value, Value]]:
    """The two operands of a node, either way round."""
    left, right = node.input(0), node.input(1)
    if left is not None and right is not None:
        yield left, right
        yield right, left


def number(value: Value | None) -> float | None:
    """The number that a constant of one element is."""
    constant = None if value is None else value.constant
    if constant is None or constant.size != 1 or not (constant.dtype.is_float or constant.dtype.is_int):
        return None
    return float(constant.array.reshape(-1)[0])


def is_number(value: Value | None, wanted: float) -> bool:
    """Whether a value is a constant that is `wanted`, as precisely as its element type can tell."""
    found = number(value)
    if found is None or value is None:
        return False
    return is_close(found, wanted, value.tensor.dtype)


def is_close(found: float, wanted: float, dtype: ElementType | None = None) -> bool:
    precision = 2e-6 if dtype is None else _PRECISION.get(dtype, 2e-6)
    return abs(found - wanted) <= precision * max(abs(wanted), 1e-30)


def axes_of(node: Node) -> tuple[int, ...] | None:
    """The axes of a reduction that keeps its dims, counted from 0; None when they are not known."""
    source, axes = node.input(0), node.input(1)
    rank = None if source is None else source.tensor.rank
    content = None if axes is None else content_of(axes)
    if rank is None or content is None or not int(node.attributes.get("keepdims", 1)):
        return None
    found = content.reshape(-1).tolist()
    if not found or not all(isinstance(axis, int) for axis in found):
        return None
    return tuple(sorted(axis + rank if axis < 0 else axis for axis in found))


def is_last_axis(node: Node) -> bool:
    """Whether a reduction is along the last axis, and keeps it."""
    source = node.input(0)
    return source is not None and source.tensor.rank is not None and axes_of(node) == (source.tensor.rank - 1,)


def same_shape(one: Value, two: Value) -> bool:
    """Whether two values surely have the same shape and element type."""
    known = isinstance(one.type, TensorType) and one.type.shape is not None and None not in one.type.shape
    return known and one.type == two.type


def same_rank(one: Value, two: Value) -> bool:
    """Whether two values have the same element type and number of dims: then numbers between them did not add any."""
    return one.tensor.rank is not None and one.tensor.rank == two.tensor.rank and one.tensor.dtype is two.tensor.dtype


def factors(value: Value) -> tuple[float, list[Value]]:
    """A product as a number and the values that are multiplied, through nodes that nobody else uses.

    Divisions by numbers and whole powers of up to three count too.
    """
    coefficient, found = 1.0, []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        node = one.node if one is value or is_step(one) else None
        constant = number(one)
        if constant is not None:
            coefficient *= constant
        elif node is not None and not node.domain and node.op_type == "Mul":
            waiting += [each for each in node.inputs if each is not None]
        elif node is not None and not node.domain and node.op_type == "Div" and number(node.input(1)):
            coefficient /= number(node.input(1)) or 1.0
            waiting += [each for each in node.inputs[:1] if each is not None]
        elif node is not None and not node.domain and node.op_type == "Pow" and number(node.input(1)) in (2.0, 3.0):
            base = node.input(0)
            assert base is not None
            found += [base] * int(number(node.input(1)) or 1)
        else:
            found.append(one)
    return coefficient, found


def vector(value: Value | None, size: Any) -> Constant | None:
    """A constant of floats with `size` elements along one axis and no others, as a vector."""
    constant = None if value is None else value.constant
    if (
        constant is None
        or not constant.dtype.is_float
        or constant.size != size
        or max(constant.shape, default=0) != size
    ):
        return None
    if constant.shape == (size,):
        return constant
    return Constant(constant.dtype, (size,), lambda: np.ascontiguousarray(constant.array).reshape(-1))


__all__ = [
    "Found", "Pattern", "axes_of", "factors", "follower", "insert", "is_close", "is_last_axis", "is_number", "is_step",
    "made_by", "number", "orders", "other", "same_rank", "same_shape", "step", "vector",
]  # fmt: skip
