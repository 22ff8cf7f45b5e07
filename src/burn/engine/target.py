"""Targets: what lowering may ask about the machine that kernels are written for.

A device has one. While one of its programs is lowered, `target()` gives it to whoever writes a kernel:

    with lowering_for(device.target):
        ...

Lowering asks nothing else, so that it serves every device with a target.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import astuple
from functools import cached_property
from typing import TYPE_CHECKING

from burn.classes import dataclass
from burn.dtype import DType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from burn.scoped import Scoped
from burn.symbolic import largest

if TYPE_CHECKING:
    from burn.ops.op import Op

ARITHMETIC = frozenset((f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool_))
"""The dtypes that kernels of the kernel language compute with."""


@dataclass(frozen=True)
class Tiles:
    """How much work lowering gives to one iteration of a grid, in elements."""

    block: int = 2048
    """Of a one-dimensional loop."""
    grain: int = 16384
    """Below which a loop is not worth a second unit."""
    columns: int = 256
    """Columns of a reduction along leading dims."""
    chunk: int = 16384
    """Of a long row that several units reduce together. A multiple of the partial results of a reduction."""
    few_rows: int = 8
    """Rows from which on no row is cut: there are enough of them for all units."""
    fewest_chunks: int = 4
    """Chunks below which a row is not cut."""
    shortest_kept: int = 256
    """Of a row for which room is made at least."""
    longest_kept: int = 1 << 15
    """Of a row that is kept between two passes, at most."""
    run: int = 4096
    """Of a run of memory that is not joined with more: other units take the rest."""
    several_units: int = 1 << 15
    """From which on a reduction to channels goes dim by dim, so that several units take part."""
    fewest_channels: int = 8
    """Of an image, below which lanes run along its last spatial dim."""
    few_channels: int = 64
    """Up to which their number is part of a kernel, and numbers of channels are repeated along a spatial dim."""
    drawn: int = 512
    """Blocks of the random generator."""
    drawn_grain: int = 2
    """Iterations below which a draw is not worth a second unit."""
    drawn_of_channel: int = 32
    """Blocks of the random generator of each channel, where channels are last."""
    drawn_last_grain: int = 2048
    """Blocks below which such a draw is not worth a second unit."""

    @cached_property
    def key(self) -> str:
        """What tells kernels of these sizes from others."""
        return " ".join(map(str, astuple(self)))


@dataclass(frozen=True)
class Costs:
    """What lowering weighs against each other, in operations of one lane."""

    load_apart: float = 4.0
    """A load in a lane whose neighbours are not its neighbours in memory."""
    store_apart: float = 6.0
    """A store in such a lane."""
    iteration: float = 40.0
    """An iteration of the grid before its first lane."""


@dataclass(frozen=True)
class Target:
    """A machine as lowering sees it. A device may derive a class of its own with more to ask."""

    name: str
    lanes: int = 1
    """Elements of f32 that one unit computes at once: a vector, a warp."""
    units: int = 1
    """What works side by side: threads, multiprocessors."""
    index_bits: int = 64
    """The width of the integers that address elements."""
    shared_bytes: int = 0
    """Memory that the lanes of a unit share and that is near to them; 0 where there is no such thing."""
    dtypes: frozenset[DType] = ARITHMETIC
    """What kernels may load, compute and store."""
    tiles: Tiles = Tiles()
    costs: Costs = Costs()
    kept: frozenset[str] = frozenset()
    """The names of composite rows that programs keep whole, since the target has kernels for them."""
    channels_last: bool = False
    """Whether images are best stored with their channels last."""

    def keeps(self, op: Op) -> bool:
        """Whether a composite stays a node of its own; the others are taken apart into what they are made of."""
        return op.name in self.kept


_current: Scoped[Target | None] = Scoped(None)


def lowering_for(target: Target) -> AbstractContextManager[Target]:
    """Have kernels written for a target in this thread, inside a `with` block."""
    return _current.holds(target)


def target() -> Target:
    """The target that kernels are being written for: that of the device whose plan is lowered."""
    if _current.value is None:
        raise RuntimeError("nothing is being lowered: the target is known inside of `lowering_for`")
    return _current.value


def computes(dtype: DType) -> bool:
    """Whether kernels of the target that they are being written for load, compute and store elements of a dtype."""
    return dtype in target().dtypes


def tile_sizes() -> Tiles:
    """Those of the target that kernels are being written for."""
    return target().tiles


def grain_of(work: int) -> int:
    """How many iterations of a grid are too little for a second unit, if each works on so many elements."""
    grain: int = largest(1, target().tiles.grain // largest(1, work))
    return grain
