"""What the steps of one program share: memory beside its values, and copies of operands in another order.

A kernel may need memory of its own (a packed weight, an operand copied because it cannot walk through it): temporaries,
numbered after the values of the program. Copies are shared by all who ask.
"""

from __future__ import annotations

from math import prod
from typing import Any

from burn.dtype import DType
from burn.engine.lower.copies import copied, packing
from burn.engine.lower.loop import Loop
from burn.engine.lower.pooling import lower_pooling
from burn.engine.schedule.access import Access
from burn.engine.schedule.units import Schedule
from burn.engine.target import computes
from burn.ops.views import contiguous_strides
from burn.program.program import Node, Program


class Calls:
    """The nodes of one program that are no loops, as they are lowered; a target derives what lowers its own."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program, self.schedule = program, schedule
        self.temporaries: dict[int, int] = {}  # number → bytes
        self.producer = program.producer()
        self.uses = program.uses()
        self._ordered: dict[Any, Access] = {}
        self._in_order: dict[Any, Access] = {}

    def lower(self, node: Node) -> list[Loop] | None:
        """The steps of a node, or None where there are none."""
        return self.reshape(node) if node.op.name == "reshape" else lower_pooling(self, node)

    def temporary(self, size: int) -> int:
        """The number of a new temporary of `size` bytes."""
        number = len(self.program.values) + len(self.temporaries)
        self.temporaries[number] = max(size, 1)
        return number

    def copy(self, access: Access, dtype: DType) -> tuple[Loop, Access]:
        """A step that copies an access into a temporary, and the access of that."""
        size = dtype.size
        for each in access.shape:
            size *= each
        number = self.temporary(size)
        return copied(access, dtype, number), Access(number, access.shape, contiguous_strides(access.shape))

    def in_order(self, access: Access, dtype: DType) -> tuple[list[Loop], Access]:
        """The access itself if it is contiguous, else a step that copies it, and its copy, shared by all who ask."""
        if access.is_contiguous:
            return [], access
        key = (access, dtype)
        if key in self._in_order:
            return [], self._in_order[key]
        step, self._in_order[key] = self.copy(access, dtype)
        return [step], self._in_order[key]

    def ordered(self, access: Access, dtype: DType) -> tuple[list[Loop], Access]:
        """The steps that copy a weight into the order of a kernel, and the access of the copy; equal ones share it."""
        key = (access, dtype)
        if key in self._ordered:
            return [], self._ordered[key]
        number = self.temporary(prod(access.shape) * dtype.size)
        self._ordered[key] = Access(number, access.shape, contiguous_strides(access.shape))
        return [packing(access, dtype, number)], self._ordered[key]

    def reshape(self, node: Node) -> list[Loop] | None:
        """A reshape that is no view: the elements in order, in memory of their own."""
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        value = self.program.values[source]
        if source in self.schedule.constants or 0 in value.shape or not computes(value.dtype):
            return None
        return [copied(self.schedule.accesses[source], value.dtype, result, "reshape")]
