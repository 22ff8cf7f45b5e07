"""A program: operations of the table applied to numbered values, in order, each value made once.

Numbers are relative: inputs come first, then results in the order of the nodes. Two recordings of the
same computation are therefore equal, hash equal, and share one compiled plan.
"""

from __future__ import annotations

import hashlib
from dataclasses import field
from typing import Any

from burn.classes import dataclass
from burn.program import data as stored
from burn.program.node import Constant, Node, Operand, Scalar, Value, is_same_number

__all__ = ["Constant", "Node", "Operand", "Program", "Scalar", "Value", "is_same_number"]


def _fused(node: Node) -> tuple[Any, ...]:
    return () if node.fused is None else (node.fused,)


def _plain(node: Node) -> tuple[Any, ...]:
    """The attributes of a node, programs as their identities."""
    return tuple([each.identity() if isinstance(each, Program) else each for each in node.attributes])


@dataclass(frozen=True, slots=True)
class Program:
    """Inputs, nodes and outputs. `values[i]` describes value `i`; inputs are the first `inputs` of them."""

    values: tuple[Value, ...]
    inputs: int
    scalars: int
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...] = field(default=(), compare=False)
    """What inputs are called, for whoever has to find their values: no part of what is computed."""

    def to_data(self) -> dict[str, Any]:
        """The program as plain data: maps, lists, texts, numbers and bytes. `burn.program.data` has the form."""
        return stored.encode(self)

    def to_bytes(self) -> bytes:
        """The same data as MessagePack."""
        return stored.to_message_pack(self)

    def to_json(self) -> str:
        """The same data as JSON."""
        return stored.to_json(self)

    @classmethod
    def from_data(cls, data: dict[str, Any] | bytes | str) -> Program:
        """The program of such data: plain, MessagePack (bytes) or JSON (text).

        Data is checked and never executed; a `ProgramDataError` lists everything that is wrong with it.
        """
        return stored.decode(data, cls)

    def identity(self) -> tuple[Any, ...]:
        """Everything that distinguishes this program from another, in plain data."""
        return (
            tuple((tuple(value.shape), value.dtype.name) for value in self.values),
            self.inputs,
            self.scalars,
            tuple((n.op.name, n.op.version, n.operands, _plain(n), n.results, *_fused(n)) for n in self.nodes),
            self.outputs,
        )

    def key(self) -> str:
        """A hash that is equal for equal programs, in every process."""
        return hashlib.sha256(repr(self.identity()).encode()).hexdigest()

    def uses(self) -> dict[int, list[int]]:
        """For each value, the nodes that read it, by position."""
        found: dict[int, list[int]] = {number: [] for number in range(len(self.values))}
        for position, node in enumerate(self.nodes):
            for number in node.reads():
                if not found[number] or found[number][-1] != position:
                    found[number].append(position)
        return found

    def producer(self) -> dict[int, int]:
        """For each computed value, the position of the node that makes it."""
        return {number: position for position, node in enumerate(self.nodes) for number in node.results}
