"""How the work of one convolution is cut: what registers hold, what the cache holds, and what each thread does.

A *panel* is as many vectors of channels as meet a few tiles in registers; a *block* is as many tiles as the cache of a
processor holds mapped; a *group* of panels and a block are a piece of work. Threads share the pieces without ever
waiting for each other: blocks where weights are small, groups of channels where weights are what takes time to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from burn.backend.cpu.lower.winograd.maps import Scheme
from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.dtype import f32
from burn.symbolic import typical

REGISTERS = {16: ((4, 6), (3, 8), (2, 12), (1, 24)), 8: ((2, 6), (1, 10))}
"""By lanes of a vector, vectors of channels and the most tiles that registers hold together, best first."""

PADDING = 16
"""Floats between the mapped patches of two tiles: without them, rows of some lengths share few places of a cache."""

OWN, SHARED = 1 << 20, 16 << 20
"""Bytes of the cache of one processor, and what weights find in that of all."""

ROOM = 3 << 18
"""Bytes of mapped patches and products that stay in the cache of one processor while weights pass through it."""

SCRATCH = 4 << 20
"""Bytes of mapped patches and products at most."""

MAP, BACK, START = 18.0, 6.0, 400.0
"""Cycles of mapping one vector of a patch, one of products, and of a piece of work before its first one."""

MEMORY, AGAIN, SPILLED = 10.0, 32.0, 16.0
"""Bytes that come in a cycle: weights from memory, weights from the shared cache, patches and products from there."""


@dataclass(frozen=True)
class Blocking:
    """Vectors of a panel, lanes of a vector, tiles in registers, tiles of a block, groups of panels."""

    vectors: int
    lanes: int
    rows: int
    tiles: int
    groups: int

    @property
    def width(self) -> int:
        """Channels of a panel."""
        return self.vectors * self.lanes

    def runs(self) -> list[tuple[int, int, int]]:
        """The tiles of a block as (first, tiles in registers, repeats): as equal as possible, in at most two runs."""
        count = -(-self.tiles // self.rows)
        short, longer = self.tiles // count, self.tiles % count
        runs = [(0, short + 1, longer), (longer * (short + 1), short, count - longer)]
        return [run for run in runs if run[2]]


def blocking(scheme: Scheme, read: int, made: int, total: int, threads: int) -> Blocking:
    """The fastest way to cut a convolution with `total` tiles."""
    total = typical(total)
    lanes = 16 if features().vector_bits == 512 else 8
    vectors, rows = next((vectors, rows) for vectors, rows in REGISTERS[lanes] if made % (vectors * lanes) == 0)
    most = SCRATCH // (scheme.points * (read + PADDING + vectors * lanes) * f32.size)
    found = (
        Blocking(vectors, lanes, rows, tiles, groups)
        for groups in _divisors(made // (vectors * lanes))
        for tiles in range(1, max(1, min(most, total)) + 1)
    )
    return min(found, key=lambda each: _cycles(each, scheme, read, made, total, threads))


def _divisors(number: int) -> Iterator[int]:
    return (each for each in range(1, number + 1) if number % each == 0)


def _cycles(cut: Blocking, scheme: Scheme, read: int, made: int, total: int, threads: int) -> float:
    """About how long the slowest thread takes."""
    blocks = -(-total // cut.tiles)
    pieces = -(-blocks * cut.groups // threads)
    channels, panels = made // cut.groups, made // cut.groups // cut.width
    multiply = scheme.points * read * cut.tiles * channels / cut.lanes
    maps = scheme.points * cut.tiles * (MAP * read + BACK * channels) / cut.lanes
    weights = scheme.points * read * channels * f32.size
    patches = scheme.points * cut.tiles * (read + PADDING) * f32.size
    products = scheme.points * cut.tiles * cut.width * f32.size
    spilled = 0 if patches + products <= ROOM else (2 + panels) * patches + 3 * panels * products
    once = max(1, pieces // blocks)
    again = 0.0 if weights + patches + products <= OWN else weights / (AGAIN if weights <= SHARED else MEMORY)
    reading = once * weights / MEMORY + (pieces - once) * again
    return pieces * (START + multiply + maps + spilled / SPILLED) + reading
