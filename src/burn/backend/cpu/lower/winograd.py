"""Convolutions with windows of 3 by 3 in fewer multiplications: Winograd's F(2x2, 3x3).

A tile of two by two pixels is made from a patch of four by four. Both the patches and the windows of the weight go
through a linear map; there, sixteen products of matrices (tiles by channels) take the place of the convolution, with
16 multiplications where 36 were, and another map leads back. The maps add and halve, so the error is that of the plain
computation. Infinity is different: a patch that has one gives NaN to all four pixels of its tile.

One iteration takes a block of tiles through all three steps, in scratch memory that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.features import host_features
from burn.backend.cpu.lower.access import Access, contiguous_strides
from burn.backend.cpu.lower.copies import Packing
from burn.backend.cpu.lower.epilogue import EpilogueWriter
from burn.backend.cpu.lower.loop_parts import Argument, Loop
from burn.backend.cpu.pool import pool
from burn.backend.cpu.recipe import Recipe
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.backend.cpu.lower.direct import Window
    from burn.backend.cpu.lower.library import Calls, Step

LANES = 16
PATCH, TILE = 4, 2
POINTS = PATCH * PATCH
MOST_TILES, FEW_REGISTERS = 24, 10
"""Tiles of a block: as many as registers hold beside a vector of weights, where there are 32 of them and where 16."""

FEWEST_CHANNELS = 32
"""Channels, read and made, from which on the maps cost less than they save."""

FEWEST_TILES = 12
"""Tiles of all images together below which there is nothing to save."""

MOST_CHANNELS = 1024
"""Channels read: more need too much scratch memory."""

SCRATCH = 1 << 19
"""Bytes of scratch memory for the patches of a block: they lie on the stack of a thread."""

RESIDENT = 1 << 20
"""Bytes of weights that stay in the cache of one processor; of more, channels are made in chunks."""

REUSED = 32
"""Tiles for which the weights, sixteen ninths of what they were, must be read if they are larger than that by far."""

CHUNKS = 2
"""Chunks for each thread where there is one block of tiles."""


def fits(read: int, made: int, batch: int, windows: Sequence[Window]) -> bool:
    """Whether a convolution is one of these, and large enough."""
    if len(windows) != 2 or any((w.kernel, w.stride, w.dilation) != (3, 1, 1) for w in windows):
        return False
    tiles = batch * prod(-(-window.count // TILE) for window in windows)
    channels = made % LANES == 0 and min(read, made) >= FEWEST_CHANNELS and read <= MOST_CHANNELS
    streamed = POINTS * read * made * f32.size > 8 * RESIDENT
    return channels and tiles >= (REUSED if streamed else FEWEST_TILES)


def mapped_weight(calls: Calls, weight: Access) -> tuple[list[Step], Access]:
    """The steps that map a weight (made, read, 3, 3), and the result as (made / lanes, point, read, lanes)."""
    made, read = weight.shape[:2]
    shape = (made // LANES, POINTS, read, LANES)
    number = calls.temporary(prod(shape) * f32.size)
    b = KernelBuilder()
    source, target = b.buffer(f32), b.buffer(f32, write=True)
    arguments = [
        Argument("buffer", weight.value, weight.offset * f32.size),
        Argument("buffer", number, written=True),
        Argument("size", made // LANES * read),
        Argument("size", read),
        *(Argument("size", stride) for stride in weight.strides),
    ]
    total, depth = b.size(), b.size()
    of_made, of_read, of_row, of_column = (b.size() for _ in weight.strides)
    with b.grid(total) as i:
        part, channel = i // depth, i % depth
        with b.lane(LANES) as lane:
            base = (part * LANES + lane) * of_made + channel * of_read
            window = [[b.load(source, base + of_row * y + of_column * x) for x in range(3)] for y in range(3)]
            points = _both(window, lambda line: _weight_line(b, line))
            for point, value in enumerate(each for line in points for each in line):
                b.store(target, (part * POINTS + point) * (depth * LANES) + channel * LANES + lane, value)
    step = Packing(b.finish(), arguments, made // LANES * read, 256, "map weights")
    return [step], Access(number, shape, contiguous_strides(shape))


def _weight_line(b: KernelBuilder, line: Sequence[Value]) -> list[Value]:
    first, second, third = line
    outer = first + third
    return [first, (outer + second) * 0.5, (outer - second) * 0.5, third]


def _patch_line(line: Sequence[Value]) -> list[Value]:
    a, b, c, d = line
    return [a - c, b + c, c - b, b - d]


def _tile_line(line: Sequence[Value]) -> list[Value]:
    a, b, c, d = line
    return [a + b + c, b - c - d]


def _both(square: Sequence[Sequence[Value]], change: Any) -> list[list[Value]]:
    """A map of lines, applied to the rows and then to the columns."""
    rows = [change(line) for line in square]
    columns = [change(line) for line in zip(*rows, strict=True)]
    return [list(line) for line in zip(*columns, strict=True)]


class Winograd:
    """Writes the kernel of one convolution of channels-last images."""

    def __init__(self, calls: Calls, node: Node, x: Access, out: Access, windows: Sequence[Window]) -> None:
        self.calls, self.node, self.x, self.out = calls, node, x, out
        self.rows, self.columns = windows
        self.read, self.made, self.images = x.shape[-1], out.shape[-1], x.shape[0]
        self.across, self.down = -(-self.columns.count // TILE), -(-self.rows.count // TILE)
        self.total = self.images * self.across * self.down
        self.threads = pool().threads
        most = MOST_TILES if host_features().vector_bits == 512 else FEW_REGISTERS
        most = min(most, SCRATCH // (POINTS * self.read * f32.size))
        self.tiles = min(range(1, min(most, self.total) + 1), key=self._cost)
        self.blocks = -(-self.total // self.tiles)
        self.b = KernelBuilder()

    def _cost(self, tiles: int) -> float:
        """How long the slowest thread takes with blocks of so many tiles: weights are read once for each block."""
        blocks = -(-self.total // tiles)
        shared = blocks / self.threads if blocks < self.threads else -(-blocks // self.threads)
        return shared * (tiles + 2.0)

    def write(self, weight: Access, label: str) -> Loop:
        """Blocks of tiles and chunks of channels on the grid."""
        b = self.b
        accesses = (self.x, weight, self.out)
        arguments = [
            Argument("buffer", each.value, each.offset * f32.size, written=each is self.out) for each in accesses
        ]
        self.image, self.weight, self.target = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
        parts = self.made // LANES
        size = POINTS * self.read * self.made * f32.size
        wanted = -(-size // RESIDENT) if self.blocks >= self.threads else CHUNKS * self.threads
        chunk = next(count for count in range(-(-parts // min(wanted, parts)), 0, -1) if parts % count == 0)
        extent = self.blocks * (parts // chunk)
        arguments += [Argument("size", extent), Argument("size", self.blocks), Argument("size", self.total)]
        total, blocks, self.tile_count = b.size(), b.size(), b.size()
        self.epilogue = EpilogueWriter(b, self.node, self.calls, arguments)
        sizes = (self.rows, self.columns, self.x.strides, self.made, self.read, self.tiles, self.across, self.down)
        key = (*sizes, chunk, *self.epilogue.key_parts())
        recipe = Recipe("winograd", key, lambda: self._kernel(total, blocks, chunk))
        return Loop(recipe, arguments, extent, 1, label)

    def _kernel(self, total: Value, blocks: Value, chunk: int) -> Kernel:
        b = self.b
        self.patches = b.shared(f32, POINTS * self.tiles * self.read)
        self.products = b.shared(f32, POINTS * self.tiles * LANES)
        with b.grid(total) as i:
            first = (i % blocks) * self.tiles
            with b.serial(self.tiles) as tile:
                self._map_patch(first, tile)
            with b.serial(chunk) as k:
                part = (i // blocks) * chunk + k
                with b.serial(POINTS) as point, b.lane(LANES) as lane:
                    self._multiply(part, point, lane)
                with b.serial(self.tiles) as tile:
                    self._map_back(first, tile, part)
        return b.finish()

    def _where(self, flat: Value) -> tuple[Value, Value, Value]:
        """The image of a tile, and its first row and column."""
        b = self.b
        flat = b.min(flat, self.tile_count - 1)
        image, rest = flat // (self.across * self.down), flat % (self.across * self.down)
        return image, rest // self.across * TILE, rest % self.across * TILE

    def _map_patch(self, first: Value, tile: Value) -> None:
        """The patch of a tile, for all channels that are read; what lies outside of the image is zero."""
        b, rows, columns = self.b, self.rows, self.columns
        image, row, column = self._where(first + tile)
        of_image, of_row, of_pixel, of_channel = self.x.strides
        lines = [row + (y - rows.before) for y in range(PATCH)]
        places = [column + (x - columns.before) for x in range(PATCH)]
        in_line = [(y >= 0) & (y < rows.size) for y in lines]
        in_place = [(x >= 0) & (x < columns.size) for x in places]
        starts = [image * of_image + b.min(b.max(y, 0), rows.size - 1) * of_row for y in lines]
        steps = [b.min(b.max(x, 0), columns.size - 1) * of_pixel for x in places]
        zero = b.const(f32, 0.0)
        with b.lane(self.read) as channel:
            patch = [
                [
                    b.select(
                        in_line[y] & in_place[x], b.load(self.image, starts[y] + steps[x] + channel * of_channel), zero
                    )
                    for x in range(PATCH)
                ]
                for y in range(PATCH)
            ]
            mapped = _both(patch, _patch_line)
            for point, value in enumerate(each for line in mapped for each in line):
                b.store(self.patches, (tile + point * self.tiles) * self.read + channel, value)

    def _multiply(self, part: Value, point: Value, lane: Value) -> None:
        """One point of all tiles: a product of matrices."""
        b = self.b
        weights = (part * POINTS + point) * (self.read * LANES) + lane
        numbers = point * (self.tiles * self.read)

        def body(channel: Value, *totals: Value) -> list[Value]:
            vector = b.load(self.weight, weights + channel * LANES)
            return [
                b.fma(b.load(self.patches, numbers + channel + tile * self.read), vector, total)
                for tile, total in enumerate(totals)
            ]

        totals = b.loop(self.read, [b.const(f32, 0.0) for _ in range(self.tiles)], body)
        for tile, total in enumerate(totals if isinstance(totals, tuple) else (totals,)):
            b.store(self.products, (point * self.tiles + tile) * LANES + lane, total)

    def _map_back(self, first: Value, tile: Value, part: Value) -> None:
        """The four pixels of a tile, as far as the image has them."""
        b, rows, columns = self.b, self.rows, self.columns
        image, row, column = self._where(first + tile)
        inside = first + tile < self.tile_count

        def store(y: int, x: int, value: Value, lane: Value) -> None:
            channel = part * LANES + lane
            place = ((image * rows.count + row + y) * columns.count + column + x) * self.made + channel
            b.store(self.target, place, self.epilogue.applied(value, place, channel))

        with b.when(inside), b.lane(LANES) as lane:
            points = [b.load(self.products, (tile + point * self.tiles) * LANES + lane) for point in range(POINTS)]
            made = _both([points[start : start + PATCH] for start in range(0, POINTS, PATCH)], _tile_line)
            for y in range(TILE):
                for x in range(TILE):
                    conditions = []
                    if y and rows.count % TILE:
                        conditions.append(row + y < rows.count)
                    if x and columns.count % TILE:
                        conditions.append(column + x < columns.count)
                    if not conditions:
                        store(y, x, made[y][x], lane)
                        continue
                    both = conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1]
                    with b.when(both):
                        store(y, x, made[y][x], lane)
