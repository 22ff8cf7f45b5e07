"""Where attention is one kernel, and in which tiles it goes.

Measured on two threads with vectors of 512 bits, against three steps on our own products: 1.1 to 2.5 times as fast
where the numbers of a head are few or keys are many, equal (0.95 to 1.05) where heads are wide and keys few, and slower
only where there is too little for two threads. Tiles matter little: a block of products that fills the registers is
always within a few percent of the best. `chosen` is the one place that decides, so that measurements elsewhere may
replace it.
"""

from __future__ import annotations

from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.dtype import f32
from burn.engine.patterns.kernels import Sizes
from burn.engine.target import target
from burn.symbolic import bound, is_symbolic, number, typical

MOST_KEYS = 256
"""Keys of a tile: their scores, for all queries of it, stay in the second cache."""

MOST_SIZE = 256
"""Numbers of a query, key or value: with more, the pieces of a tile leave the nearest caches."""

MOST_VECTORS = 4

ALONE = 1 << 15
"""Numbers of the keys of one head from which on one vector of queries is too little work for a second thread."""

SCRATCH, LARGEST = 1 << 19, 1 << 21
"""Bytes of the scores of a tile, which lie on the stack of a thread: as a rule, and where one vector needs all keys."""


@dataclass(frozen=True)
class Tiling:
    """Queries go in `vectors` of `lanes`, products in blocks of `rows`, keys in tiles of at most `keys`."""

    lanes: int
    vectors: int
    rows: int
    keys: int
    single: bool  # one tile has all keys

    @property
    def queries(self) -> int:
        """Queries of a tile."""
        return self.lanes * self.vectors


def chosen(sizes: Sizes, needs_all: bool) -> Tiling | None:
    """The tiles of an attention, or None where separate steps are faster or the kernel does not fit.

    A tile that needs all keys at once has fewer queries instead.
    """
    lanes = features().vector_bits // 32
    if sizes.queries < lanes or not sizes.keys or not 0 < sizes.size <= MOST_SIZE or not 0 < sizes.width <= MOST_SIZE:
        return None
    if sizes.heads * (sizes.queries // lanes) < 2 and sizes.keys * sizes.size >= ALONE:
        return None
    single = needs_all or sizes.keys <= MOST_KEYS
    keys = bound(sizes.keys, 64) if single else MOST_KEYS
    size = keys * lanes * f32.size
    if size > LARGEST:
        return None
    most = min(MOST_VECTORS, max(1, SCRATCH // size))
    while most > 1 and sizes.queries < most * lanes:
        most = 1 if is_symbolic((sizes.queries,)) else most - 1
    vectors = min(range(1, most + 1), key=lambda count: _cost(sizes, count, lanes))
    rows = rows_of(vectors)
    return Tiling(lanes, vectors, rows if sizes.keys >= rows else number(sizes.keys), keys, single)


def rows_of(vectors: int) -> int:
    """Rows of a block of products: as many as registers hold beside the vectors they meet."""
    held = 24 if features().registers == 32 else 10
    return max(1, min(16, held // vectors))


def _cost(sizes: Sizes, vectors: int, lanes: int) -> float:
    """How long the slowest thread takes, in vectors of queries."""
    tiles = typical(sizes.heads) * -(-typical(sizes.queries) // (vectors * lanes))
    return -(-tiles // target().units) * (vectors + 0.3)
