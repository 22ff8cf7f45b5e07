"""What windows reach: which elements are read for one that is made, along each dim.

Forwards, window `made` begins at `made * stride - before` and its taps lie `dilation` apart. The gradient of an image
goes the other way: the element of the image asks which windows reached it, and with which of their taps. With a stride
that is every s-th tap only, where s depends on the residue of the element; elements of one residue are a convolution
of stride 1 by a part of the taps.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from burn.classes import dataclass
from burn.cube.ir import Value

if TYPE_CHECKING:
    from burn.cube import KernelBuilder


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

    def inside(self, start: int, stop: int) -> bool:
        """Whether the windows of these made elements lie in the image."""
        return self.kernel == 0 or (self.place(start, 0) >= 0 and self.place(stop - 1, self.kernel - 1) < self.size)


def inner(window: Window) -> tuple[int, int]:
    """The first and the last made element, exclusive, whose windows lie in the image."""
    start = min(max(0, -(-window.before // window.stride)), window.count)
    reach = window.size - 1 + window.before - (window.kernel - 1) * window.dilation
    return start, max(start, min(window.count, reach // window.stride + 1))


POINT = Window(1, 1, 1, 1, 0, 1)
"""A dim that is not there."""


@dataclass(frozen=True)
class Block:
    """Neighbouring pixels of a row: the first, how many, and how often the block repeats."""

    start: int
    length: int
    repeats: int


def cut(window: Window, most: int) -> list[Block]:
    """A row cut into blocks of at most so many pixels; neighbours without padding that are alike are one, repeated."""
    parts = -(-window.count // most)
    shortest, longer = divmod(window.count, parts)
    lengths = [shortest + 1] * longer + [shortest] * (parts - longer)
    found: list[Block] = []
    start = 0
    for length in lengths:
        last = found[-1] if found else None
        alike = last is not None and last.length == length and window.inside(last.start, start + length)
        if alike and last is not None:
            found[-1] = Block(last.start, length, last.repeats + 1)
        else:
            found.append(Block(start, length, 1))
        start += length
    return found


@dataclass(frozen=True)
class Piece:
    """Pixels of a row that share their taps: every `step`th from `first` on.

    Tap t of the window is tap `tap + t * tap_step` of the weight.
    """

    window: Window
    first: int = 0
    step: int = 1
    tap: int = 0
    tap_step: int = 1


def gradient_pieces(window: Window) -> list[Piece]:
    """The row of a gradient, by residues of the stride. `window` is that of the convolution with `size` and `count`
    exchanged: windows are read, elements made."""
    common = gcd(window.dilation, window.stride)
    stride, dilation = window.stride // common, window.dilation // common
    found = []
    for residue in range(min(window.stride, window.count)):
        count = -(-(window.count - residue) // window.stride)
        padded = residue + window.before
        taps = 0
        tap = shift = 0
        if padded % common == 0:
            tap = padded // common * pow(dilation, -1, stride) % stride if stride > 1 else 0
            taps = max(0, -(-(window.kernel - tap) // stride))
            shift = (padded // common - tap * dilation) // stride
        reached = Window(window.size, count, taps, 1, (taps - 1) * dilation - shift, dilation)
        found.append(Piece(reached, residue, window.stride, tap + (taps - 1) * stride, -stride))
    return found


@dataclass
class Span:
    """The taps of one window that lie in the image: how many, and what the first reads of image and weight."""

    taps: Value
    place: Value
    place_step: int
    tap: Value
    tap_step: int


def span(b: KernelBuilder, window: Window, made: Value) -> Span:
    """The taps for a made element, forwards."""
    first = made * window.stride - window.before
    skipped = b.max((window.dilation - 1 - first) // window.dilation, 0)
    taps = b.min((window.size - first + (window.dilation - 1)) // window.dilation, window.kernel) - skipped
    return Span(taps, first + skipped * window.dilation, window.dilation, skipped, 1)


def gradient_span(b: KernelBuilder, window: Window, made: Value) -> Span:
    """The taps that reached an element of the image; `window` as for `gradient_pieces`."""
    common = gcd(window.dilation, window.stride)
    stride, dilation = window.stride // common, window.dilation // common
    padded = made + window.before
    tap = (padded // common) * pow(dilation, -1, stride) % stride if stride > 1 else padded * 0
    place = (padded // common - tap * dilation) // stride
    skipped = b.max((place - window.size + dilation) // dilation, 0)
    taps = b.min(place // dilation + 1, (window.kernel - 1 - tap + stride) // stride) - skipped
    if common > 1:
        taps = b.select(b.eq(padded % common, 0), taps, b.min(taps, 0))
    return Span(taps, place - skipped * dilation, -dilation, tap + skipped * stride, stride)


def is_trivial(window: Window) -> bool:
    """Whether the one tap of each window always lies in the image."""
    return window.kernel == 1 and window.count > 0 and window.inside(0, window.count)
