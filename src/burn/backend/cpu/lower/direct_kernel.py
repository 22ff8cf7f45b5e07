"""The kernel of a direct convolution.

The grid goes over lines of the result and parts of its channels. A line is cut into blocks of pixels, and the sums of a
block are kept in registers while its taps and the channels that are read go by: dim by dim from the outside, then along
the row. Blocks know at build time which of their taps lie outside of the image, so nothing is tested inside; only at
the edges of rows with many taps is that found out when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower.tiles import MOST_TAPS, Tile
from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32, i64
from burn.engine.lower.epilogue import EpilogueWriter
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK, apart, summed
from burn.engine.lower.recipe import Recipe
from burn.engine.lower.windows import POINT, Block, Piece, Span, Window, cut, gradient_span, inner, is_trivial, span
from burn.engine.schedule.access import Access
from burn.program.program import Node
from burn.symbolic import largest

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

RESIDENT = 1 << 19
"""Bytes of weights that stay in the cache of one processor: more are gone through once, channels outermost."""

WORK = 1 << 17
"""Multiplications below which a kernel is not worth a second thread."""

Sums = Sequence[Value]


@dataclass(frozen=True)
class Form:
    """A convolution as its kernel goes through it.

    `outer` are the windows of all dims but the last (`reversed` for a gradient with strides), `pieces` those of rows.
    Strides are those of the image that is read: image, outer dims, pixel, channel. A depthwise one reads one channel
    for each that it makes; `read` and `made` are channels of one group.
    """

    images: int
    outer: tuple[Window, ...]
    pieces: tuple[Piece, ...]
    kernel: int
    width: int
    strides: tuple[int, ...]
    read: int
    made: int
    groups: int
    depthwise: bool
    reversed: bool
    tile: Tile

    @property
    def lines(self) -> int:
        """Rows of the result."""
        return self.images * prod(window.count for window in self.outer)

    @property
    def parts(self) -> int:
        """Parts of the channels of one group."""
        return self.made // self.tile.channels


class DirectKernel:
    """Writes the kernel of one convolution."""

    def __init__(self, calls: Calls, node: Node, x: Access, out: Access, form: Form) -> None:
        self.calls, self.node, self.x, self.out, self.form = calls, node, x, out, form
        self.b = KernelBuilder()
        self.of_image, *of_outer, self.of_pixel, self.of_channel = form.strides
        self.of_outer: list[int] = of_outer
        self.channels = out.strides[-2]  # from pixel to pixel of the result
        self.weight_step = form.made if form.depthwise else form.tile.channels
        self.of_tap = (1 if form.depthwise else form.read) * self.weight_step
        self.of_taps = [
            prod((form.kernel, *(window.kernel for window in form.outer[place + 1 :]))) * self.of_tap
            for place in range(len(form.outer))
        ]
        of_row = form.kernel * (1 if form.depthwise else form.read)
        self.by_taps = of_row > BLOCK and not form.depthwise
        """Whether the channels of a tap are summed on their own: those of a whole row are too many."""
        self.by_rows = not self.by_taps and of_row * prod(window.kernel for window in form.outer) > BLOCK

    def write(self, weight: Access, label: str) -> Loop:
        """The step that reads the image and the packed weight."""
        b, form = self.b, self.form
        accesses = (self.x, weight, self.out)
        arguments = [
            Argument("buffer", access.value, access.offset * f32.size, written=access is self.out)
            for access in accesses
        ]
        self.image, self.weight, self.target = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
        extent = form.lines * form.parts * form.groups
        arguments += [Argument("size", form.lines), Argument("size", extent)]
        lines, total = b.size(), b.size()
        self.epilogue = EpilogueWriter(b, self.node, self.calls, arguments)
        taps = prod(window.kernel for window in form.outer) * form.kernel
        work = form.width * form.tile.channels * (1 if form.depthwise else form.read) * taps
        known = [value for name, value in vars(form).items() if name != "images"]
        key = (*known, self.channels, *self.epilogue.key_parts())
        recipe = Recipe("direct convolution", key, lambda: self._kernel(lines, total))
        return Loop(recipe, arguments, extent, largest(1, WORK // largest(work, 1)), label)

    def _kernel(self, lines: Value, total: Value) -> Kernel:
        b, form = self.b, self.form
        parts = form.parts * form.groups
        part_size = prod(window.kernel for window in form.outer) * form.kernel * self.of_tap
        scattered = part_size * parts * f32.size > RESIDENT
        with b.grid(total) as i:
            if parts == 1:
                part, line = b.const(i64, 0), i
            elif scattered:
                part, line = i // lines, i % lines
            else:
                part, line = i % parts, i // parts
            spans: list[Span] = []
            rest, begin = line, b.const(i64, 0)
            start = part * form.tile.channels
            weights = start if form.depthwise else part * part_size
            for place in reversed(range(len(form.outer))):
                window = form.outer[place]
                index = rest % window.count if window.count > 1 else b.const(i64, 0)
                rest = rest // window.count if window.count > 1 else rest
                reached = (gradient_span if form.reversed else span)(b, window, index)
                spans.insert(0, reached)
                begin = begin + reached.place * self.of_outer[place]
                weights = weights + reached.tap * self.of_taps[place]
            begin = begin + rest * self.of_image
            if form.groups > 1 and not form.depthwise:
                begin = begin + part // form.parts * (form.read * self.of_channel)
            with b.lane(form.tile.lanes) as lane:
                channel = start + lane
                source = begin + channel * self.of_channel if form.depthwise else begin
                place_ = line * (form.width * self.channels) + channel
                for piece in form.pieces:
                    self._piece(piece, spans, source, weights + lane, place_, channel)
        return b.finish()

    def _piece(
        self, piece: Piece, spans: Sequence[Span], source: Value, weights: Value, place: Value, channel: Value
    ) -> None:
        """The pixels of a row that share their taps."""
        b, form, window = self.b, self.form, piece.window
        jump = piece.step * self.channels
        place = place + piece.first * self.channels
        weights = weights + piece.tap * self.of_tap
        if window.kernel > MOST_TAPS:
            self._wide(piece, spans, source, weights, place, channel)
            return
        for block in cut(window, form.tile.pixels):

            def make(block: Block, source: Value, place: Value) -> None:
                sums = self._sums(block.length, spans, source, weights, lambda *held: self._row(piece, block, *held))
                self._store(place + block.start * jump, jump, channel, sums)

            if block.repeats == 1:
                make(block, source, place)
            else:
                with b.serial(block.repeats) as k:
                    shift = k * (block.length * window.stride * self.of_pixel)
                    make(block, source + shift, place + k * (block.length * jump))

    def _wide(
        self, piece: Piece, spans: Sequence[Span], source: Value, weights: Value, place: Value, channel: Value
    ) -> None:
        """A row of windows with many taps: those that lie in the image in blocks, the others one by one."""
        b, window, jump = self.b, piece.window, piece.step * self.channels
        start, stop = inner(window)

        def single(first: int, count: int) -> None:
            with b.serial(count) as k:
                pixel = k + first
                found = span(b, window, pixel)
                sums = self._sums(
                    1,
                    spans,
                    source + found.place * self.of_pixel,
                    weights + found.tap * (piece.tap_step * self.of_tap),
                    lambda image, kernel, sums: self._taps(found.taps, piece, image, kernel, [0], sums),
                )
                self._store(place + pixel * jump, jump, channel, sums)

        def several(block: Block) -> None:
            offsets = [each * window.stride * self.of_pixel for each in range(block.length)]
            with b.serial(block.repeats) as k:
                pixel = k * block.length + block.start
                sums = self._sums(
                    block.length,
                    spans,
                    source + (pixel * window.stride + window.place(start, 0)) * self.of_pixel,
                    weights,
                    lambda image, kernel, sums: self._taps(window.kernel, piece, image, kernel, offsets, sums),
                )
                self._store(place + (pixel + start) * jump, jump, channel, sums)

        if start:
            single(0, start)
        if stop > start:
            middle = Window(window.size, stop - start, window.kernel, window.stride, 0, window.dilation)
            for block in cut(middle, self.form.tile.pixels):
                several(block)
        if window.count > stop:
            single(stop, window.count - stop)

    def _store(self, place: Value, jump: int, channel: Value, sums: Sums) -> None:
        tile = self.form.tile
        for number, total in enumerate(sums):
            pixel, vector = divmod(number, tile.vectors)
            where = place + (pixel * jump + vector * tile.lanes)
            self.b.store(self.target, where, self.epilogue.applied(total, where, channel + vector * tile.lanes))

    def _sums(
        self,
        count: int,
        spans: Sequence[Span],
        source: Value,
        weights: Value,
        row: Callable[[Value, Value, Sums], Any],
    ) -> Sums:
        """The sums of `count` pixels: over the taps of the outer dims, then along the row."""
        b, form = self.b, self.form

        def over(place: int, image: Value, kernel: Value, sums: Sums) -> Any:
            if place == len(spans):
                return (
                    apart(b, sums, lambda held: row(image, kernel, held)) if self.by_rows else row(image, kernel, sums)
                )
            window = form.outer[place]
            if window == POINT if form.reversed else is_trivial(window):
                return over(place + 1, image, kernel, sums)
            each = spans[place]
            return b.loop(
                each.taps,
                sums,
                lambda tap, *held: over(
                    place + 1,
                    image + tap * (each.place_step * self.of_outer[place]),
                    kernel + tap * (each.tap_step * self.of_taps[place]),
                    held,
                ),
            )

        zeros = [b.const(f32, 0.0) for _ in range(count * form.tile.vectors)]
        found = over(0, source, weights, zeros)
        return found if isinstance(found, tuple | list) else (found,)

    def _row(self, piece: Piece, block: Block, source: Value, weights: Value, sums: Sums) -> Any:
        """The taps of a row of the window for a block of pixels."""
        window, form = piece.window, self.form
        if window.kernel == 0:
            return sums
        if form.tile.vectors == 1 and window.kernel > 1:
            return self._channels(
                lambda image, kernel, held: self._shared(piece, block, image, kernel, held), source, weights, sums
            )
        if window.inside(block.start, block.start + block.length) and not (window.kernel > 1 and self.by_taps):
            begin = source + window.place(block.start, 0) * self.of_pixel
            offsets = [each * window.stride * self.of_pixel for each in range(block.length)]
            if window.kernel == 1 or self._is_run(piece):
                return self._products(window.kernel * form.read, begin, weights, offsets, sums)
        found = list(sums)
        for tap in range(window.kernel):
            pixels = [each for each in range(block.length) if 0 <= window.place(block.start + each, tap) < window.size]
            if not pixels:
                continue
            begin = source + window.place(block.start + pixels[0], tap) * self.of_pixel
            offsets = [(each - pixels[0]) * window.stride * self.of_pixel for each in pixels]
            first, stop = pixels[0] * form.tile.vectors, (pixels[-1] + 1) * form.tile.vectors
            kernel = weights + tap * (piece.tap_step * self.of_tap)
            found[first:stop] = self._tap(begin, kernel, offsets, found[first:stop])
        return found

    def _is_run(self, piece: Piece) -> bool:
        """Whether the taps of a row and their channels follow each other in memory, as their weights do."""
        form = self.form
        follows = piece.window.dilation * self.of_pixel == form.read * self.of_channel
        return follows and piece.tap_step == 1 and not form.depthwise

    def _taps(
        self, taps: Value | int, piece: Piece, source: Value, weights: Value, offsets: Sequence[int], sums: Sums
    ) -> Any:
        """So many taps of a row, all of them in the image."""
        b, form = self.b, self.form
        if self._is_run(piece) and not self.by_taps:
            count = taps * form.read
            return self._products(count, source, weights, offsets, sums)
        return b.loop(
            taps,
            sums,
            lambda tap, *held: self._tap(
                source + tap * (piece.window.dilation * self.of_pixel),
                weights + tap * (piece.tap_step * self.of_tap),
                offsets,
                held,
            ),
        )

    def _tap(self, source: Value, weights: Value, offsets: Sequence[int], sums: Sums) -> Sums:
        """One tap: all channels that are read."""

        def channels(held: Sums) -> Any:
            return self._products(self.form.read, source, weights, offsets, held)

        found = apart(self.b, sums, channels) if self.by_taps else channels(sums)
        return found if isinstance(found, tuple | list) else (found,)

    def _channels(self, body: Callable[[Value, Value, Sums], Any], source: Value, weights: Value, sums: Sums) -> Any:
        """A body for each channel that is read."""
        if self.form.depthwise or self.form.read == 1:
            return body(source, weights, sums)
        return summed(
            self.b,
            self.form.read,
            sums,
            lambda each, *held: body(source + each * self.of_channel, weights + each * self.weight_step, held),
            deep=self.by_taps,
            block=max(1, BLOCK // self.form.kernel),
        )

    def _products(self, count: Value | int, source: Value, weights: Value, offsets: Sequence[int], sums: Sums) -> Any:
        """Numbers that follow each other, at each offset, by their vectors of weights."""
        b, tile = self.b, self.form.tile

        def body(k: Value | int, *held: Value) -> list[Value]:
            vectors = [
                b.load(self.weight, weights + k * self.weight_step + vector * tile.lanes)
                for vector in range(tile.vectors)
            ]
            found: list[Value] = []
            for place, offset in enumerate(offsets):
                number = b.load(self.image, source + k * self.of_channel + offset)
                for vector, weight in enumerate(vectors):
                    found.append(b.fma(number, weight, held[place * tile.vectors + vector]))
            return found

        if (self.form.depthwise or self.form.read == 1) and isinstance(count, int) and count == 1:
            return body(0, *sums)
        return summed(b, count, sums, body, deep=isinstance(count, int) and count > BLOCK)

    def _shared(self, piece: Piece, block: Block, source: Value, weights: Value, sums: Sums) -> list[Value]:
        """One channel of one row of the window: each of its numbers is read once for all pixels and taps."""
        b, window, made = self.b, piece.window, list(sums)
        numbers: dict[int, Value] = {}
        for tap in range(window.kernel):
            vector = b.load(self.weight, weights + tap * (piece.tap_step * self.of_tap))
            for pixel in range(block.length):
                place = window.place(block.start + pixel, tap)
                if 0 <= place < window.size:
                    if place not in numbers:
                        numbers[place] = b.load(self.image, source + place * self.of_pixel)
                    made[pixel] = b.fma(numbers[place], vector, made[pixel])
        return made
