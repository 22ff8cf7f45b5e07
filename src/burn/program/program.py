"""A program: operations of the table applied to numbered values, in order, each value made once.

Numbers are relative: inputs come first, then results in the order of the nodes. Two recordings of the
same computation are therefore equal, hash equal, and share one compiled plan. A Python number that
may change from run to run (a learning rate) is a `Scalar` slot, not part of the program's identity;
one that belongs to it is a `Constant`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from burn.dtype import DType
from burn.ops.op import Op
from burn.shape import Shape


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a value before it is computed."""

    shape: Shape
    dtype: DType


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number given at run time: the slot it comes from, and its kind ("float" or "int")."""

    slot: int
    kind: str = "float"


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number that is part of the program. Two are equal if they are the same number: 0.0 and -0.0 are not."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Constant and is_same_number(self.value, other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def is_same_number(one: Any, other: Any) -> bool:
    """Whether two numbers are the same in kind, value and sign."""
    if one is other:
        return True
    return one.__class__ is other.__class__ and bool(one == other) and (one != 0 or repr(one) == repr(other))


Operand = int | Scalar | Constant | None | tuple[int, ...]
"""The number of a value, a scalar, a constant, an operand left out, or several values."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: its row, its operands, its attributes in normal form, the values it makes."""

    op: Op
    operands: tuple[Operand, ...]
    attributes: tuple[Any, ...]
    results: tuple[int, ...]

    def reads(self) -> list[int]:
        """The numbers of the values it reads, in order, repeated if read twice."""
        found: list[int] = []
        for operand in self.operands:
            if isinstance(operand, int):
                found.append(operand)
            elif isinstance(operand, tuple):
                found.extend(operand)
        return found


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
        from burn.program.data import encode

        return encode(self)

    def to_bytes(self) -> bytes:
        """The same data as MessagePack."""
        from burn.program.data import to_message_pack

        return to_message_pack(self)

    def to_json(self) -> str:
        """The same data as JSON."""
        from burn.program.data import to_json

        return to_json(self)

    @staticmethod
    def from_data(data: dict[str, Any] | bytes | str) -> Program:
        """The program of such data: plain, MessagePack (bytes) or JSON (text).

        Data is checked and never executed; a `ProgramDataError` lists everything that is wrong with it.
        """
        from burn.program.data import decode

        return decode(data)

    def identity(self) -> tuple[Any, ...]:
        """Everything that distinguishes this program from another, in plain data."""
        return (
            tuple((tuple(value.shape), value.dtype.name) for value in self.values),
            self.inputs,
            self.scalars,
            tuple((n.op.name, n.op.version, n.operands, n.attributes, n.results) for n in self.nodes),
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
