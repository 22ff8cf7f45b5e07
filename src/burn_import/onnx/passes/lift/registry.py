"""How adapters are written and found.

An adapter takes a node of any version below `before` and leaves it, or what replaces it, in the form of version
`before`. A node climbs through the adapters of its operator in ascending order until it has the newest form. Where
a new version only admits more types, or adds attributes whose defaults keep the old meaning, there is nothing to do:
such versions are listed in `compatible`. A test holds every version of every operator against these two lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Value
from burn_import.onnx.ir.types import ElementType

Adapter: TypeAlias = Callable[[Node, "Edit"], None]

ADAPTERS: dict[tuple[str, str], list[tuple[int, Adapter]]] = {}
CANONICAL: dict[tuple[str, str], Adapter] = {}


def adapt(*names: str, before: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register an adapter for some operators: it lifts versions below `before` to the form of `before`."""

    def register(adapter: Adapter) -> Adapter:
        for name in names:
            known = ADAPTERS.setdefault((domain, name), [])
            assert all(version != before for version, _ in known), f"{name} has two adapters before {before}"
            known.append((before, adapter))
            known.sort(key=lambda each: each[0])
        return adapter

    return register


def canonical(*names: str, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register a step that every node of some operators goes through at the end, whatever version it had."""

    def register(adapter: Adapter) -> Adapter:
        for name in names:
            assert (domain, name) not in CANONICAL
            CANONICAL[domain, name] = adapter
        return adapter

    return register


class Edit:
    """What an adapter works with: new nodes go before the node in hand, in the newest version of their operator."""

    def __init__(self, node: Node, faults: list[str], notes: list[str]) -> None:
        assert node.graph is not None
        self.node = node
        self.graph: Graph = node.graph
        self.faults = faults
        self.notes = notes

    def emit(self, op_type: str, inputs: Sequence[Value | None], outputs: int = 1, **attributes: Attribute) -> Value:
        """A new node before the one in hand; its first output."""
        version = schemas.newest("", op_type)
        assert version is not None, op_type
        named = f"{self.node.output.name}_{op_type.lower()}" if self.node.outputs else ""
        node = Node(op_type, inputs, outputs, attributes, version=version, name=self.node.name)
        if outputs == 1 and named:
            node.output.name = self.graph.names.fresh(named)
        return self.graph.insert(node, before=self.node).output

    def constant(self, value: Any, dtype: ElementType = ElementType.i64) -> Value:
        """A constant with elements of `dtype`."""
        name = f"{self.node.output.name}_constant" if self.node.outputs else "constant"
        return self.graph.add_constant(Constant.of(np.asarray(value, dtype=dtype.numpy)), name)

    def like(self, number: float, value: Value) -> Value:
        """A scalar with the element type of `value`, cast at run time where that is not known."""
        dtype = value.tensor.dtype
        if dtype is not None:
            return self.constant(number, dtype)
        return self.emit("CastLike", [self.constant(number, ElementType.f32), value])

    def move_to_input(self, attribute: str, index: int) -> None:
        """Turn an attribute of integers into a constant input; an absent one stays absent."""
        value = self.node.attributes.pop(attribute, None)
        if value is not None and self.node.input(index) is None:
            self.node.set_input(index, self.constant(value))

    def fault(self, reason: str) -> None:
        """Say why the node has no newest form; lifting goes on to find every such node."""
        self.faults.append(f"{self.node!r} of version {self.node.version}: {reason}")


def rank(value: Value | None) -> int | None:
    return None if value is None else value.tensor.rank


def array(value: Value | None) -> np.ndarray[Any, Any] | None:
    """The elements of a value that is constant."""
    return None if value is None or value.constant is None else value.constant.array
