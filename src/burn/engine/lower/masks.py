"""Random masks inside loops: a Bernoulli draw is computed where it is read, and needs no memory of its own.

A block of the generator gives four neighbouring elements, and lanes of a loop are neighbouring elements, so a loop
first draws what its iteration needs, block by block, into an array on the stack, and then reads it from there.
"""

from __future__ import annotations

from typing import Any

from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Value
from burn.cube.random import philox, random_word, unit_f32
from burn.dtype import DType, f32, i64, u64
from burn.engine.target import tile_sizes

ELEMENTS = 4
"""Elements in a block of the generator."""


class Mask:
    """One draw in a loop; `room` is the most elements that an iteration of its grid reads."""

    def __init__(
        self, b: KernelBuilder, dtype: DType, room: int, seed: Value, offset: Value, probability: Value
    ) -> None:
        self.b, self.dtype = b, dtype
        self.seed, self.offset, self.probability = seed, offset, b.cast(probability, f32)
        kept = room <= tile_sizes().longest_kept  # else each element draws its block alone
        self.held: Buffer | None = b.shared(dtype, room + 2 * ELEMENTS) if kept else None
        self.start: Any = 0
        self.shift: Any = 0

    def begin(self, start: Any, length: Value) -> None:
        """Draw the elements of one iteration, which begin with element `start` of the whole."""
        b = self.b
        self.start = b.const(i64, start) if isinstance(start, int) else start
        if self.held is None:
            return
        first, self.shift = self.start >> 2, self.start & (ELEMENTS - 1)
        with b.lane((self.shift + length + (ELEMENTS - 1)) >> 2) as j:
            words = philox(b, self.seed, self.offset + b.cast(first + j, u64))
            values = [self._of(word) for word in words]
            places = [j * ELEMENTS + position for position in range(ELEMENTS)]
            for place, value in zip(places, values, strict=True):
                b.store(self.held, place, value)

    def at(self, j: Value) -> Value:
        """Element `j` of this iteration."""
        if self.held is None:
            return self._of(random_word(self.b, self.seed, self.offset, self.start + j))
        return self.b.load(self.held, self.shift + j)

    def _of(self, word: Value) -> Value:
        return self.b.cast(unit_f32(self.b, word) < self.probability, self.dtype)
