"""The kernel of one convolution of channels-last images.

A thread takes pieces of work one after the other: it maps the patches of a block of tiles into its scratch memory;
there, for each panel of channels, one product of matrices (tiles by channels) for each point, whose results are mapped
back to pixels while they are in the cache. The order in which numbers are added does not depend on how the work is
cut, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from burn.backend.cpu.lower.winograd.blocking import PADDING, blocking
from burn.backend.cpu.lower.winograd.maps import Scheme, square
from burn.backend.cpu.lower.winograd.weight import mapped_weight
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK, summed
from burn.engine.lower.recipe import Recipe
from burn.engine.schedule.access import Access
from burn.engine.target import target
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.backend.cpu.lower.calls import CpuCalls
    from burn.backend.cpu.lower.direct import Window


class Winograd:
    """Writes the steps of one convolution."""

    def __init__(
        self, calls: CpuCalls, node: Node, x: Access, out: Access, windows: Sequence[Window], scheme: Scheme
    ) -> None:
        self.calls, self.node, self.x, self.out, self.scheme = calls, node, x, out, scheme
        self.rows, self.columns = windows
        self.read, self.made, self.images = x.shape[-1], out.shape[-1], x.shape[0]
        self.across, self.down = -(-self.columns.count // scheme.tile), -(-self.rows.count // scheme.tile)
        self.total = self.images * self.across * self.down
        self.threads = target().units
        self.cut = blocking(scheme, self.read, self.made, self.total, self.threads)
        self.panels = self.made // self.cut.width
        self.blocks = -(-self.total // self.cut.tiles)
        self.workers = min(self.threads, self.blocks * self.cut.groups)
        self.row = self.read + PADDING
        self.b = KernelBuilder()

    def mapped_weight(self, weight: Access) -> tuple[list[Loop], Access]:
        """The steps that map a weight (made, read, 3, 3), and the result."""
        return mapped_weight(self.calls, weight, self.scheme, self.cut)

    def write(self, weight: Access, label: str) -> Loop:
        """Threads on the grid; each goes through its pieces of work."""
        b, cut, points = self.b, self.cut, self.scheme.points
        patches = self.calls.temporary(self.workers * points * cut.tiles * self.row * f32.size)
        products = self.calls.temporary(self.workers * points * cut.tiles * cut.width * f32.size)
        arguments = [
            Argument("buffer", self.x.value, self.x.offset * f32.size),
            Argument("buffer", weight.value, weight.offset * f32.size),
            *(Argument("buffer", number, written=True) for number in (patches, products)),
            Argument("buffer", self.out.value, self.out.offset * f32.size, written=True),
        ]
        self.image, self.weight = b.buffer(f32), b.buffer(f32)
        self.patches, self.products = b.buffer(f32, write=True, read=True), b.buffer(f32, write=True, read=True)
        self.target = b.buffer(f32, write=True)
        sizes = (self.workers, self.blocks * cut.groups, self.blocks, self.total)
        arguments += [Argument("size", each) for each in sizes]
        workers, pieces, blocks, self.tile_count = (b.size() for _ in sizes)
        self.epilogue = EpilogueWriter(b, self.node, self.calls, arguments)
        parts = (self.scheme, cut, self.rows, self.columns, self.x.strides, self.out.strides, self.made, self.read,
                 *self.epilogue.key_parts())  # fmt: skip
        recipe = Recipe("winograd", parts, lambda: self._kernel(workers, pieces, blocks))
        name, then, rest = label.partition(" then ")
        return Loop(recipe, arguments, self.workers, 1, f"{name} in tiles of {self.scheme.tile}{then}{rest}")

    def _kernel(self, workers: Value, pieces: Value, blocks: Value) -> Kernel:
        b, cut, points = self.b, self.cut, self.scheme.points
        count = self.panels // cut.groups
        with b.grid(workers) as worker:
            begin, end = worker * pieces // workers, (worker + 1) * pieces // workers
            self.patches_of = worker * (points * cut.tiles * self.row)
            self.products_of = worker * (points * cut.tiles * cut.width)
            with b.serial(end - begin) as each:
                piece = begin + each
                first, group = piece % blocks * cut.tiles, piece // blocks
                with b.serial(cut.tiles) as tile:
                    self._map_patch(first, tile)
                with b.serial(count) as k:
                    panel = group * count + k
                    with b.serial(points) as point:
                        self._multiply(panel, point)
                    with b.serial(cut.tiles) as tile:
                        self._map_back(first, tile, panel)
        return b.finish()

    def _where(self, flat: Value) -> tuple[Value, Value, Value]:
        """The image of a tile, and its first row and column."""
        flat, size = self.b.min(flat, self.tile_count - 1), self.scheme.tile
        image, rest = flat // (self.across * self.down), flat % (self.across * self.down)
        return image, rest // self.across * size, rest % self.across * size

    def _map_patch(self, first: Value, tile: Value) -> None:
        """The patch of a tile, for all channels that are read; what lies outside of the image is zero.

        Which of its columns do is part of the code, written once for each kind of tile in a row: at the left, inside,
        at the right. Rows that do are skipped.
        """
        image, row, column = self._where(first + tile)
        of_image, of_row, of_pixel, _ = self.x.strides
        top, left = row - self.rows.before, column - self.columns.before
        start = image * of_image + top * of_row + left * of_pixel
        inside = [(top + y >= 0) & (top + y < self.rows.size) for y in range(self.scheme.patch)]
        self._of_kind(self._kinds(), column, lambda there: self._mapped(start, inside, there, tile))

    def _kinds(self) -> list[tuple[tuple[bool, ...], int]]:
        """From left to right, which columns of a patch lie in the image, and the first column of tiles behind these."""
        size, columns = self.scheme.tile, self.columns
        lefts = range(-columns.before, self.across * size - columns.before, size)
        there = [tuple(0 <= left + x < columns.size for x in range(self.scheme.patch)) for left in lefts]
        ends = [end for end in range(1, self.across + 1) if end == self.across or there[end] != there[end - 1]]
        return [(there[end - 1], end * size) for end in ends]

    def _of_kind(
        self, kinds: list[tuple[tuple[bool, ...], int]], column: Value, write: Callable[[tuple[bool, ...]], None]
    ) -> None:
        (there, end), *others = kinds
        if others:
            self.b.branch(column < end, lambda: write(there), lambda: self._of_kind(others, column, write))
        else:
            write(there)

    def _mapped(self, start: Value, inside: list[Value], there: tuple[bool, ...], tile: Value) -> None:
        b, scheme, zero = self.b, self.scheme, self.b.const(f32, 0.0)
        _, of_row, of_pixel, of_channel = self.x.strides
        with b.lane(self.read) as channel:

            def line(y: int) -> list[Value]:
                places = [start + (y * of_row + x * of_pixel) + channel * of_channel for x in range(scheme.patch)]
                pixels = zip(places, there, strict=True)
                return scheme.of_patch(b, [b.load(self.image, place) if has else zero for place, has in pixels])

            lines = [b.branch(each, partial(line, y), lambda: [zero] * scheme.patch) for y, each in enumerate(inside)]
            columns = [scheme.of_patch(b, each) for each in zip(*lines, strict=True)]
            for point, value in enumerate(each for line in zip(*columns, strict=True) for each in line):
                place = (tile + point * self.cut.tiles) * self.row + channel
                b.store(self.patches, self.patches_of + place, value)

    def _multiply(self, panel: Value, point: Value) -> None:
        """One point of all tiles and one panel: a product of matrices, whose results stay in registers until done."""
        b, cut = self.b, self.cut
        weights = (panel * self.scheme.points + point) * (self.read * cut.width)
        for start, rows, repeats in cut.runs():
            with b.serial(repeats) as k:
                tile = point * cut.tiles + start + k * rows
                numbers = self.patches_of + tile * self.row
                made = self.products_of + tile * cut.width
                with b.lane(cut.lanes) as lane:
                    self._rows(rows, weights + lane, numbers, made + lane)

    def _rows(self, rows: int, weights: Value, numbers: Value, made: Value) -> None:
        """Some tiles and the vectors of a panel."""
        b, cut = self.b, self.cut

        def body(channel: Value, *totals: Value) -> list[Value]:
            place = weights + channel * cut.width
            vectors = [b.load(self.weight, place + v * cut.lanes) for v in range(cut.vectors)]
            following: list[Value] = []
            for row in range(rows):
                number = b.load(self.patches, numbers + channel + row * self.row)
                for v, vector in enumerate(vectors):
                    following.append(b.fma(number, vector, totals[row * cut.vectors + v]))
            return following

        zeros = [b.const(f32, 0.0) for _ in range(rows * cut.vectors)]
        for position, total in enumerate(summed(b, self.read, zeros, body, deep=self.read > BLOCK)):
            b.store(self.products, made + position * cut.lanes, total)

    def _map_back(self, first: Value, tile: Value, panel: Value) -> None:
        """The pixels of a tile, as far as the image has them."""
        b, rows, columns, cut, scheme = self.b, self.rows, self.columns, self.cut, self.scheme
        image, row, column = self._where(first + tile)
        inside = first + tile < self.tile_count

        def store(y: int, x: int, value: Value, lane: Value) -> None:
            channel = panel * cut.width + lane
            place = ((image * rows.count + row + y) * columns.count + column + x) * self.out.strides[-2] + channel
            b.store(self.target, place, self.epilogue.applied(value, place, channel))

        with b.when(inside), b.lane(cut.width) as lane:
            places = [(tile + point * cut.tiles) * cut.width + lane for point in range(scheme.points)]
            points = [b.load(self.products, self.products_of + place) for place in places]
            lines = [points[start : start + scheme.patch] for start in range(0, scheme.points, scheme.patch)]
            made = square(b, lines, scheme.of_products)
            for y in range(scheme.tile):
                with b.when(row + y < rows.count) if y and rows.count % scheme.tile else nullcontext():
                    for x in range(scheme.tile):
                        with b.when(column + x < columns.count) if x and columns.count % scheme.tile else nullcontext():
                            store(y, x, made[y][x], lane)
