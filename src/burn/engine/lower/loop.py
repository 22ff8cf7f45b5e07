"""A kernel with its arguments, as plans take it."""

from __future__ import annotations

from burn.classes import dataclass
from burn.cube.ir import Kernel
from burn.dtype import DType
from burn.engine.lower.recipe import Recipe


@dataclass
class Argument:
    """What a slot of a kernel holds: a buffer (at an offset), a size, or a number given at run time."""

    kind: str  # "buffer", "size", "scalar"
    value: int  # value number, the size itself, or the slot of the scalar
    offset: int = 0  # bytes
    dtype: DType | None = None
    written: bool = False


@dataclass
class Loop:
    """A kernel with its arguments, and how many iterations its grid has."""

    kernel: Kernel | Recipe
    arguments: list[Argument]
    extent: int
    grain: int
    label: str
    in_step: bool = False  # every element is read where it is written, so a result may overwrite an operand
    joins: bool = False  # operands are only put side by side
    repeats: bool = False  # some places are written by several iterations, with the same value
    kept: bool = True  # what it writes may stay from run to run, if small and made of inputs alone
    constant: Prepared | None = None

    def loops(self) -> list[Loop]:
        """Every kernel that may run in its place."""
        return [self] if self.constant is None else [self, self.constant.pack, self.constant.call]


@dataclass
class Prepared:
    """How a kernel runs when an operand is the same as in the run before: the operand packed once, then read so."""

    pack: Loop
    call: Loop


@dataclass
class Check:
    """A kernel that met an index outside a dim tells so: which operation, which dim, and its size."""

    operation: str
    dim: int
    size: int


@dataclass
class Routine(Loop):
    """A kernel in which any element may be read for any result: its results never lie over its operands."""

    check: Check | None = None
