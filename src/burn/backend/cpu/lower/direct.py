"""Convolutions as kernels of our own.

Lanes run along the channels that are made, however few or many, and a block of neighbouring pixels is kept in
registers: for each tap and each channel that is read, the numbers of the pixels meet one vector of weights. What
follows the convolution is done there too (see `burn.backend.cpu.lower.epilogue`). Where each channel has a filter of
its own, lanes read their own channel. The gradient of an image is the same computation with the weights turned around.

Blocks of a row know at build time which of their taps lie outside of the image, so nothing is tested inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu import onednn
from burn.backend.cpu.features import host_features
from burn.backend.cpu.lower import winograd
from burn.backend.cpu.lower.access import Access
from burn.backend.cpu.lower.epilogue import EpilogueWriter
from burn.backend.cpu.lower.images import permuted
from burn.backend.cpu.lower.loop_parts import Argument, Loop
from burn.backend.cpu.recipe import Recipe
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel, Value
from burn.dtype import f32, i64
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.backend.cpu.lower.library import Calls, Step

LANES = 16
"""Channels that one iteration makes, where they divide so."""

SHORT = 12
"""Rows with fewer pixels than this are joined, if each pixel is made of one."""

MOST_PIXELS, FEWEST_PIXELS = 14, 4
"""Pixels of a block, whatever the registers allow."""

MOST_TAPS = 7
"""Taps of a row that are written out."""

RESIDENT = 1 << 19
"""Bytes of weights that stay in the cache of one processor: more are gone through once, channels outermost."""

WORTH = 1 << 16
"""Multiplications below which the library serves as well: it has no kernel to compile."""

WORK = 1 << 17
"""Multiplications below which a kernel is not worth a second thread."""


@dataclass(frozen=True)
class Window:
    """The windows along one dim: `size` elements are read, `count` made."""

    size: int
    count: int
    kernel: int
    stride: int
    before: int
    dilation: int

    def place(self, made: int, tap: int) -> int:
        """The element that a tap reads for a made one; outside of [0, size) it is padding."""
        return made * self.stride + tap * self.dilation - self.before


@dataclass(frozen=True)
class Block:
    """Neighbouring pixels of a row: the first, how many, and how often the block repeats."""

    start: int
    length: int
    repeats: int


def pixels(window: Window) -> int:
    """Pixels of a row that are kept in registers at a time, beside the numbers that several of them read."""
    registers = 32 if host_features().vector_bits == 512 else 16
    for count in range(MOST_PIXELS, FEWEST_PIXELS, -1):
        places = {window.place(pixel, tap) for pixel in range(count) for tap in range(window.kernel)}
        if count + (len(places) if window.kernel > 1 else 1) <= registers - 2:
            return count
    return FEWEST_PIXELS


def fits(name: str, x: Sequence[int], weight: Sequence[int], out: Sequence[int], given: Sequence[Any]) -> bool:
    """Whether there is a kernel for a convolution of these logical shapes."""
    if name not in ("conv", "conv_x_backward") or len(x) not in (3, 4) or 0 in x or 0 in weight or 0 in out:
        return False
    stride, padding, dilation, groups = given[-4:]
    depthwise = groups == weight[0] == x[1] and weight[1] == 1
    if (groups != 1 and not depthwise) or weight[-1] > MOST_TAPS or min(map(min, padding)) < 0:
        return False
    if name == "conv":
        return True
    reach = zip(dilation, weight[2:], padding, strict=True)
    return all(step == 1 for step in stride) and all(d * (k - 1) >= before for d, k, (before, _) in reach)


def chosen(name: str, x: Sequence[int], weight: Sequence[int], out: Sequence[int], given: Sequence[Any]) -> bool:
    """Whether the kernel is what a convolution runs on: there is one, and the library is not faster."""
    if not fits(name, x, weight, out, given):
        return False
    return not onednn.available() or prod(out) * prod(weight[1:]) >= WORTH


def windows_of(
    name: str, read: Sequence[int], made: Sequence[int], kernel: Sequence[int], given: Sequence[Any]
) -> list[Window]:
    """The windows of a convolution along rows and columns; what has one spatial dim is an image of one row."""
    stride, padding, dilation, _ = given[-4:]
    found = [
        Window(size, count, k, step, d * (k - 1) - before if name == "conv_x_backward" else before, d)
        for size, count, k, step, (before, _), d in zip(read, made, kernel, stride, padding, dilation, strict=True)
    ]
    return found if len(found) == 2 else [Window(1, 1, 1, 1, 0, 1), *found]


def reads_anyhow(name: str, x: Sequence[int], weight: Sequence[int], out: Sequence[int], given: Sequence[Any]) -> bool:
    """Whether the kernel reads its image in any order: one number at a time, not along lanes."""
    read, made = (out, x) if name == "conv_x_backward" else (x, out)
    windows = windows_of(name, read[2:], made[2:], weight[2:], given)
    return given[-1] == 1 and not winograd.fits(read[1], made[1], read[0], windows)


def lower_direct(
    calls: Calls, node: Node, x: Access, weight: Access, out: Access, given: Sequence[Any], label: str
) -> list[Step]:
    """The steps of a convolution, or of the gradient of its image, on channels-last accesses.

    `x` is what is read and `out` what is made: for a gradient, the gradient of the result and that of the image.
    What is read may lie in memory in any way, as long as lanes need not go through it.
    """
    groups, backward = given[-1], node.op.name == "conv_x_backward"
    flipped = _flipped(weight) if backward else weight
    windows = windows_of(node.op.name, x.shape[1:-1], out.shape[1:-1], weight.shape[2:], given)
    if len(weight.shape) == 3:
        (*outer, last), (*jumps, jump) = flipped.shape, flipped.strides
        flipped = Access(flipped.value, (*outer, 1, last), (*jumps, 0, jump), flipped.offset)
    if groups == 1 and winograd.fits(x.shape[-1], out.shape[-1], x.shape[0], windows):
        # A gradient reads what the convolution makes: the first two dims of its weight change places.
        if backward:
            flipped = permuted(flipped, (1, 0, 2, 3))
        tiled = winograd.Winograd(calls, node, x, out, windows)
        steps, mapped = winograd.mapped_weight(calls, flipped)
        made = tiled.write(mapped, label)
        return [*steps, *tiled.epilogue.before, made]
    kernel = _Direct(calls, node, x, out, windows, depthwise=groups != 1)
    packing = _packed(flipped, backward, kernel.parts, depthwise=groups != 1)
    steps, held = calls.ordered(packing, f32)
    made = kernel.write(held, label)
    return [*steps, *kernel.epilogue.before, made]


def _flipped(weight: Access) -> Access:
    """The weight from back to front."""
    offset, strides = weight.offset, list(weight.strides)
    for dim in range(2, len(weight.shape)):
        offset += (weight.shape[dim] - 1) * strides[dim]
        strides[dim] = -strides[dim]
    return Access(weight.value, weight.shape, tuple(strides), offset)


def _packed(weight: Access, backward: bool, parts: int, depthwise: bool) -> Access:
    """The weight (out, in, rows, columns) as (part, rows, columns, read, made / parts)."""
    first, second, *kernel = zip(weight.shape, weight.strides, strict=True)
    if depthwise:
        first, second = (1, 0), first
    elif not backward:
        first, second = second, first
    read, (made, step) = first, second
    parts = 1 if depthwise else parts
    dims = [(parts, made // parts * step), *kernel, read, (made // parts, step)]
    return Access(weight.value, tuple(size for size, _ in dims), tuple(stride for _, stride in dims), weight.offset)


def blocks_of(window: Window) -> list[Block]:
    """A row cut into blocks of pixels; neighbours without padding that are alike are one block, repeated."""
    parts = -(-window.count // pixels(window))
    bounds = [window.count * part // parts for part in range(parts + 1)]
    found: list[Block] = []
    for start, stop in pairwise(bounds):
        last = found[-1] if found else None
        inside = window.place(start, 0) >= 0 and window.place(stop - 1, window.kernel - 1) < window.size
        if inside and last is not None and last.length == stop - start and window.place(last.start, 0) >= 0:
            found[-1] = Block(last.start, last.length, last.repeats + 1)
        else:
            found.append(Block(start, stop - start, 1))
    return found


class _Direct:
    def __init__(
        self, calls: Calls, node: Node, x: Access, out: Access, windows: Sequence[Window], *, depthwise: bool
    ) -> None:
        self.b = KernelBuilder()
        self.node, self.calls, self.depthwise = node, calls, depthwise
        self.rows, self.columns = windows
        self.images = x.shape[0]
        self.of_image, *rows, self.of_pixel, self.of_channel = x.strides
        self.of_row = rows[0] if rows else 0
        pointwise = all(window == Window(window.size, window.size, 1, 1, 0, 1) for window in windows)
        if self.columns.count < SHORT and pointwise and self.of_row == self.columns.size * self.of_pixel:
            count = self.rows.count * self.columns.count
            self.rows, self.columns = Window(1, 1, 1, 1, 0, 1), Window(count, count, 1, 1, 0, 1)
        self.made = out.shape[-1]
        self.read = 1 if depthwise else x.shape[-1]
        self.parts = self.made // LANES if self.made % LANES == 0 else 1
        self.lanes = self.made // self.parts
        self.x, self.out = x, out

    def write(self, weight: Access, label: str) -> Loop:
        """Rows of the result and parts of its channels on the grid, the channels of a part on lanes."""
        b, rows, columns = self.b, self.rows, self.columns
        accesses = {"x": self.x, "weight": weight, "out": self.out}
        arguments = [
            Argument("buffer", access.value, access.offset * f32.size, written=name == "out")
            for name, access in accesses.items()
        ]
        self.image, self.weight, self.target = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
        count = self.images * rows.count
        arguments += [Argument("size", count), Argument("size", count * self.parts)]
        total_rows, total = b.size(), b.size()
        self.epilogue = EpilogueWriter(b, self.node, self.calls, arguments)
        self.weight_step = self.made if self.depthwise else self.lanes
        work = columns.count * self.lanes * self.read * rows.kernel * columns.kernel
        parts = (rows, columns, self.of_image, self.of_row, self.of_pixel, self.of_channel, self.made, self.read,
                 self.parts, self.depthwise, *self.epilogue.key_parts())  # fmt: skip
        recipe = Recipe("direct", parts, lambda: self._kernel(total_rows, total))
        return Loop(recipe, arguments, count * self.parts, max(1, WORK // work), label)

    def _kernel(self, total_rows: Value, total: Value) -> Kernel:
        b, rows, columns = self.b, self.rows, self.columns
        taps_size = columns.kernel * self.read * self.weight_step
        scattered = self.made * self.read * rows.kernel * columns.kernel * f32.size > RESIDENT
        with b.grid(total) as i:
            if self.parts == 1:
                part, line = b.const(i64, 0), i
            elif scattered:
                part, line = i // total_rows, i % total_rows
            else:
                part, line = i % self.parts, i // self.parts
            image, row = line // rows.count, line % rows.count
            first = row * rows.stride - rows.before
            skipped = b.max((rows.dilation - 1 - first) // rows.dilation, 0)
            taps = b.min((rows.size - first + (rows.dilation - 1)) // rows.dilation, rows.kernel) - skipped
            begin = image * self.of_image + (first + skipped * rows.dilation) * self.of_row
            start = part * self.lanes
            weights = skipped * taps_size + (start if self.depthwise else part * (rows.kernel * taps_size))
            with b.lane(self.lanes) as lane:
                channel = start + lane
                source = begin + channel if self.depthwise else begin
                place = line * (columns.count * self.made) + channel
                for block in blocks_of(columns):
                    if block.repeats == 1:
                        self._store(block, place, channel, self._totals(block, taps, source, weights + lane))
                    else:
                        with b.serial(block.repeats) as k:
                            shift = k * (block.length * columns.stride * self.of_pixel)
                            totals = self._totals(block, taps, source + shift, weights + lane)
                            self._store(block, place + k * (block.length * self.made), channel, totals)
        return b.finish()

    def _store(self, block: Block, place: Value, channel: Value, totals: Sequence[Value]) -> None:
        for pixel, total in enumerate(totals, block.start):
            where = place + pixel * self.made
            self.b.store(self.target, where, self.epilogue.applied(total, where, channel))

    def _totals(self, block: Block, taps: Value, begin: Value, weights: Value) -> Sequence[Value]:
        """The pixels of a block: over the rows of the window, then over the channels that are read."""
        b, columns = self.b, self.columns
        kernel_row = columns.kernel * self.read * self.weight_step

        def over_rows(tap: Value, *totals: Value) -> Any:
            source, kernel = begin + tap * (self.rows.dilation * self.of_row), weights + tap * kernel_row
            if self.read == 1:
                return self._taps(block, source, kernel, totals)
            return b.loop(
                self.read,
                totals,
                lambda each, *held: self._taps(
                    block, source + each * self.of_channel, kernel + each * self.weight_step, held
                ),
            )

        zeros = [b.const(f32, 0.0) for _ in range(block.length)]
        rows = self.rows
        single = rows.kernel == 1 and rows.before == 0 and rows.place(rows.count - 1, 0) < rows.size
        found = over_rows(b.const(i64, 0), *zeros) if single else b.loop(taps, zeros, over_rows)
        return found if isinstance(found, tuple | list) else (found,)

    def _taps(self, block: Block, source: Value, kernel: Value, totals: Sequence[Value]) -> list[Value]:
        """One channel of one row of the window: each of its numbers is read once for all pixels and taps."""
        b, columns, made = self.b, self.columns, list(totals)
        numbers: dict[int, Value] = {}
        for tap in range(columns.kernel):
            vector = b.load(self.weight, kernel + tap * (self.read * self.weight_step))
            for pixel in range(block.length):
                place = columns.place(block.start + pixel, tap)
                if 0 <= place < columns.size:
                    if place not in numbers:
                        numbers[place] = b.load(self.image, source + place * self.of_pixel)
                    made[pixel] = b.fma(numbers[place], vector, made[pixel])
        return made
