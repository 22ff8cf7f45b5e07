"""The sum of the parts of a product whose depth was cut, and what follows the product.

The parts are summed in order (`burn.engine.lower.partial_sums`).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import DType
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import sum_of_parts
from burn.engine.lower.recipe import Recipe
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

BLOCK = 128
"""Elements of one iteration."""


class Total:
    """Writes the kernel that sums `count` results of a shape."""

    def __init__(self, shape: tuple[int, ...], count: int, given: DType, made: DType) -> None:
        self.shape, self.count, self.given, self.made = shape, count, given, made
        self.b = KernelBuilder()

    def write(self, source: int, target: int, node: Node, calls: Calls) -> Loop:
        """Elements on lanes; the parts of each are read one after the other."""
        b, elements = self.b, prod(self.shape)
        self.source, self.target = b.buffer(self.given), b.buffer(self.made, write=True)
        extent = -(-elements // BLOCK)
        sizes = (extent, elements, self.count, self.shape[-1])
        arguments = [Argument("buffer", source), Argument("buffer", target, written=True)]
        arguments += [Argument("size", size) for size in sizes]
        declared = [b.size() for _ in sizes]
        self.epilogue = EpilogueWriter(b, node, calls, arguments)
        parts = (self.given.name, self.made.name, *self.epilogue.key_parts())
        recipe = Recipe("total of parts", parts, lambda: self._kernel(*declared))
        return Loop(recipe, arguments, extent, extent, "sum of parts", kept=False)

    def _kernel(self, extent: Value, elements: Value, count: Value, columns: Value) -> Kernel:
        b = self.b
        with b.grid(extent) as i:
            first = i * BLOCK
            with b.lane(b.min(elements - first, BLOCK)) as lane:
                place = first + lane
                total = sum_of_parts(b, self.source, place, count, elements)
                b.store(self.target, place, self.epilogue.applied(total, place, place % columns))
        return b.finish()
