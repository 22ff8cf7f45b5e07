"""Gradients of the weights of convolutions.

The gradient of a weight is a product over pixels: what a tap read, by the gradient of what was made of it. A tile of
taps, channels that were read and vectors of channels that were made is kept in registers while the pixels go by.

A sum of very many numbers that is carried on loses what is small beside it, so sums begin anew every `BLOCK` pixels and
are added up in memory: the error then hardly grows with the number of pixels, whatever the tile.

The pixels are cut into parts, each of which leaves sums of its own; another step adds them in order and brings them
into the order of the weight. How many parts there are follows from the shapes alone, so the result does not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower import tiled_gradient
from burn.backend.cpu.lower.tiles import GradientTile, gradient_tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32, i64
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK, sum_of_parts
from burn.engine.lower.recipe import Recipe
from burn.engine.lower.windows import Window, inner
from burn.engine.schedule.access import Access
from burn.engine.target import grain_of

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

CACHED = 1 << 19
"""Bytes of a tile's gradients that stay in the cache of one processor while taps and channels change."""

TILES = 32
"""Tiles that there should be at least, so that several threads find work."""

MOST_SUMS = 1 << 26
"""Bytes of the sums of all parts."""

WORK = 1 << 17
"""Multiplications below which a second thread, or a second part, is not worth it."""

Sums = Sequence[Value]


