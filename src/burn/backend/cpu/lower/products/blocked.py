"""The kernel of a product: panels of columns, chunks of rows, and tiles in registers.

The second operand is read in panels as wide as a tile: packed before (`packing`), packed at the beginning of an
iteration into memory that stays in the cache, or where it lies if few rows read it. Rows of a first operand whose
columns lie side by side are packed in the same way, some at a time. Sizes and strides are arguments;
the code depends on the tile, on how operands are read, and on what is done to the result.

The last tile of a row of tiles, or of a column of them, begins as many elements earlier as it would stand out: some
elements are computed twice, with the same outcome, and nothing needs a mask. Only a result that is narrower than one
vector does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower.products.choice import DIRECT, FIRST_SCRATCH, GRAIN, INSIDE, PACKED, SCRATCH, Choice
from burn.backend.cpu.lower.products.form import Form, Matrix
from burn.backend.cpu.lower.products.packing import Second, first_column, is_any_width, write_panel
from burn.backend.cpu.lower.products.tile import write_tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Kernel, Value
from burn.dtype import HALVES, DType, i64
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK
from burn.engine.lower.recipe import Recipe
from burn.ops.op import TABLE
from burn.program.program import Node
from burn.symbolic import largest

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

MOST_WRITTEN_OUT = 3
"""Cheap operations of an epilogue that are written out for every vector of a tile; more get a loop."""


Packed = int | None
"""The temporary that holds the panels of an operand."""


@dataclass
class Sizes:
    """The run-time sizes of a kernel."""

    total: Value
    rows: Value
    columns: Value
    depth: Value
    panels: Value
    chunks: Value
    splits: Value
    blocks: Value
    part: Value
    of_row: Value
    x_down: Value
    x_across: Any
    y_down: Any
    y_across: Any


class Blocked:
    """Writes the kernel of one product."""

    def __init__(self, form: Form, choice: Choice, dtypes: tuple[DType, DType, DType]) -> None:
        self.form, self.choice, self.dtypes = form, choice, dtypes
        self.tile = choice.tile
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        self.any_width = is_any_width(form, self.tile)
        self.narrow = self.any_width or form.columns < self.tile.columns
        self.deep = -(-form.depth // choice.splits) > BLOCK

    def write(self, target: int, node: Node | None, calls: Calls, packed: tuple[Packed, Packed], label: str) -> Loop:
        """The work of the product; `packed` are the temporaries with the panels of the operands, if packed before.

        Where the depth is cut into splits, the parts of the result lie one after the other in the target.
        """
        form, choice, b = self.form, self.choice, self.b
        x_dtype, y_dtype, out_dtype = self.dtypes
        self.x, self.out = b.buffer(x_dtype), b.buffer(out_dtype, write=True)
        self.y = b.buffer(y_dtype)
        self._operand(form.x, x_dtype, packed[0])
        self.arguments.append(Argument("buffer", target, written=True))
        self._operand(form.y, y_dtype, packed[1])
        direct = packed[1] is None
        blocks = -(-form.rows // choice.rows)
        panels = -(-form.columns // self.tile.columns)
        extent = form.count * choice.splits * choice.chunks * panels
        sizes = Sizes(
            total=self._size(extent),
            rows=self._size(form.rows),
            columns=self._size(form.columns),
            depth=self._size(form.depth),
            panels=self._size(panels),
            chunks=self._size(choice.chunks),
            splits=self._size(choice.splits),
            blocks=self._size(blocks),
            part=self._size(form.count * form.rows * form.columns),
            of_row=self._size(form.of_row),
            x_down=self._size(form.x.down),
            x_across=1 if form.x.across == 1 or choice.before else self._size(form.x.across),
            y_down=1 if form.y.down == 1 or not direct else self._size(form.y.down),
            y_across=1 if form.y.across == 1 or not direct else self._size(form.y.across),
        )
        batches = [tuple(self._size(n) for n in (each.size, each.x, each.y, each.out)) for each in form.batches]
        self.epilogue = EpilogueWriter(b, node, calls, self.arguments)
        parts = (
            self.tile, choice.second, self.narrow, *["any width"] * self.any_width, len(batches), choice.chunks == 1,
            choice.splits == 1,
            choice.group, choice.before, self.deep,
            *(isinstance(step, int) for step in (sizes.x_across, sizes.y_down, sizes.y_across)),
            *(each.name for each in self.dtypes), *self.epilogue.key_parts(),
        )  # fmt: skip
        recipe = Recipe("product", parts, lambda: self._kernel(sizes, batches))
        grain = largest(1, GRAIN // largest(1, form.work // extent))
        return Loop(recipe, self.arguments, extent, grain, label, repeats=True, kept=False)

    def _operand(self, matrix: Matrix, dtype: DType, packed: Packed) -> None:
        place = (matrix.value, matrix.offset * dtype.size) if packed is None else (packed, 0)
        self.arguments.append(Argument("buffer", *place))

    def _size(self, value: int) -> Value:
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _kernel(self, sizes: Sizes, batches: list[Any]) -> Kernel:
        b, tile = self.b, self.tile
        with b.grid(sizes.total) as i:
            panel, rest = i % sizes.panels, i // sizes.panels
            if self.choice.chunks == 1:
                first, blocks, batch = b.const(i64, 0), sizes.blocks, rest
            else:
                chunk, batch = rest % sizes.chunks, rest // sizes.chunks
                first = sizes.blocks * chunk // sizes.chunks
                blocks = sizes.blocks * (chunk + 1) // sizes.chunks - first
            self.depth, begin, out_base = sizes.depth, b.const(i64, 0), b.const(i64, 0)
            if self.choice.splits != 1:
                split, batch = batch % sizes.splits, batch // sizes.splits
                begin = sizes.depth * split // sizes.splits
                self.depth = sizes.depth * (split + 1) // sizes.splits - begin
                out_base = split * sizes.part
            x_base, y_base = begin * sizes.x_across, begin * sizes.y_down
            for position, (size, *steps) in reversed(list(enumerate(batches))):
                index = batch % size if position else batch
                batch = batch // size if position else batch
                x_base, y_base, out_base = (
                    base + index * step for base, step in zip((x_base, y_base, out_base), steps, strict=True)
                )
            start = first_column(b, tile, panel, sizes.columns, self.narrow)
            self.limit = sizes.columns - start if self.any_width else sizes.columns
            second, place, step = self._second(sizes, y_base, begin, panel, start)
            with b.serial(blocks) as block:
                row = b.min((first + block) * self.choice.rows, sizes.rows - self.choice.rows)
                number = self._first(sizes, x_base, first + block, row)
                with b.lane(tile.lanes) as lane, b.serial(self.choice.rows // tile.rows) as inner:
                    totals = write_tile(
                        b,
                        tile,
                        self.depth,
                        functools.partial(number, inner),
                        lambda k, which: b.load(second, place + lane + k * step + which * tile.lanes),
                        self.form.dtype,
                        deep=self.deep,
                    )
                    begin = row + inner * tile.rows
                    self._store(sizes, totals, out_base + begin * sizes.of_row + start, start, lane)
        return b.finish()

    def _first(self, sizes: Sizes, base: Value, block: Value, row: Value) -> Callable[[Value, Value, int], Value]:
        """How the number of a row is read: `number(tile of the group, k, row of the tile)`."""
        b, tile, group = self.b, self.tile, self.choice.group
        if self.choice.before:
            packed = base * group + block * (sizes.depth * group)
            return lambda inner, k, r: b.load(self.x, packed + inner * tile.rows + k * group + r)
        source = base + row * sizes.x_down
        if not group:
            return lambda inner, k, r: b.load(self.x, source + sizes.x_down * r + k * sizes.x_across)
        scratch = b.shared(self.form.dtype, FIRST_SCRATCH)
        with b.serial(self.depth) as k, b.lane(group) as each:
            b.store(scratch, k * group + each, b.load(self.x, source + k * sizes.x_across + each))
        return lambda inner, k, r: b.load(scratch, inner * tile.rows + k * group + r)

    def _second(self, sizes: Sizes, base: Value, begin: Value, panel: Value, start: Value) -> tuple[Buffer, Any, Any]:
        """Where the panel is read: the buffer, its first element, and the stride along the depth."""
        b, tile = self.b, self.tile
        if self.choice.second == PACKED:
            return self.y, (panel * sizes.depth + begin) * tile.columns, tile.columns
        source = base + start * sizes.y_across
        if self.choice.second == DIRECT:
            return self.y, source, sizes.y_down
        assert self.choice.second == INSIDE
        scratch = b.shared(self.form.dtype, SCRATCH)
        y = Second(self.y, sizes.y_down, sizes.y_across, self.limit, self.narrow)
        write_panel(b, tile, y, source, scratch, b.const(i64, 0), self.depth)
        return scratch, 0, tile.columns

    def _store(self, sizes: Sizes, totals: list[list[Value]], place: Value, start: Value, lane: Value) -> None:
        b, tile = self.b, self.tile

        def put(value: Value, row: Any, which: int) -> None:
            across = lane + which * tile.lanes
            where, column = place + row * sizes.of_row + across, start + across
            if self.narrow:
                with b.when(across < self.limit):
                    b.store(self.out, where, self.epilogue.applied(value, where, column))
            else:
                b.store(self.out, where, self.epilogue.applied(value, where, column))

        if not self._is_long():
            for row, line in enumerate(totals):
                for which, total in enumerate(line):
                    put(total, row, which)
            return
        held = b.shared(self.form.dtype, tile.rows * tile.columns)
        for row, line in enumerate(totals):
            for which, total in enumerate(line):
                b.store(held, lane + (row * tile.columns + which * tile.lanes), total)
        with b.serial(tile.rows) as each:
            for which in range(tile.vectors):
                put(b.load(held, each * tile.columns + which * tile.lanes + lane), each, which)

    def _is_long(self) -> bool:
        """Whether what is done to the result is too much code to be written out for every vector."""
        if self.dtypes[-1] in HALVES:
            return True
        if self.epilogue.epilogue is None:
            return False
        names = [term.name for term in self.epilogue.epilogue.terms]
        return len(names) > MOST_WRITTEN_OUT or any(TABLE[name].is_costly for name in names)
