"""Steps of the nodes that are no loops: products, convolutions, pooling, attention, blocks, and copies for them.

They may need memory beside the values of the program (a packed weight, an operand copied because a kernel cannot walk
through it): temporaries, numbered after the values.
"""

from __future__ import annotations

from math import prod
from typing import Any

from burn.backend.cpu.lower.access import Access, whole
from burn.backend.cpu.lower.copies import copied, packing
from burn.backend.cpu.lower.epilogue import epilogue_of
from burn.backend.cpu.lower.loop_parts import Loop
from burn.backend.cpu.lower.products import fits, lower_product
from burn.backend.cpu.lower.units import Schedule
from burn.backend.cpu.settings import Settings
from burn.dtype import DType
from burn.ops.views import contiguous_strides
from burn.program.program import Node, Program


class Calls:
    """Lowers the calls of one program, and numbers the temporaries they need."""

    def __init__(self, program: Program, schedule: Schedule, settings: Settings | None = None) -> None:
        self.program, self.schedule, self.settings = program, schedule, settings or Settings()
        self.mapped_bytes = 0  # of weights that Winograd's convolutions have mapped so far
        self.temporaries: dict[int, int] = {}  # number → bytes
        self.producer = program.producer()
        self.uses = program.uses()
        self._ordered: dict[Any, Access] = {}
        self._homes: dict[int, Access] | None = None
        self._in_order: dict[Any, Access] = {}

    def lower(self, node: Node) -> list[Loop] | None:
        """The steps of a node, or None where the engine has none and NumPy runs it."""
        from burn.backend.cpu.lower.attention.kernel import lower_attention
        from burn.backend.cpu.lower.blocks import lower_block
        from burn.backend.cpu.lower.convolution import lower_convolution
        from burn.backend.cpu.lower.pooling import lower_pooling

        if node.op.name == "reshape":
            return self._reshape(node)
        if node.op.name == "cat" and node.reads() and self.home(node.reads()[0]).value == node.results[0]:
            return []  # the parts are in their places
        if node.op.name == "attention":
            return lower_attention(self, node)
        fused = lower_block(self, node)
        if fused is not None:
            return fused
        pooled = lower_pooling(self, node)
        if pooled is not None:
            return pooled
        if any(number in self.schedule.constants for number in node.reads()):
            return None
        if node.op.name == "matmul":
            chained, _ = epilogue_of(node)
            return lower_product(self, node) if chained is not None or fits(self.program, node) else None
        return lower_convolution(self, node)

    def home(self, number: int) -> Access:
        """Where a result is written: memory of its own, or a part of a larger image."""
        from burn.backend.cpu.lower.blocks import homes_of

        if self._homes is None:
            self._homes = homes_of(self.program)
        return self._homes.get(number) or whole(number, tuple(self.program.values[number].shape))

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

    def _reshape(self, node: Node) -> list[Loop] | None:
        """A reshape that is no view: the elements in order, in memory of their own."""
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        value = self.program.values[source]
        if source in self.schedule.constants or 0 in value.shape or not value.dtype.is_arithmetic:
            return None
        return [copied(self.schedule.accesses[source], value.dtype, result, "reshape")]
