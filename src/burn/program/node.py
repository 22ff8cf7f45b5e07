"""What programs are made of: values, and operations of the table applied to them.

Values go by numbers. A Python number that may change from run to run (a learning rate) is a `Scalar` slot, not part of
a program's identity; one that belongs to it is a `Constant`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.classes import dataclass
from burn.dtype import DType
from burn.ops.op import Op
from burn.shape import Shape
from burn.symbolic import alike, is_symbolic

if TYPE_CHECKING:
    from burn.program.fused import Fused


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
    if is_symbolic((one, other)):
        return alike((one,), (other,))
    return one.__class__ is other.__class__ and bool(one == other) and (one != 0 or repr(one) == repr(other))


Operand = int | Scalar | Constant | None | tuple[int, ...]
"""The number of a value, a scalar, a constant, an operand left out, or several values."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: its row, its operands, its attributes in normal form, the values it makes.

    `fused` is what it does beside its row (`burn.program.fused`).
    """

    op: Op
    operands: tuple[Operand, ...]
    attributes: tuple[Any, ...]
    results: tuple[int, ...]
    fused: Fused | None = None

    def reads(self) -> list[int]:
        """The numbers of the values it reads, in order, repeated if read twice."""
        found: list[int] = []
        for operand in self.operands:
            if isinstance(operand, int):
                found.append(operand)
            elif isinstance(operand, tuple):
                found.extend(operand)
        return found
