"""The second operand of a product in panels: as wide as a tile, the rows of each one after the other.

A weight is packed once and stays so while it is the same array; see `burn.engine.schedule.prologue`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from burn.backend.cpu.lower.products.form import Form, Matrix
from burn.backend.cpu.lower.products.tile import Tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Kernel, Operand, Value
from burn.dtype import DType
from burn.engine.lower.copies import Packing
from burn.engine.lower.loop import Argument
from burn.engine.lower.recipe import Recipe
from burn.engine.target import grain_of
from burn.symbolic import is_symbolic, value_of

BLOCK = 64
"""Rows that one iteration packs."""


@dataclass
class Second:
    """A second operand to read: its buffer, its strides (1 where they are known to be), and how many columns it has."""

    buffer: Buffer
    down: Any
    across: Any
    columns: Value
    narrow: bool
    """Whether it may end before a panel does; what else that has is never looked at."""


def write_panel(
    b: KernelBuilder, tile: Tile, y: Second, source: Value, target: Buffer, place: Value, rows: Operand
) -> None:
    """Pack some rows of a panel, which begin at `source`, to `place` and what follows it."""
    if isinstance(y.across, int):
        with b.serial(rows) as k, b.lane(tile.lanes) as lane:
            for column in (lane + which * tile.lanes for which in range(tile.vectors)):
                _copy(b, y, source + k * y.down + column, target, place + k * tile.columns + column, column)
        return
    # Lanes go down: a square of numbers as wide as a vector is turned around by the store.
    last = y.columns - 1
    with b.serial(tile.vectors) as which, b.lane(rows) as k:
        first = which * tile.lanes
        columns = [b.min(column, last) if y.narrow else first + column for column in range(tile.lanes)]
        begin = source + k * y.down
        values = [b.load(y.buffer, begin + column * y.across) for column in columns]
        where = place + k * tile.columns + first
        for column, value in enumerate(values):
            b.store(target, where + column if column else where, value)


def _copy(b: KernelBuilder, y: Second, source: Value, target: Buffer, place: Value, column: Value) -> None:
    if not y.narrow:
        b.store(target, place, b.load(y.buffer, source))
        return
    b.store(target, place, 0.0)
    with b.when(column < y.columns):
        b.store(target, place, b.load(y.buffer, source))


def is_any_width(form: Form, tile: Tile) -> bool:
    """Whether columns, narrower than a tile now, may be more in another call: then every panel looks where they end."""
    return is_symbolic((form.columns,)) and bool(value_of(form.columns) < tile.columns)


def turned(form: Form) -> Form:
    """A form whose second operand is the first of another."""
    first = Matrix(form.x.value, form.x.offset, form.x.across, form.x.down)
    return replace(form, rows=1, columns=form.rows, y=first)


def packed_bytes(form: Form, tile: Tile) -> int:
    """The memory that the panels take."""
    return -(-form.columns // tile.columns) * form.depth * tile.columns * form.dtype.size


def pack(form: Form, tile: Tile, dtype: DType, target: int) -> Packing:
    """The step that packs the second operand, one matrix for all batches, into `target`."""
    panels, blocks = -(-form.columns // tile.columns), -(-form.depth // BLOCK)
    steps = [1 if step == 1 else None for step in (form.y.down, form.y.across)]
    sizes = [panels * blocks, blocks, form.depth, form.columns]
    sizes += [given for given, step in zip((form.y.down, form.y.across), steps, strict=True) if step is None]
    arguments = [
        Argument("buffer", form.y.value, form.y.offset * dtype.size),
        Argument("buffer", target, written=True),
        *(Argument("size", size) for size in sizes),
    ]
    any_width = is_any_width(form, tile)
    narrow = any_width or form.columns < tile.columns
    parts = (tile.vectors, tile.lanes, dtype.name, form.dtype.name, steps, narrow, *["any width"] * any_width)
    recipe = Recipe("pack product", parts, lambda: _kernel(tile, (dtype, form.dtype), steps, narrow, any_width))
    grain = grain_of(BLOCK * tile.columns)
    return Packing(recipe, arguments, panels * blocks, grain, "pack")


def _kernel(tile: Tile, dtypes: tuple[DType, DType], steps: list[int | None], narrow: bool, any_width: bool) -> Kernel:
    b = KernelBuilder()
    source, target = b.buffer(dtypes[0]), b.buffer(dtypes[1], write=True)
    total, blocks, depth, columns = (b.size() for _ in range(4))
    down, across = (b.size() if step is None else step for step in steps)
    with b.grid(total) as i:
        panel, first = i // blocks, i % blocks * BLOCK
        start = first_column(b, tile, panel, columns, narrow)
        place = (panel * depth + first) * tile.columns
        y = Second(source, down, across, columns - start if any_width else columns, narrow)
        write_panel(b, tile, y, first * down + start * across, target, place, b.min(depth - first, BLOCK))
    return b.finish()


def first_column(b: KernelBuilder, tile: Tile, panel: Value, columns: Value, narrow: bool) -> Value:
    """Where a panel begins: the last one early enough to be whole."""
    return panel * tile.columns if narrow else b.min(panel * tile.columns, columns - tile.columns)
