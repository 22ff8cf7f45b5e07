"""How a product is computed: the tile, the split, how the second operand is read.

Everything is chosen here, from sizes and the number of threads, by a small model of what a tile costs, or by what was
measured (`burn.backend.cpu.tuning`). No choice of ours changes the result: every element is summed in the order of the
depth.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from burn.backend.cpu.features import Features
from burn.backend.cpu.lower.products.form import Batch, Form, Matrix
from burn.backend.cpu.lower.products.tile import Tile, fits_registers, lanes_of
from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.engine.tuning import pick
from burn.symbolic import typical, value_of

PACKED, INSIDE, DIRECT = "packed", "inside", "direct"
"""How panels of the second operand are read: packed by a step before, packed by each iteration, or where they lie."""

SCRATCH = 1 << 17
"""Numbers of a panel that an iteration packs for itself: they lie on the stack of a thread, and in its second cache."""

FIRST_SCRATCH, GROUPS = 1 << 16, (16, 32, 48, 64)
"""The same for rows of the first operand, and how many rows may go together."""

GRAIN = 1 << 17
"""Multiplications below which a product is not worth a second thread."""

FEW_ROWS = 16
"""Rows, where there may be more or fewer of them in other calls, that have a tile of their own."""

MOST_ROWS, VECTORS = 8, (1, 2, 3, 4, 6, 8, 12)

STORE, BEGIN, COPY, FAR, TURN, AGAIN, STRIDE, LOAD = 3.0, 40.0, 2.5, 8.0, 5.0, 1.0, 2.0, 0.1
"""In cycles: storing a vector, beginning a tile, packing a vector, one from far away, turning one around, reading one
again, reading a column that lies across memory, and reading anything."""

NEAR = 1 << 18
"""Bytes over which a second operand may be spread and still be read from near caches, row after row."""

CHUNK = 3 << 17
"""Bytes of rows that stay in the second cache while panels pass by."""


DEEP, SMALL, MOST_SPLITS = 4096, 2048, 16
"""A depth that is worth cutting, the elements of a result that asks for it, and into how many parts at most."""

OFFERED = 3
"""Tiles among which a measurement may choose."""


@dataclass(frozen=True, order=True)
class Choice:
    """A tile, how many chunks the rows are cut into, and how the second operand is read."""

    tile: Tile
    chunks: int
    second: str
    splits: int = 1
    """Parts of the depth that are summed on their own: a matter of the sizes alone, since it shows in the result."""
    group: int = 0
    """Rows of the first operand that are packed together, where its columns lie side by side; 0 for none."""
    before: bool = False
    """Whether a step before packs them, and not each iteration."""

    @property
    def rows(self) -> int:
        """Rows that go together."""
        return self.group or self.tile.rows

    def __str__(self) -> str:
        return (
            f"{self.tile} {self.second} in {self.chunks}"
            + (f" by {self.group} rows" if self.group else "")
            + " before" * self.before
        )


def tiles(form: Form) -> list[Tile]:
    """The tiles that registers hold and that are no larger than the result, but for those that are much too small."""
    lanes = lanes_of(form.dtype)
    wide = [each for each in VECTORS if each == 1 or each * lanes <= form.columns]
    found = [Tile(rows, each, lanes) for each in wide for rows in range(1, min(MOST_ROWS, form.rows) + 1)]
    found = [tile for tile in found if fits_registers(tile)]
    most = max(tile.rows * tile.vectors for tile in found)
    return [tile for tile in found if 2 * tile.rows * tile.vectors >= most]


def splits_of(form: Form) -> int:
    """In how many parts the depth of a small result is cut, so that several threads find work."""
    if form.depth < DEEP or form.count * form.rows * form.columns > SMALL:
        return 1
    return min(MOST_SPLITS, form.depth // (DEEP // 4))


def choose(form: Form, threads: int, second: str | None = None) -> Choice:
    """The cheapest way; `second` tells that the second operand is packed already."""
    sizes = replace(
        form,
        rows=typical(form.rows, FEW_ROWS),
        columns=typical(form.columns),
        depth=typical(form.depth),
        x=Matrix(0, 0, value_of(form.x.down), value_of(form.x.across)),
        y=Matrix(0, 0, value_of(form.y.down), value_of(form.y.across)),
        batches=(Batch(typical(form.count), 0, 0, 0),),
        of_row=0,
    )
    offered = {str(choice): choice for choice in _ranked(sizes, threads, second, features())[:OFFERED]}
    steps = ("across" if form.x.across == 1 else "down", "across" if form.y.across == 1 else "down")
    numbers = (sizes.count, sizes.rows, sizes.depth, sizes.columns, *steps, second or "as it lies")
    chosen = offered[pick("tile", numbers, tuple(offered), next(iter(offered)))]
    if not is_possible(form, chosen):
        raise AssertionError(f"{chosen} for {sizes}")
    return chosen


def is_possible(form: Form, choice: Choice) -> bool:
    """Whether a product can be computed so: what `tiles`, `_ways`, `_groups` and `_chunks` offer."""
    tile, splits = choice.tile, splits_of(form)
    depth = -(-form.depth // splits)
    packs = choice.group and not choice.before
    return (
        splits == choice.splits
        and tile.rows <= form.rows
        and (tile.vectors == 1 or tile.columns <= form.columns)
        and (choice.second != INSIDE or depth * tile.columns <= SCRATCH)
        and (choice.second != DIRECT or form.columns >= tile.columns)
        and choice.group <= form.rows
        and (not packs or choice.group * depth <= FIRST_SCRATCH)
    )


@functools.lru_cache(maxsize=1024)
def _ranked(form: Form, threads: int, second: str | None, features: Features) -> list[Choice]:
    """The best choice of each tile, best first."""
    splits = splits_of(form)
    part = replace(form, depth=-(-form.depth // splits), batches=(Batch(form.count * splits, 0, 0, 0),))
    ranked: list[tuple[float, Choice]] = []
    for tile in tiles(form):
        best: tuple[float, Choice] | None = None
        for group, before in _groups(part, tile):
            for how in [second] if second else _ways(part, tile):
                choice = Choice(tile, 1, how, splits, group, before)
                cost, chunks = min(costs_of(part, choice, threads))
                if best is None or cost < best[0]:
                    best = cost, replace(choice, chunks=chunks)
        assert best is not None
        ranked.append(best)
    ranked.sort(key=lambda each: (each[0], -each[1].tile.rows * each[1].tile.vectors))
    return [choice for _, choice in ranked]


def _ways(form: Form, tile: Tile) -> list[str]:
    """How a second operand that is not packed can be read."""
    ways = []
    if form.depth * tile.columns <= SCRATCH:
        ways.append(INSIDE)
    if form.y.across == 1 and form.columns >= tile.columns:
        ways.append(DIRECT)
    return ways or [PACKED]


def _groups(form: Form, tile: Tile) -> list[tuple[int, bool]]:
    """How many rows may be packed together, and whether before; none where they need not be, or do not fit."""
    found = [(0, False)]
    if form.x.down != 1 or form.x.across == 1:
        return found
    fitting = [rows for rows in GROUPS if rows % tile.rows == 0 and rows <= form.rows]
    found += [(rows, False) for rows in fitting if rows * form.depth <= FIRST_SCRATCH]
    if form.count == 1:
        found += [(rows, True) for rows in fitting[1:]]
    return found


def _chunks(form: Form, rows: int, threads: int) -> list[int]:
    blocks = -(-form.rows // rows)
    wanted = {1, 2, 3, 4, threads, 2 * threads, 3 * threads, 4 * threads}
    size = form.rows * form.depth * 4
    wanted.update((-(-size // CHUNK), -(-size // CHUNK) * threads))
    return sorted(each for each in wanted if each <= blocks)


def costs_of(form: Form, choice: Choice, threads: int) -> list[tuple[float, int]]:
    """Cycles of the slowest thread, for several numbers of chunks."""
    tile, depth, second = choice.tile, form.depth, choice.second
    blocks = -(-form.rows // choice.rows) * (choice.rows // tile.rows)
    panels = -(-form.columns // tile.columns)
    products, loads = tile.rows * tile.vectors, tile.rows + tile.vectors
    each = depth * (max(products, 0.8 * loads, 4.0) + LOAD * loads) + STORE * products + BEGIN
    far = form.x.across != 1 and depth * abs(form.x.across) * 4 > NEAR
    if choice.group and not choice.before:
        each += depth * tile.rows * (FAR if far else COPY) / tile.lanes
    elif far and not choice.group:
        each += depth * STRIDE
    once = BEGIN
    if second == INSIDE:
        once += depth * tile.vectors * (COPY if form.y.across == 1 else TURN)
    elif second == DIRECT and depth * abs(form.y.down) * 4 > NEAR:
        each += AGAIN * depth * tile.vectors
    count, parts = form.count, min(threads, max(1, form.work // GRAIN))
    ahead = form.rows * depth * FAR / tile.lanes / parts if choice.before else 0.0
    found = []
    for chunks in _chunks(form, choice.rows, threads):
        share, rows = -(-count * chunks * panels // parts), -(-blocks // chunks)
        crowded = 1.03 if panels > 1 and rows * tile.rows * depth * 4 > CHUNK else 1.0
        found.append((share * (rows * each * crowded + once) + ahead, chunks))
    return found
