"""The rows of a stage: tiles of pixels and vectors of channels in registers (see `burn.backend.cpu.lower.tiles`).

What is read lies in memory or in scratch; a row of it begins wherever the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from burn.backend.cpu.lower.blocks.stage import DENSE, POOLING, Stage
from burn.backend.cpu.lower.tiles import Tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Value
from burn.dtype import f32
from burn.engine.lower.windows import Block as Pixels
from burn.engine.lower.windows import cut, is_trivial, span

Place = Value | int
"""A pixel of a row."""


@dataclass
class Sums:
    """What a tile has made: for each pixel, the sums of its vectors of channels."""

    pixels: list[Place]
    totals: Sequence[Value]
    tile: Tile

    def each(self, channel: Value) -> list[tuple[Place, Value, Value]]:
        """Pixels, channels and sums, where `channel` is the one of the first vector."""
        shifts = [vector * self.tile.lanes for vector in range(self.tile.vectors)]
        places = [(pixel, channel + shift) for pixel in self.pixels for shift in shifts]
        return [(pixel, where, total) for (pixel, where), total in zip(places, self.totals, strict=True)]


@dataclass
class Source:
    """What a stage reads: its numbers, the steps between pixels and channels, and its weights.

    `step` is the one of the weight between channels that are read, or between taps where channels read their own.
    """

    image: Buffer
    pixel: int
    channel: int
    weight: Buffer | None
    step: int


class RowWriter:
    """Writes rows of one stage, for the channels of one tile."""

    def __init__(self, b: KernelBuilder, stage: Stage, source: Source, tile: Tile) -> None:
        self.b, self.stage, self.source, self.tile = b, stage, source, tile
        self.tap_step = source.step * (stage.read if stage.kind == DENSE else 1)
        self.row_step = stage.columns.kernel * self.tap_step

    def write(
        self,
        row: Value,
        begin: Callable[[Value], Value],
        weights: Value,
        store: Callable[[Sums], None],
        start: Callable[[Sums], Sequence[Value]] | None = None,
    ) -> None:
        """One row: `begin(row)` is where a row of the image begins, `start` what sums begin as; `store` takes them."""
        b, columns = self.b, self.stage.columns
        for block in cut(columns, self.tile.pixels):

            def make(block: Pixels, shift: Place) -> None:
                places: list[Place] = [shift + pixel for pixel in range(block.start, block.start + block.length)]
                empty = b.const(f32, -inf if self.stage.kind == POOLING else 0.0)
                sums = Sums(places, [empty] * (block.length * self.tile.vectors), self.tile)
                if start is not None:
                    sums.totals = start(sums)
                moved = shift * (columns.stride * self.source.pixel)
                sums.totals = self._totals(block, row, lambda each: begin(each) + moved, weights, sums.totals)
                store(sums)

            if block.repeats == 1:
                make(block, 0)
            else:
                with b.serial(block.repeats) as k:
                    make(block, k * block.length)

    def _totals(
        self, block: Pixels, row: Value, begin: Callable[[Value], Value], weights: Value, totals: Sequence[Value]
    ) -> Sequence[Value]:
        """Over the rows of the window, then over the channels that are read."""
        b, stage, rows = self.b, self.stage, self.stage.rows

        def over_channels(image: Value, kernel: Value, held: Sequence[Value]) -> Any:
            if stage.kind != DENSE or stage.read == 1:
                return self._taps(block, image, kernel, held)
            step = self.source.channel
            return b.loop(
                stage.read,
                held,
                lambda each, *held: self._taps(block, image + each * step, kernel + each * self.source.step, held),
            )

        if is_trivial(rows):
            found = over_channels(begin(row * rows.stride - rows.before), weights, totals)
        else:
            reached = span(b, rows, row)
            found = b.loop(
                reached.taps,
                totals,
                lambda tap, *held: over_channels(
                    begin(reached.place + tap * reached.place_step), weights + (reached.tap + tap) * self.row_step, held
                ),
            )
        return found if isinstance(found, tuple | list) else (found,)

    def _taps(self, block: Pixels, image: Value, kernel: Value, totals: Sequence[Value]) -> list[Value]:
        """One row of the window: each of its numbers is read once for all pixels, taps and vectors."""
        b, columns, made, source = self.b, self.stage.columns, list(totals), self.source
        numbers: dict[int, Value] = {}
        for tap in range(columns.kernel):
            if self.tile.vectors > 1:
                numbers.clear()  # there are no registers to keep them
            vectors = [
                None if source.weight is None
                else b.load(source.weight, kernel + (tap * self.tap_step + vector * self.tile.lanes))
                for vector in range(self.tile.vectors)
            ]  # fmt: skip
            for pixel in range(block.length):
                place = columns.place(block.start + pixel, tap)
                if not 0 <= place < columns.size:
                    continue
                if place not in numbers:
                    numbers[place] = b.load(source.image, image + place * source.pixel)
                for number, vector in enumerate(vectors, pixel * self.tile.vectors):
                    value = numbers[place]
                    made[number] = b.max(made[number], value) if vector is None else b.fma(value, vector, made[number])
        return made
