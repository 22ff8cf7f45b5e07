"""What a block is, as data: the stages through which an image goes, and the node that stands for them.

A block is a node with the row of its last stage. Its operands are the image, then of each stage the weight and what
its epilogue reads; its fused work has the rows before the last one, and the block as the plan for them.
"""

from __future__ import annotations

from burn.classes import dataclass
from burn.dtype import f32
from burn.engine.lower.windows import Window
from burn.program.fused import Epilogue
from burn.program.program import Node, Operand

DENSE, DEPTHWISE, POOLING = "dense", "depthwise", "pooling"
"""Kinds of stages: every channel from every one, each from its own, and the largest of each."""


@dataclass(frozen=True)
class Stage:
    """A convolution (or maximum pooling), its windows, its channels, and what is done to its result."""

    kind: str
    rows: Window
    columns: Window
    read: int
    made: int
    epilogue: Epilogue | None = None

    @property
    def is_pointwise(self) -> bool:
        """Whether each pixel is made of the one in its place."""
        return all((w.kernel, w.stride, w.before) == (1, 1, 0) for w in (self.rows, self.columns))

    @property
    def weight_bytes(self) -> int:
        """What its weight takes."""
        taps = self.rows.kernel * self.columns.kernel
        return 0 if self.kind == POOLING else taps * self.made * (self.read if self.kind == DENSE else 1) * f32.size

    @property
    def operands(self) -> int:
        """How many operands it reads beside its image."""
        return (0 if self.kind == POOLING else 1) + (0 if self.epilogue is None else len(self.epilogue.kinds))

    @property
    def multiplications(self) -> int:
        """What it costs for one image."""
        pixels = self.rows.count * self.columns.count * self.made * self.rows.kernel * self.columns.kernel
        return pixels * (self.read if self.kind == DENSE else 1)


@dataclass(frozen=True)
class Block:
    """Stages in order: `first` is dense and made row by row, `middle` slides over its rows, `last` is pointwise."""

    first: Stage | None
    middle: Stage
    last: Stage | None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Those that are there."""
        return tuple(stage for stage in (self.first, self.middle, self.last) if stage is not None)

    def __repr__(self) -> str:
        return " then ".join(f"{stage.kind} {stage.read} to {stage.made}" for stage in self.stages)


def block_of(node: Node) -> Block | None:
    """The block that a node stands for, if it is one."""
    found = None if node.fused is None else node.fused.plan
    return found if isinstance(found, Block) else None


def operands_of(node: Node, block: Block) -> list[tuple[Operand, ...]]:
    """The operands of each stage: its weight, and what its epilogue reads."""
    position, found = 1, []
    for stage in block.stages:
        found.append(node.operands[position : position + stage.operands])
        position += stage.operands
    return found
