"""Loops: a unit of elementwise nodes and row reductions as one kernel.

The dims of the loop are merged wherever every access allows it, so most loops have one dim or two.
Sizes and strides are arguments: the kernel is the same for every size, and its key tells which ops,
dtypes and stride patterns it was made for.

A loop with row reductions passes over each row several times. What such a pass needs is computed in it,
again and again if need be, since memory is dearer than arithmetic; but a dear value (an exponential)
that two passes need is kept for the length of the row.
"""

from __future__ import annotations

import math

from burn.engine.lower.loop import Loop
from burn.engine.lower.rows import RowPasses
from burn.engine.lower.writer import Dim, times
from burn.engine.schedule.units import Schedule, Unit
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Program


def lower_loop(program: Program, schedule: Schedule, unit: Unit) -> Loop:
    """The kernel of a loop unit."""
    return LoopWriter(program, schedule, unit).write()


class LoopWriter(RowPasses):
    """The kernel of a unit."""

    def write(self) -> Loop:
        """Declare the arguments, open the loops, write the body."""
        rank = len(self.unit.shape)
        split = self.unit.rows if self.unit.rows is not None else rank
        for number in self.loads:
            self._buffer(("load", number))
        for number in self.stores:
            self._buffer(("store", number))
        self._declare_scalars()
        if self.unit.rows is None:
            extent, grain = self._write_map(self._lanes_last(self._merged(range(rank))))
        else:
            extent, grain = self._write_rows(self._merged(range(split)), self._merged(range(split, rank)))
        label = "+".join(node.op.name for node in self.nodes[:6]) + ("+…" if len(self.nodes) > 6 else "")
        return Loop(self.b.finish(), self.arguments, extent, grain, label, in_step=True)

    def _write_map(self, dims: list[Dim]) -> tuple[int, int]:
        b = self.b
        if len(dims) <= 1:
            size, strides = dims[0] if dims else (1, {})
            count = self.size(size)
            steps = self.steps(strides)
            block = tile_sizes().block
            blocks = -(-size // block) if size else 0
            total = self.size(blocks)
            self._declare_draws(block)
            with b.grid(total) as i:
                start = i * block
                length = b.min(count - start, block)
                bases = {key: times(start, step) for key, step in steps.items()}
                self._draw(bases, length)
                with b.lane(length) as j:
                    self._element(bases, steps, j)
            return blocks, grain_of(block)
        *outer, (inner_size, inner) = dims
        rows = math.prod(size for size, _ in outer)
        count = self.size(inner_size)
        steps = self.steps(inner)
        total = self.size(rows)
        decomposed = self.declared(outer)
        self._declare_draws(inner_size)
        with b.grid(total) as i:
            bases = self._bases(i, decomposed)
            self._draw(bases, count)
            with b.lane(count) as j:
                self._element(bases, steps, j)
        return rows, grain_of(inner_size)
