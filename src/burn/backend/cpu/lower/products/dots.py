"""Products of few rows with a second operand whose columns lie in memory one after the other: dot products.

A vector by a matrix, or a matrix by a vector, is memory read once; lanes run along the depth, where the numbers lie
side by side, and some columns go together so that the row is read once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower.products.choice import GRAIN
from burn.backend.cpu.lower.products.form import Form
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import DType, f32, f64
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK_OF_ROW
from burn.engine.lower.recipe import Recipe
from burn.program.program import Node
from burn.symbolic import largest

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

MOST_ROWS = 4
"""Rows that each column is read for at once."""

MOST_COLUMNS, MOST_SUMS = 4, 8
"""Columns that one iteration takes, and sums that it has under way."""

SHORTEST = 64
"""Numbers of a column that are worth the way from lanes to one sum."""


def is_dots(form: Form) -> bool:
    """Whether a product is computed this way."""
    along = form.x.across == 1 and form.y.down == 1
    far = form.y.across != 1 or form.columns == 1
    return along and far and form.rows <= MOST_ROWS and form.depth >= SHORTEST


class Dots:
    """Writes the kernel of one such product."""

    def __init__(self, form: Form, dtype: DType) -> None:
        self.form, self.dtype = form, dtype
        self.together = min(MOST_COLUMNS, MOST_SUMS // form.rows, form.columns)
        self.deep = form.depth > BLOCK_OF_ROW
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []

    def write(self, target: int, node: Node, calls: Calls, label: str) -> Loop:
        """Columns on the grid, a few at a time."""
        b, form = self.b, self.form
        dtype = self.dtype
        self.x, self.y, self.out = b.buffer(dtype), b.buffer(dtype), b.buffer(dtype, write=True)
        self.arguments += [
            Argument("buffer", form.x.value, form.x.offset * dtype.size),
            Argument("buffer", form.y.value, form.y.offset * dtype.size),
            Argument("buffer", target, written=True),
        ]
        blocks = -(-form.columns // self.together)
        steps = (form.x.down, form.y.across, form.of_row)
        given = (form.count * blocks, blocks, form.columns, form.depth, *steps)
        sizes = [self._size(each) for each in given]
        batches = [tuple(self._size(n) for n in (each.size, each.x, each.y, each.out)) for each in form.batches]
        self.epilogue = EpilogueWriter(b, node, calls, self.arguments)
        parts = (form.rows, self.together, self.deep, len(batches), dtype.name, *self.epilogue.key_parts())
        recipe = Recipe("dots", parts, lambda: self._kernel(sizes, batches))
        grain = largest(1, GRAIN // 4 // (self.together * form.rows * form.depth))
        return Loop(recipe, self.arguments, given[0], grain, label, repeats=True, kept=False)

    def _size(self, value: int) -> Value:
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _kernel(self, sizes: list[Value], batches: list[Any]) -> Kernel:
        b = self.b
        total, blocks, columns, depth, x_down, y_across, of_row = sizes
        with b.grid(total) as i:
            block, batch = i % blocks, i // blocks
            bases: list[Any] = [0, 0, 0]
            for position, (size, *steps) in reversed(list(enumerate(batches))):
                index = batch % size if position else batch
                batch = batch // size if position else batch
                bases = [base + index * step for base, step in zip(bases, steps, strict=True)]
            x_base, y_base, out_base = bases
            first = b.min(block * self.together, columns - self.together)
            places = [y_base + (first + each) * y_across for each in range(self.together)]

            def products(k: Value) -> list[Value]:
                numbers = [b.load(self.x, x_base + x_down * row + k) for row in range(self.form.rows)]
                columns = [b.load(self.y, place + k) for place in places]
                return [number * column for number in numbers for column in columns]

            sums = self._sums(depth, products)
            for position, made in enumerate(sums):
                row, each = divmod(position, self.together)
                column = first + each
                where = out_base + of_row * row + column
                b.store(self.out, where, self.epilogue.applied(made, where, column))
        return b.finish()

    def _sums(self, depth: Value, products: Callable[[Value], list[Value]]) -> Sequence[Value]:
        """The sums of all products, in blocks where they are deep."""
        b, kinds = self.b, ["sum"] * (self.form.rows * self.together)
        if not self.deep:
            whole: tuple[Value, ...] = b.reduce(depth, kinds, products)
            return whole

        def add_block(number: Value, *totals: Value) -> list[Value]:
            start = number * BLOCK_OF_ROW
            count = b.min(depth - start, BLOCK_OF_ROW)
            found = b.reduce(count, kinds, lambda k: products(start + k))
            return [total + each for total, each in zip(totals, found, strict=True)]

        zeros = [b.const(f64 if self.dtype is f64 else f32, 0.0) for _ in kinds]
        made = b.loop((depth + (BLOCK_OF_ROW - 1)) // BLOCK_OF_ROW, zeros, add_block)
        return (made,) if isinstance(made, Value) else tuple(made)
