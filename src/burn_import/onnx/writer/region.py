"""A region: nodes of a graph that stand together and become a class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import TypeAlias, Union

from burn.classes import dataclass
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Node, Value
from burn_import.onnx.ir.types import ElementType

Scope: TypeAlias = tuple[str, ...]
Item: TypeAlias = Union[Node, "Region"]
_SIZES = {"kernel_shape", "num_groups", "hidden_size", "num_heads"}
_USUAL = {"group": 1, "strides": 1, "dilations": 1, "pads": 0}  # written only where they are something else


@dataclass(slots=True)
class Region:
    """A stretch of nodes; `items` has its nodes and the regions inside in order.

    `scope` is what names inside of it begin with, `name` what it is called in the region around it. `kind` is the
    class that the file says it was, or a word for what it does; `is_structural` says that only its structure makes it
    a region, so that names inside of it mean nothing.
    """

    scope: Scope
    items: list[Item] = field(default_factory=list)
    kind: str = ""
    is_structural: bool = False
    name: str = ""

    @property
    def count(self) -> int:
        return sum(item.count if isinstance(item, Region) else 1 for item in self.items)

    @property
    def hint(self) -> str:
        """What its class may be called, words with dots between them."""
        return self.kind or ".".join(self.scope[-2:])

    def nodes(self) -> list[Node]:
        """Every node in it, in order."""
        found: list[Node] = []
        for item in self.items:
            found += item.nodes() if isinstance(item, Region) else [item]
        return found


def weighted(node: Node) -> bool:
    """Whether a node has something to learn: a constant of floats that is more than a number."""
    return any(
        value is not None and value.constant is not None and value.constant.dtype.is_float and value.constant.size > 1
        for value in node.inputs
    )


def is_scalar(value: Value | None) -> bool:
    """Whether a value is a constant float of one element, which the source may simply write down."""
    return (
        value is not None and value.constant is not None and value.constant.size == 1 and value.constant.dtype.is_float
    )


def varying(blocks: Sequence[Sequence[Node]]) -> set[tuple[Node, Value]]:
    """Numbers that differ between stretches of the same signature: they were learnt, and are kept in fields."""
    found: set[tuple[Node, Value]] = set()
    apart = [[node for node in nodes if not all(is_host(value) for value in node.outputs)] for nodes in blocks]
    for same in zip(*apart):
        for index in range(len(same[0].inputs)):
            values = [node.input(index) for node in same]
            if not all(is_scalar(value) for value in values):
                continue
            numbers = {float(value.constant.array.reshape(-1)[0]) for value in values}
            if len(numbers) > 1:
                found.update((node, value) for node, value in zip(same, values) if value is not None)
    return found


def is_host(value: Value) -> bool:
    """Whether a value is made of sizes that the source writes where it needs them."""
    dtype, rank = value.tensor.dtype, value.tensor.rank
    return dtype in (ElementType.i64, ElementType.i32) and rank in (0, 1) and value.content is not None


def signature(nodes: Sequence[Node]) -> Hashable:
    """What two stretches of nodes must have in common to read the same; sizes may differ."""
    inside: dict[Node | None, int] = {}
    outside: dict[Value, int] = {}
    found: list[Hashable] = []
    for node in nodes:
        if node.outputs and all(is_host(value) for value in node.outputs):
            continue
        inside[node] = len(inside)
        inputs: list[Hashable] = []
        for value in node.inputs:
            if value is None:
                inputs.append(None)
            elif value.constant is not None:
                inputs.append((value.constant.dtype, len(value.constant.shape), weighted(node)))
            elif is_host(value):
                inputs.append("sizes")
            elif value.node in inside:
                inputs.append((inside[value.node], value.index))
            else:
                inputs.append(outside.setdefault(value, len(outside)))
        attributes = tuple((name, _shown(name, value)) for name, value in sorted(node.attributes.items()))
        found.append((node.domain, node.op_type, tuple(inputs), attributes))
    return tuple(found)


def _shown(name: str, value: Attribute) -> Hashable:
    """What of an attribute decides how a node reads."""
    if name in _SIZES or isinstance(value, Constant):
        return None
    if name in _USUAL:
        return all(each == _USUAL[name] for each in (value if isinstance(value, tuple) else (value,)))
    return str(value)
