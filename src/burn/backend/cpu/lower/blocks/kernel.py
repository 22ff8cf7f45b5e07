"""The kernel of a block.

An iteration takes a band of rows of one image. It goes through the channels between the stages in chunks: for each
row that is made, the rows of the first stage that are still missing go into a ring of rows, the middle stage slides
over the ring, and the last stage adds what the chunk contributes to its sums, which wait in the result itself. Rows at
the edge of two bands are made twice; nobody waits for anybody. Without a last stage chunks are independent, and
different iterations take them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from burn.backend.cpu.lower.blocks.choice import cut, tile_for
from burn.backend.cpu.lower.blocks.rows import RowWriter, Source, Sums
from burn.backend.cpu.lower.blocks.stage import DEPTHWISE, Block, Stage, block_of, operands_of
from burn.backend.cpu.lower.tiles import Tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Kernel, Value
from burn.dtype import f32, i64
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.recipe import Recipe
from burn.engine.schedule.access import Access
from burn.engine.target import target
from burn.program.fused import CHANNELS_LAST, Fused
from burn.program.program import Node, Operand

if TYPE_CHECKING:
    from burn.backend.cpu.lower.calls import CpuCalls


def lower_block(calls: CpuCalls, node: Node) -> list[Loop] | None:
    """The steps of a block, or None where a node is none."""
    block = block_of(node)
    return None if block is None else _BlockWriter(calls, node, block).steps()


@dataclass
class _Part:
    """A stage of this very kernel. Two stages of a block may be equal; their weights are not."""

    stage: Stage
    tile: Tile
    weight: Buffer | None
    epilogue: EpilogueWriter


class _BlockWriter:
    def __init__(self, calls: CpuCalls, node: Node, block: Block) -> None:
        self.calls, self.node, self.block = calls, node, block
        image = node.operands[0]
        assert isinstance(image, int)
        self.x = calls.schedule.accesses[image]
        self.out = calls.home(node.results[0])
        self.images = self.x.shape[0]
        found = cut(block, self.images, target().units)
        assert found is not None, "blocks that cannot be cut are not fused"
        self.channels, self.bands = found.channels, found.bands
        self.between = block.middle.made
        self.chunks = self.between // self.channels
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        self.before: list[Loop] = []

    def steps(self) -> list[Loop]:
        """Weights in order, then the kernel."""
        b, block = self.b, self.block
        self.image = self._buffer(self.x)
        parts = [
            self._part(stage, operands)
            for stage, operands in zip(block.stages, operands_of(self.node, block), strict=True)
        ]
        self.first = parts[0] if block.first is not None else None
        self.middle = parts[0 if block.first is None else 1]
        self.last = parts[-1] if block.last is not None else None
        self.arguments.append(Argument("buffer", self.out.value, self.out.offset * f32.size, written=True))
        self.target = b.buffer(f32, write=True, read=self.chunks > 1 and block.last is not None)
        units = self.images * self.bands * (1 if block.last is not None else self.chunks)
        self.arguments += [Argument("size", units), Argument("size", self.bands)]
        total, bands = b.size(), b.size()
        keys = [part.epilogue.key_parts() for part in parts]
        sizes = [(stage.kind, stage.rows, stage.columns, stage.read, stage.made) for stage in block.stages]
        recipe = Recipe(
            "block",
            (sizes, self.x.strides, self.out.strides, self.channels, *(part.tile for part in parts), keys),
            lambda: self._kernel(total, bands),
        )
        return [*self.before, Loop(recipe, self.arguments, units, 1, f"block {block!r}")]

    def _buffer(self, access: Access) -> Buffer:
        self.arguments.append(Argument("buffer", access.value, access.offset * f32.size))
        return self.b.buffer(f32)

    def _part(self, stage: Stage, operands: tuple[Operand, ...]) -> _Part:
        """A stage with its weight in the order in which it is read, and its epilogue."""
        tile, weight = tile_for(self.block, stage, self.channels), None
        if operands and stage.operands > (0 if stage.epilogue is None else len(stage.epilogue.kinds)):
            number, *operands_left = operands
            assert isinstance(number, int)
            steps, held = self.calls.ordered(self._packed(stage, tile, self.calls.schedule.accesses[number]), f32)
            self.before.extend(steps)
            weight = self._buffer(held)
            operands = tuple(operands_left)
        follower = Node(self.node.op, operands, (), self.node.results, Fused(CHANNELS_LAST, stage.epilogue))
        epilogue = EpilogueWriter(self.b, follower, self.calls, self.arguments)
        self.before.extend(epilogue.before)
        return _Part(stage, tile, weight, epilogue)

    def _packed(self, stage: Stage, tile: Tile, weight: Access) -> Access:
        """The weight (made, read, rows, columns) in the order of its kernel."""
        (made, step), read, *kernel = zip(weight.shape, weight.strides, strict=True)
        if stage.kind == DEPTHWISE:
            dims = [*kernel, (made, step)]
        elif stage is self.block.last:
            dims = [read, (made, step)]
        else:
            dims = [(made // tile.channels, tile.channels * step), *kernel, read, (tile.channels, step)]
        return Access(weight.value, tuple(size for size, _ in dims), tuple(each for _, each in dims), weight.offset)

    # The kernel

    def _kernel(self, total: Value, bands: Value) -> Kernel:
        b, block, middle = self.b, self.block, self.block.middle
        self.span = (middle.rows.kernel - 1) * middle.rows.dilation + 1
        self.width = middle.columns.size * self.channels
        if block.first is not None:
            self.ring = b.shared(f32, self.span * self.width)
        if block.last is not None:
            self.line = b.shared(f32, middle.columns.count * self.channels)
        with b.grid(total) as i:
            band, rest = i % bands, i // bands
            start, stop = band * middle.rows.count // bands, (band + 1) * middle.rows.count // bands
            if block.last is not None:
                with b.serial(self.chunks) as chunk:
                    self._rows(rest, chunk, start, stop)
            else:
                self._rows(rest // self.chunks, rest % self.chunks, start, stop)
        return b.finish()

    def _rows(self, image: Value, chunk: Value, start: Value, stop: Value) -> None:
        """The rows of a band, for one chunk of channels."""
        b, rows = self.b, self.block.middle.rows
        with b.serial(stop - start) as index:
            row = start + index
            if self.first is not None:
                first = b.max(row * rows.stride - rows.before, 0)
                end = b.min(row * rows.stride - rows.before + self.span, rows.size)
                known = b.max(b.min((row - 1) * rows.stride - rows.before + self.span, rows.size), first)
                held = b.select(b.eq(index, 0), first, known)
                with b.serial(end - held) as missing:
                    self._first_row(self.first, image, chunk, held + missing)
            self._middle_row(image, chunk, row)
            if self.last is not None:
                self._last_row(self.last, image, chunk, row)

    def _first_row(self, made_by: _Part, image: Value, chunk: Value, row: Value) -> None:
        """A row of the first stage, into its place of the ring."""
        b, stage, tile = self.b, made_by.stage, made_by.tile
        of_image, of_row, of_pixel, of_channel = self.x.strides
        source = Source(self.image, of_pixel, of_channel, made_by.weight, tile.channels)
        writer = RowWriter(b, stage, source, tile)
        parts = self.channels // tile.channels
        with b.serial(parts) as part, b.lane(tile.lanes) as lane:
            inner = part * tile.channels + lane
            channel = chunk * self.channels + inner
            base = (row % self.span) * self.width

            def store(sums: Sums) -> None:
                for pixel, shifted, total in sums.each(inner):
                    made = made_by.epilogue.applied(total, shifted, channel + (shifted - inner))
                    b.store(self.ring, base + pixel * self.channels + shifted, made)

            weights = (chunk * parts + part) * (stage.rows.kernel * writer.row_step) + lane
            writer.write(row, lambda each: image * of_image + each * of_row, weights, store)

    def _middle_row(self, image: Value, chunk: Value, row: Value) -> None:
        """A row of the middle stage, from the ring or the image."""
        b, stage, tile = self.b, self.middle.stage, self.middle.tile
        of_image, of_row, of_pixel, _ = self.x.strides
        ringed = self.block.first is not None
        held, step = (self.ring, self.channels) if ringed else (self.image, of_pixel)
        writer = RowWriter(b, stage, Source(held, step, 1, self.middle.weight, self.between), tile)
        base = (image * stage.rows.count + row) * stage.columns.count
        with b.lane(self.channels) as lane:
            channel = chunk * self.channels + lane

            def begin(each: Value) -> Value:
                place: Value = lane + (each % self.span) * self.width
                if not ringed:
                    place = channel + image * of_image + each * of_row
                return place

            def store(sums: Sums) -> None:
                for pixel, _, total in sums.each(channel):
                    place = (base + pixel) * self.out.strides[-2] + channel
                    made = self.middle.epilogue.applied(total, place, channel)
                    if self.block.last is not None:
                        b.store(self.line, lane + pixel * self.channels, made)
                    else:
                        b.store(self.target, place, made)

            writer.write(row, begin, channel, store)

    def _last_row(self, made_by: _Part, image: Value, chunk: Value, row: Value) -> None:
        """What a chunk contributes to a row of the last stage; the last chunk finishes it."""
        b, stage, tile = self.b, made_by.stage, made_by.tile
        part_of = Stage(stage.kind, stage.rows, stage.columns, self.channels, stage.made)
        writer = RowWriter(b, part_of, Source(self.line, self.channels, 1, made_by.weight, stage.made), tile)
        base = (image * stage.rows.count + row) * stage.columns.count
        with b.serial(stage.made // tile.channels) as part, b.lane(tile.lanes) as lane:
            channel = part * tile.channels + lane

            def waiting(sums: Sums) -> Sequence[Value]:
                def held() -> list[Value]:
                    places = [(base + pixel) * self.out.strides[-2] + where for pixel, where, _ in sums.each(channel)]
                    return [b.load(self.target, place) for place in places]

                found = b.branch(b.eq(chunk, 0), lambda: [b.const(f32, 0.0) for _ in sums.totals], held)
                return (found,) if isinstance(found, Value) else found

            def finish(sums: Sums) -> None:
                for pixel, where, total in sums.each(channel):
                    place = (base + pixel) * self.out.strides[-2] + where
                    b.store(self.target, place, made_by.epilogue.applied(total, place, where))

            def store(sums: Sums) -> None:
                if self.chunks == 1:
                    finish(sums)
                    return
                is_last = b.eq(chunk, self.chunks - 1)
                with b.when(is_last):
                    finish(sums)
                with b.when(~is_last):
                    for pixel, where, total in sums.each(channel):
                        b.store(self.target, (base + pixel) * self.out.strides[-2] + where, total)

            weights = chunk * (self.channels * stage.made) + channel
            start = waiting if self.chunks > 1 else None
            writer.write(row, lambda each: b.const(i64, 0), weights, store, start)
