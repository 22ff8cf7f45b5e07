"""Gradients of weights with windows of 3 by 3 in fewer multiplications.

Winograd's F(2x2, 3x3) makes two by two pixels from a patch of four by four and a window of three by three by way of
sixteen products. Seen from the window, it takes a patch and the gradients of two by two pixels to the gradient of the
window, with the maps of pixels and window turned around: 16 multiplications where 36 were. The maps add and halve, so
the error is that of the plain computation. Sums over all tiles are taken between the maps; the last map is done once.

One iteration takes a part of the tiles and some of the channels that are made, block by block, in memory that stays in
the cache. The parts follow from the shapes alone, and are added in order: see `weight_gradient`. Where there are few
tiles with many channels, the patches of all of them are mapped first, and there is one part and one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32, i64
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import sum_of_parts
from burn.engine.lower.recipe import Recipe
from burn.engine.lower.windows import Window
from burn.engine.schedule.access import Access
from burn.engine.target import grain_of

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

PATCH, TILE = 4, 2
POINTS = PATCH * PATCH

FEWEST_CHANNELS, MOST_CHANNELS = 32, 256
"""Channels from which on the maps cost less than they save, and up to which sums stay in the cache between blocks."""

FEWEST_TILES = 128
"""Tiles of all images below which there is too little to add up."""

CHUNK = 64
"""Channels made by one iteration."""

ITEMS = 16
"""Parts and chunks that there should be, so that several threads find work."""

SCRATCH = 1 << 18
"""Bytes of the mapped patches of a block."""

LARGEST_BLOCK = 32

PADDING = 16

WHOLE = 1 << 23
"""Bytes of mapped patches up to which those of all tiles are kept."""

MOST_TOGETHER = 512
"""Tiles up to which that is done."""

Line = Sequence[Value]


@dataclass(frozen=True)
class Form:
    """What the code depends on; strides are those of x: image, row, pixel, channel.

    `whole` tells that one block has all tiles; the channels that are read are then taken in several `sections`.
    """

    rows: Window
    columns: Window
    strides: tuple[int, ...]
    read: int
    made: int
    chunk: int
    block: int
    vectors: int
    depth: int
    whole: bool
    sections: int

    @property
    def row(self) -> int:
        """Numbers from one mapped patch to the next: with powers of two all would meet in a few lines of the cache."""
        return self.read + PADDING

    @property
    def across(self) -> int:
        """Tiles of a row."""
        return -(-self.columns.count // TILE)

    @property
    def down(self) -> int:
        """Rows of tiles."""
        return -(-self.rows.count // TILE)


def fits(read: int, made: int, batch: int, windows: Sequence[Window]) -> bool:
    """Whether the gradient of a weight is one of these, and large enough."""
    if len(windows) != 2 or any((w.kernel, w.stride, w.dilation) != (3, 1, 1) for w in windows):
        return False
    tiles = batch * prod(-(-window.count // TILE) for window in windows)
    channels = made % _lanes() == 0 and min(read, made) >= FEWEST_CHANNELS and max(read, made) <= MOST_CHANNELS
    return channels and tiles >= FEWEST_TILES


def _is_whole(tiles: int, read: int) -> bool:
    """Whether the patches of all tiles are mapped at once."""
    return tiles <= MOST_TOGETHER and tiles * POINTS * read * f32.size <= WHOLE


def _lanes() -> int:
    return features().vector_bits // 32


def lower_tiled_gradient(
    calls: Calls, x: Access, gradient: Access, weight: Access, windows: Sequence[Window], label: str
) -> list[Loop]:
    """The steps that make the gradient of a weight (out, in, 3, 3) from channels-last images."""
    rows, columns = windows
    images, read, made = x.shape[0], x.shape[-1], gradient.shape[-1]
    chunk = next(each for each in range(CHUNK, 0, -_lanes()) if made % each == 0)
    vectors = next(each for each in (4, 3, 2, 1) if chunk // _lanes() % each == 0 and each * 4 < features().registers)
    depth = (features().registers - 1 - vectors) // vectors
    tiles = images * -(-rows.count // TILE) * -(-columns.count // TILE)
    whole = _is_whole(tiles, read)
    block = tiles if whole else max(8, min(LARGEST_BLOCK, SCRATCH // (POINTS * read * f32.size)))
    sections = 2 if whole and made // chunk < ITEMS // 2 and read % 2 == 0 else 1
    form = Form(rows, columns, tuple(x.strides), read, made, chunk, block, vectors, depth, whole, sections)
    parts = 1 if whole else max(1, min(ITEMS * chunk // made, tiles // (4 * block)))
    items = parts * (made // chunk) * sections
    sums = calls.temporary(parts * POINTS * read * made * f32.size)
    patches = calls.temporary((1 if whole else items) * POINTS * block * form.row * f32.size)
    pulls = calls.temporary(items * POINTS * block * chunk * f32.size)
    steps: list[Loop] = [_Tiled(form).mapping(x, patches, tiles)] if whole else []
    products = _Tiled(form).products(x, gradient, (sums, patches, pulls), tiles, parts, f"{label} in tiles")
    return [*steps, products, _mapped_back(form, sums, weight, parts)]


class _Tiled:
    def __init__(self, form: Form) -> None:
        self.form, self.b = form, KernelBuilder()

    def mapping(self, x: Access, patches: int, tiles: int) -> Loop:
        """The step that maps the patches of all tiles."""
        b, form = self.b, self.form
        arguments = [
            Argument("buffer", x.value, x.offset * f32.size),
            Argument("buffer", patches, written=True),
            Argument("size", tiles),
        ]
        self.image, self.patches = b.buffer(f32), b.buffer(f32, write=True)
        total = b.size()

        def write() -> Kernel:
            with b.grid(total) as tile:
                self._map_patch(tile, tile, b.const(i64, 0))
            return b.finish()

        recipe = Recipe("tiled weight gradient patches", tuple(vars(form).values()), write)
        return Loop(recipe, arguments, tiles, grain_of(POINTS * form.read), "map patches")

    def products(
        self, x: Access, gradient: Access, held: tuple[int, int, int], tiles: int, parts: int, label: str
    ) -> Loop:
        """Parts of the tiles and chunks of channels on the grid, sums as (chunk, part, read, point, made in chunk)."""
        b, form = self.b, self.form
        items = parts * (form.made // form.chunk) * form.sections
        sums, patches, pulls = held
        arguments = [
            Argument("buffer", x.value, x.offset * f32.size),
            Argument("buffer", gradient.value, gradient.offset * f32.size),
            Argument("buffer", sums, written=True),
            Argument("buffer", patches, written=not form.whole),
            Argument("buffer", pulls, written=True),
            *(Argument("size", each) for each in (items, tiles, parts)),
        ]
        self.image, self.gradient = b.buffer(f32), b.buffer(f32)
        self.sums = b.buffer(f32, write=True, read=True)
        self.patches = b.buffer(f32) if form.whole else b.buffer(f32, write=True, read=True)
        self.pulls = b.buffer(f32, write=True, read=True)
        total, self.tiles, self.parts = b.size(), b.size(), b.size()
        recipe = Recipe("tiled weight gradient", tuple(vars(form).values()), lambda: self._kernel(total))
        return Loop(recipe, arguments, items, 1, label)

    def _kernel(self, total: Value) -> Kernel:
        b, form = self.b, self.form
        size = form.read * form.chunk
        with b.grid(total) as i:
            section, rest = (i % form.sections, i // form.sections) if form.sections > 1 else (b.const(i64, 0), i)
            part, chunk = rest % self.parts, rest // self.parts
            self.first_channel = chunk * form.chunk
            self.first_read = section * (form.read // form.sections)
            self.sums_of = rest * (POINTS * size)
            self.patches_of = b.const(i64, 0) if form.whole else i * (POINTS * form.block * form.row)
            self.pulls_of = i * (POINTS * form.block * form.chunk)
            if form.whole:
                self._block(b.const(i64, 0), self.tiles)
            else:
                with b.serial(form.read * POINTS) as each, b.lane(form.chunk) as lane:
                    b.store(self.sums, self.sums_of + each * form.chunk + lane, 0.0)
                begin, end = part * self.tiles // self.parts, (part + 1) * self.tiles // self.parts
                with b.serial((end - begin + (form.block - 1)) // form.block) as k:
                    first = begin + k * form.block
                    self._block(first, b.min(end - first, form.block))
        return b.finish()

    def _block(self, first: Value, count: Value) -> None:
        """Some tiles: their maps, then the products of each point."""
        b = self.b
        with b.serial(count) as tile:
            if not self.form.whole:
                self._map_patch(first + tile, tile, self.patches_of)
            self._map_pulls(first + tile, tile)
        with b.serial(POINTS) as point:
            self._multiply(point, count)

    def _where(self, flat: Value) -> tuple[Value, Value, Value]:
        """The image of a tile, and its first row and column."""
        form = self.form
        image, rest = flat // (form.across * form.down), flat % (form.across * form.down)
        return image, rest // form.across * TILE, rest % form.across * TILE

    def _map_patch(self, flat: Value, tile: Value, start: Value) -> None:
        """The patch of a tile; what lies outside of the image is zero."""
        b, form = self.b, self.form
        image, row, column = self._where(flat)
        of_image, of_row, of_pixel, of_channel = form.strides
        begin, steps, inside = self._square(
            row - form.rows.before, column - form.columns.before, PATCH, form.rows.size, form.columns.size,
            of_row, of_pixel,
        )  # fmt: skip
        zero, origin = b.const(f32, 0.0), image * of_image
        first, last = inside[0][0], inside[-1][-1]

        def lanes(within: bool) -> None:
            with b.lane(form.read) as channel:
                patch = [
                    [b.load(self.image, origin + begin[y] + steps[x] + channel * of_channel) for x in range(PATCH)]
                    for y in range(PATCH)
                ]
                if not within:
                    patch = [[b.select(inside[y][x], patch[y][x], zero) for x in range(PATCH)] for y in range(PATCH)]
                self._keep(self.patches, start, tile, channel, form.row, _both(patch, _patch_line))

        b.branch(first & last, lambda: lanes(True), lambda: lanes(False))

    def _map_pulls(self, flat: Value, tile: Value) -> None:
        """The gradients of a tile."""
        b, form, jump = self.b, self.form, self.form.made
        image, row, column = self._where(flat)
        begin, steps, inside = self._square(
            row, column, TILE, form.rows.count, form.columns.count, form.columns.count * jump, jump
        )
        zero, origin = b.const(f32, 0.0), image * (form.rows.count * form.columns.count * jump) + self.first_channel
        with b.lane(form.chunk) as channel:
            pulls = [
                [
                    b.select(inside[y][x], b.load(self.gradient, origin + begin[y] + steps[x] + channel), zero)
                    for x in range(TILE)
                ]
                for y in range(TILE)
            ]
            self._keep(self.pulls, self.pulls_of, tile, channel, form.chunk, _both(pulls, _pull_line))

    def _square(
        self, row: Value, column: Value, size: int, height: int, width: int, of_row: int, of_pixel: int
    ) -> tuple[list[Value], list[Value], list[list[Value]]]:
        """Where the rows of a square begin and its pixels lie, brought into the image, and what is inside."""
        b = self.b
        lines, places = [row + each for each in range(size)], [column + each for each in range(size)]
        in_line = [(each >= 0) & (each < height) for each in lines]
        in_place = [(each >= 0) & (each < width) for each in places]
        begin = [b.min(b.max(each, 0), height - 1) * of_row for each in lines]
        steps = [b.min(b.max(each, 0), width - 1) * of_pixel for each in places]
        return begin, steps, [[one & other for other in in_place] for one in in_line]

    def _keep(
        self, target: Any, start: Value, tile: Value, channel: Value, width: int, mapped: list[list[Value]]
    ) -> None:
        for point, value in enumerate(each for line in mapped for each in line):
            self.b.store(target, start + (tile + point * self.form.block) * width + channel, value)

    def _multiply(self, point: Value, count: Value) -> None:
        """One point of a block: its patches by its gradients, added to the sums."""
        b, form = self.b, self.form
        whole, rest = divmod(form.read // form.sections, form.depth)
        with b.serial(form.chunk // (form.vectors * _lanes())) as strip:
            if whole:
                with b.serial(whole) as k:
                    self._products(point, count, self.first_read + k * form.depth, form.depth, strip)
            if rest:
                self._products(point, count, self.first_read + whole * form.depth, rest, strip)

    def _products(self, point: Value, count: Value, read: Value, depth: int, strip: Value) -> None:
        b, form, lanes = self.b, self.form, _lanes()
        start = strip * (form.vectors * lanes)
        patches = self.patches_of + point * (form.block * form.row) + read
        pulls = self.pulls_of + point * (form.block * form.chunk) + start
        with b.lane(lanes) as lane:
            places = [
                self.sums_of + ((read + each) * POINTS + point) * form.chunk + start + vector * lanes + lane
                for each in range(depth)
                for vector in range(form.vectors)
            ]

            def body(tile: Value, *held: Value) -> list[Value]:
                vectors = [
                    b.load(self.pulls, pulls + tile * form.chunk + vector * lanes + lane)
                    for vector in range(form.vectors)
                ]
                found: list[Value] = []
                for each in range(depth):
                    number = b.load(self.patches, patches + tile * form.row + each)
                    for vector in vectors:
                        found.append(b.fma(number, vector, held[len(found)]))
                return found

            sums = b.loop(count, [b.const(f32, 0.0)] * len(places), body)
            for place, total in zip(places, sums if isinstance(sums, tuple) else (sums,), strict=True):
                b.store(self.sums, place, total if form.whole else b.load(self.sums, place) + total)


def _patch_line(line: Line) -> list[Value]:
    a, b, c, d = line
    return [a - c, b + c, c - b, b - d]


def _pull_line(line: Line) -> list[Value]:
    a, b = line
    return [a, a + b, a - b, -b]


def _window_line(line: Line) -> list[Value]:
    a, b, c, d = line
    half = (b + c) * 0.5
    return [a + half, (b - c) * 0.5, half + d]


def _both(square: Sequence[Line], change: Any) -> list[list[Value]]:
    """A map of lines, applied to the rows and then to the columns."""
    rows = [change(line) for line in square]
    columns = [change(line) for line in zip(*rows, strict=True)]
    return [list(line) for line in zip(*columns, strict=True)]


def _mapped_back(form: Form, sums: int, weight: Access, parts: int) -> Loop:
    """The sums of all parts, one after the other, as windows in the order of the weight."""
    read, chunk, lanes = form.read, form.chunk, _lanes()
    extent = form.made // lanes * read
    arguments = [
        Argument("buffer", sums),
        Argument("buffer", weight.value, weight.offset * f32.size, written=True),
        *(Argument("size", each) for each in (extent, read, parts)),
    ]

    def write() -> Kernel:
        b = KernelBuilder()
        source, target = b.buffer(f32), b.buffer(f32, write=True)
        total, read, count = b.size(), b.size(), b.size()
        with b.grid(total) as i, b.lane(lanes) as lane:
            first, each = i // read * lanes, i % read
            size = read * (POINTS * chunk)
            place = first // chunk * count * size + each * (POINTS * chunk) + first % chunk + lane

            points = [sum_of_parts(b, source, place + point * chunk, count, size) for point in range(POINTS)]
            window = _both([points[start : start + PATCH] for start in range(0, POINTS, PATCH)], _window_line)
            for tap, value in enumerate(value for line in window for value in line):
                b.store(target, ((first + lane) * read + each) * 9 + tap, value)
        return b.finish()

    recipe = Recipe("tiled weight gradient back", (chunk, lanes), write)
    return Loop(recipe, arguments, extent, grain_of(POINTS * lanes * parts), "map back")
