"""Steps of the nodes that are no loops: products, convolutions, pooling, attention, blocks."""

from __future__ import annotations

from burn.backend.cpu.lower.attention.kernel import lower_attention
from burn.backend.cpu.lower.blocks import homes_of, lower_block
from burn.backend.cpu.lower.convolution import lower_convolution
from burn.backend.cpu.lower.products import fits, lower_product
from burn.backend.cpu.settings import Settings
from burn.engine.lower.calls import Calls
from burn.engine.lower.epilogue import epilogue_of
from burn.engine.lower.loop import Loop
from burn.engine.schedule.access import Access, whole
from burn.engine.schedule.units import Schedule
from burn.program.program import Node, Program


class CpuCalls(Calls):
    """Lowers the calls of one program."""

    def __init__(self, program: Program, schedule: Schedule, settings: Settings | None = None) -> None:
        super().__init__(program, schedule)
        self.settings = settings or Settings()
        self.mapped_bytes = 0  # of weights that Winograd's convolutions have mapped so far
        self._homes: dict[int, Access] | None = None

    def lower(self, node: Node) -> list[Loop] | None:
        """The steps of a node, or None where the engine has none and NumPy runs it."""
        if node.op.name == "cat" and node.reads() and self.home(node.reads()[0]).value == node.results[0]:
            return []  # the parts are in their places
        if node.op.name == "attention":
            return lower_attention(self, node)
        fused = lower_block(self, node)
        if fused is not None:
            return fused
        neutral = super().lower(node)
        if neutral is not None or node.op.name == "reshape":
            return neutral
        if any(number in self.schedule.constants for number in node.reads()):
            return None
        if node.op.name == "matmul":
            chained, _ = epilogue_of(node)
            return lower_product(self, node) if chained is not None or fits(self.program, node) else None
        return lower_convolution(self, node)

    def home(self, number: int) -> Access:
        """Where a result is written: memory of its own, or a part of a larger image."""
        if self._homes is None:
            self._homes = homes_of(self.program)
        return self._homes.get(number) or whole(number, tuple(self.program.values[number].shape))
