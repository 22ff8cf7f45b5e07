"""The innermost loop of every product: a tile of the result in registers.

A tile has some rows and some vectors of columns. For each step along the depth, every row has one number, which meets
every vector of the other operand; the totals never leave the registers. The writer takes functions that read, so the
same loop serves packed and plain operands, products inside of other kernels, and any dtype that loads as a number.

    tile = Tile(rows=8, vectors=3, lanes=16)
    totals = write_tile(b, tile, depth, number=lambda k, row: ..., vector=lambda k, which: ...)
"""

from __future__ import annotations

from collections.abc import Callable

from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Value
from burn.dtype import DType, f32
from burn.engine.lower.partial_sums import summed


@dataclass(frozen=True, order=True)
class Tile:
    """Rows, and vectors of columns, that are kept in registers."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


def lanes_of(dtype: DType = f32) -> int:
    """Numbers of a vector register, in the dtype in which products are summed."""
    return max(features().vector_bits // dtype.bits, 2)


def fits_registers(tile: Tile) -> bool:
    """Whether the totals, one vector of each kind, and a number spread over a vector have registers."""
    return tile.rows * tile.vectors + tile.vectors + 1 <= features().registers - 1


def write_tile(
    b: KernelBuilder,
    tile: Tile,
    depth: Value,
    number: Callable[[Value, int], Value],
    vector: Callable[[Value, int], Value],
    dtype: DType = f32,
    *,
    deep: bool = False,
) -> list[list[Value]]:
    """Write the loop over `depth` inside a lane axis of `tile.lanes`; gives the totals, a list for each row.

    `number(k, row)` is the same in all lanes; `vector(k, which)` differs from lane to lane. Each total is summed in the
    order of k, in blocks where it is `deep` (`burn.engine.lower.partial_sums`), so it does not depend on the tile.
    """
    fused = features().fused

    def body(k: Value, *totals: Value) -> list[Value]:
        vectors = [vector(k, which) for which in range(tile.vectors)]
        made: list[Value] = []
        for row in range(tile.rows):
            given = number(k, row)
            for which, held in enumerate(vectors):
                total = totals[row * tile.vectors + which]
                made.append(b.fma(given, held, total) if fused else given * held + total)
        return made

    zeros = [b.const(dtype, 0.0) for _ in range(tile.rows * tile.vectors)]
    flat = list(summed(b, depth, zeros, body, deep=deep))
    return [flat[start : start + tile.vectors] for start in range(0, len(flat), tile.vectors)]