@dataclass(frozen=True)
class Shape:
    """What the code of the kernel depends on; strides are those of x: image, outer dims, pixel, channel."""

    outer: tuple[Window, ...]
    columns: Window
    strides: tuple[int, ...]
    read: int
    made: int
    groups: int
    depthwise: bool
    tile: GradientTile

    @property
    def taps(self) -> int:
        """Taps of the window."""
        return prod(window.kernel for window in (*self.outer, self.columns))

    @property
    def channels(self) -> int:
        """Channels made by all groups."""
        return self.made * self.groups

    def blocks(self) -> tuple[int, int, int, int]:
        """Tiles of a part: along groups and made channels, read channels, outer taps, and taps of a row."""
        tile = self.tile
        return (
            self.channels // (tile.lanes * tile.vectors),
            -(-self.read // tile.channels),
            prod(window.kernel for window in self.outer),
            self.columns.kernel // tile.taps,
        )


def lower_weight_gradient(
    calls: Calls,
    x: Access,
    gradient: Access,
    weight: Access,
    windows: Sequence[Window],
    groups: int,
    depthwise: bool,
    label: str,
) -> list[Loop]:
    """The steps that make the gradient of a weight (out, in / groups, *kernel) from channels-last images."""
    if groups == 1 and tiled_gradient.fits(x.shape[-1], gradient.shape[-1], x.shape[0], windows):
        return tiled_gradient.lower_tiled_gradient(calls, x, gradient, weight, windows, label)
    *outer, columns = windows
    images, read, made = x.shape[0], x.shape[-1] // groups, gradient.shape[-1] // groups
    strides = x.strides if len(x.shape) > 3 else (x.strides[0], 0, *x.strides[1:])
    if depthwise:
        read, made, groups = 1, gradient.shape[-1], 1
    shape = Shape(
        tuple(outer),
        columns,
        tuple(strides),
        read,
        made,
        groups,
        depthwise,
        gradient_tile(columns, read, made, depthwise),
    )
    lines = images * prod(window.count for window in outer)
    parts = _parts(shape, lines)
    number = calls.temporary(parts * prod(weight.shape) * f32.size)
    made_step = _Products(shape).step(x, gradient, number, lines, parts, label)
    return [made_step, _added(number, weight, shape, parts)]


def _parts(shape: Shape, lines: int) -> int:
    """Parts of the pixels: what a tile reads of the gradient fits a cache, and there are enough tiles."""
    tile, pixels = shape.tile, lines * shape.columns.count
    size = shape.taps * shape.read * shape.channels
    if pixels * size < WORK:
        return 1
    cached = -(-pixels * tile.lanes * tile.vectors * f32.size // CACHED)
    wanted = max(cached, -(-TILES // prod(shape.blocks())))
    return max(1, min(wanted, lines, MOST_SUMS // (size * f32.size), pixels * size // WORK))


class _Products:
    def __init__(self, shape: Shape) -> None:
        self.shape, self.tile, self.b = shape, shape.tile, KernelBuilder()
        self.of_image, *of_outer, self.of_pixel, self.of_channel = shape.strides
        self.of_outer: list[int] = of_outer

    def step(self, x: Access, gradient: Access, target: int, lines: int, parts: int, label: str) -> Loop:
        """Parts and tiles on the grid, sums to `target` as (part, vector of made, read, tap, lane)."""
        b, shape = self.b, self.shape
        tiles = prod(shape.blocks())
        arguments = [
            Argument("buffer", x.value, x.offset * f32.size),
            Argument("buffer", gradient.value, gradient.offset * f32.size),
            Argument("buffer", target, written=True),
            *(Argument("size", each) for each in (parts * tiles, lines, parts)),
        ]
        self.image, self.gradient, self.sums = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
        total, self.lines, self.parts = b.size(), b.size(), b.size()
        recipe = Recipe("weight gradient", tuple(vars(shape).values()), lambda: self._kernel(total, tiles))
        work = lines // parts * shape.columns.count * self.tile.products
        return Loop(recipe, arguments, parts * tiles, max(1, WORK // max(work, 1)), label, repeats=True)

    def _kernel(self, total: Value, tiles: int) -> Kernel:
        b, shape, tile = self.b, self.shape, self.tile
        _, reads, outers, rows = shape.blocks()
        with b.grid(total) as i:
            part, rest = i // tiles, i % tiles
            tap, rest = rest % rows * tile.taps, rest // rows
            outer_tap, rest = rest % outers, rest // outers
            read, block = b.min(rest % reads * tile.channels, shape.read - tile.channels), rest // reads
            first = block * (tile.lanes * tile.vectors)
            begin = part * self.lines // self.parts
            count = (part + 1) * self.lines // self.parts - begin
            source = read * self.of_channel
            if shape.groups > 1:
                source = source + first // shape.made * (shape.read * self.of_channel)
            with b.lane(tile.lanes) as lane:
                channel = first + lane
                start = source + channel if shape.depthwise else source
                self.lane, self.zeros = lane, [b.const(f32, 0.0) for _ in range(tile.products)]
                self.totals = b.shared(f32, tile.products * tile.lanes)
                for number, zero in enumerate(self.zeros):
                    b.store(self.totals, number * tile.lanes + lane, zero)
                size = max(1, BLOCK // shape.columns.count)
                with b.serial((count + (size - 1)) // size) as each:
                    line = begin + each * size
                    self._add(
                        b.loop(
                            b.min(begin + count - line, size),
                            self.zeros,
                            lambda k, *held: self._line(line + k, outer_tap, tap, start, channel, held),
                        )
                    )
                vector = part * (shape.channels // tile.lanes) + block * tile.vectors
                place = (vector * shape.read + read) * shape.taps + outer_tap * shape.columns.kernel + tap
                self._store(place * tile.lanes + lane)
        return b.finish()

    def _add(self, sums: Value | Sums) -> None:
        """Sums of some pixels, to the totals."""
        b = self.b
        for number, each in enumerate(sums if isinstance(sums, Sequence) else (sums,)):
            place = number * self.tile.lanes + self.lane
            b.store(self.totals, place, b.load(self.totals, place) + each)

    def _store(self, place: Value) -> None:
        """The totals of a tile, in the order tap, channel read, vector."""
        b, shape, tile = self.b, self.shape, self.tile
        for number in range(tile.products):
            rest, vector = divmod(number, tile.vectors)
            tap, read = divmod(rest, tile.channels)
            where = (vector * shape.read + read) * shape.taps + tap
            b.store(self.sums, place + where * tile.lanes, b.load(self.totals, number * tile.lanes + self.lane))

    def _line(self, line: Value, outer_tap: Value, tap: Value, source: Value, channel: Value, sums: Sums) -> Any:
        """The pixels of one line, if the taps of the outer dims find something there."""
        b, shape = self.b, self.shape
        rest, inside = line, None
        for place in reversed(range(len(shape.outer))):
            window = shape.outer[place]
            index = rest % window.count if window.count > 1 else b.const(i64, 0)
            rest = rest // window.count if window.count > 1 else rest
            which = outer_tap % window.kernel if window.kernel > 1 else b.const(i64, 0)
            outer_tap = outer_tap // window.kernel if window.kernel > 1 else outer_tap
            found = index * window.stride + which * window.dilation - window.before
            source = source + found * self.of_outer[place]
            if window.place(0, 0) < 0 or window.place(window.count - 1, window.kernel - 1) >= window.size:
                within = (found >= 0) & (found < window.size)
                inside = within if inside is None else inside & within
        source = source + rest * self.of_image
        pulls = line * (shape.columns.count * shape.channels) + channel
        row = self._written if self.tile.taps > 1 or shape.columns.kernel == 1 else self._single
        if inside is None:
            return row(tap, source, pulls, sums)
        return b.loop(
            b.select(inside, b.const(i64, 1), b.const(i64, 0)),
            sums,
            lambda _, *held: row(tap, source, pulls, held),
        )

    def _written(self, tap: Value, source: Value, pulls: Value, sums: Sums) -> Any:
        """A row with all taps at once: pixels at the edges one by one, with the taps that they have."""
        b, shape, window = self.b, self.shape, self.shape.columns
        start, stop = inner(window)
        found = list(sums)
        for pixel in range(start):
            found = self._pixel(window, pixel, source, pulls + pixel * shape.channels, found)
        if stop > start:
            middle = Window(window.size, 1, window.kernel, window.stride, -window.place(start, 0), window.dilation)
            found = self._pixels(
                b.const(i64, stop - start),
                found,
                lambda k, held: self._pixel(
                    middle,
                    0,
                    source + k * (window.stride * self.of_pixel),
                    pulls + (k + start) * shape.channels,
                    held,
                ),
            )
        for pixel in range(stop, window.count):
            found = self._pixel(window, pixel, source, pulls + pixel * shape.channels, found)
        return found

    def _single(self, tap: Value, source: Value, pulls: Value, sums: Sums) -> Any:
        """A row with one tap: the pixels that it reaches."""
        b, shape, window = self.b, self.shape, self.shape.columns
        shift = tap * window.dilation - window.before
        start = b.max((window.stride - 1 - shift) // window.stride, 0)
        stop = b.min((window.size - 1 - shift) // window.stride + 1, window.count)
        one = Window(window.size, 1, 1, 1, 0, 1)
        return self._pixels(
            stop - start,
            sums,
            lambda k, held: self._pixel(
                one,
                0,
                source + ((k + start) * window.stride + shift) * self.of_pixel,
                pulls + (k + start) * shape.channels,
                held,
            ),
        )

    def _pixels(self, count: Value, sums: Sums, pixel: Callable[[Value, Sums], list[Value]]) -> list[Value]:
        """Pixels one after the other; those of a long line go to the totals block by block."""
        b = self.b
        if self.shape.columns.count > 2 * BLOCK:
            with b.serial((count + (BLOCK - 1)) // BLOCK) as each:
                first = each * BLOCK
                self._add(b.loop(b.min(count - first, BLOCK), self.zeros, lambda k, *held: pixel(first + k, held)))
            return list(sums)
        made = b.loop(count, sums, lambda k, *held: pixel(k, held))
        return list(made) if isinstance(made, tuple) else [made]

    def _pixel(self, window: Window, pixel: int, source: Value, pulls: Value, sums: Sums) -> list[Value]:
        """One pixel: what its taps read, by its gradients."""
        b, tile = self.b, self.tile
        vectors = [b.load(self.gradient, pulls + each * tile.lanes) for each in range(tile.vectors)]
        found = list(sums)
        for number in range(tile.taps * tile.channels):
            tap, channel = divmod(number, tile.channels)
            place = window.place(pixel, tap)
            if not 0 <= place < window.size:
                continue
            where = source + (place * self.of_pixel + channel * self.of_channel)
            if not self.shape.depthwise:
                value = b.load(self.image, where)
            for vector, pull in enumerate(vectors):
                if self.shape.depthwise:
                    value = b.load(self.image, where + vector * tile.lanes)
                each = number * tile.vectors + vector
                found[each] = b.fma(value, pull, found[each])
        return found


def _added(sums: int, weight: Access, shape: Shape, parts: int) -> Loop:
    """The sums of all parts, one after the other, in the order of the weight."""
    lanes, taps, read, channels = shape.tile.lanes, shape.taps, shape.read, shape.channels
    arguments = [
        Argument("buffer", sums),
        Argument("buffer", weight.value, weight.offset * f32.size, written=True),
        *(Argument("size", each) for each in (channels // lanes * read, read, parts, read * taps * channels)),
    ]

    def write() -> Kernel:
        b = KernelBuilder()
        source, target = b.buffer(f32), b.buffer(f32, write=True)
        total, read, count, size = b.size(), b.size(), b.size(), b.size()
        with b.grid(total) as i, b.lane(lanes) as lane, b.serial(taps) as tap:
            place = (i * taps + tap) * lanes + lane
            added = sum_of_parts(b, source, place, count, size)
            b.store(target, ((i // read * lanes + lane) * read + i % read) * taps + tap, added)
        return b.finish()

    recipe = Recipe("weight gradient sums", (taps, lanes), write)
    return Loop(recipe, arguments, channels // lanes * read, grain_of(taps * lanes * parts), "add parts")
