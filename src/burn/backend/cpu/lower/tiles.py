"""How much of a convolution one pass through its taps makes: a tile, kept in registers.

A tile has some pixels and some vectors of channels. For each tap and channel that is read, every vector of weights
meets the number of every pixel: tiles that are nearly square read least for what they compute. Where there is one
vector, neighbouring pixels share the numbers that several of their taps read.
"""

from __future__ import annotations

from burn.backend.cpu.target import features
from burn.classes import dataclass
from burn.engine.lower.windows import Window

MOST_PIXELS, FEWEST_PIXELS = 14, 4
"""Pixels of a tile with one vector, whatever the registers allow."""

MOST_VECTORS = 7

MOST_TAPS = 7
"""Taps of a row that are written out."""

LOAD = 0.3
"""What a load costs beside a multiplication that it runs next to, in multiplications."""

LATENCY = 6
"""Multiplications that must be on their way at once."""


@dataclass(frozen=True)
class Tile:
    """`vectors` of `lanes` channels each, for so many `pixels`."""

    lanes: int
    vectors: int
    pixels: int

    @property
    def channels(self) -> int:
        """Channels that one pass makes."""
        return self.lanes * self.vectors


def lanes_for(channels: int) -> int:
    """Lanes of vectors that channels fill without a rest, or 0."""
    lanes = features().vector_bits // 32
    return next((each for each in (lanes, lanes // 2) if each >= 4 and channels % each == 0), 0)


def shared_pixels(window: Window) -> int:
    """Pixels of a row that are kept in registers at a time, beside the numbers that several of them read."""
    for count in range(MOST_PIXELS, FEWEST_PIXELS, -1):
        places = {window.place(pixel, tap) for pixel in range(count) for tap in range(window.kernel)}
        if count + (len(places) if window.kernel > 1 else 1) <= features().registers - 2:
            return count
    return FEWEST_PIXELS


def cost(window: Window, tile: Tile) -> float:
    """What a row takes for each vector of channels and tap that is read, in multiplications."""
    blocks = -(-window.count // tile.pixels)
    length = window.count / blocks
    products, loads = length * tile.vectors, length + tile.vectors
    if tile.vectors == 1 and 0 < window.kernel <= MOST_TAPS:
        places = {window.place(pixel, tap) for pixel in range(round(length)) for tap in range(window.kernel)}
        loads = 1 + len(places) / window.kernel
    return blocks * max(products + LOAD * loads, LATENCY) / tile.vectors


def candidates(window: Window, channels: int) -> list[Tile]:
    """The tiles of a convolution that makes so many channels: which is best can be measured."""
    lanes = lanes_for(channels)
    if not lanes:
        return [Tile(channels, 1, shared_pixels(window))]
    found = [Tile(lanes, 1, shared_pixels(window) if window.kernel <= MOST_TAPS else MOST_PIXELS)]
    for vectors in range(2, MOST_VECTORS + 1):
        if channels // lanes % vectors == 0:
            found.append(Tile(lanes, vectors, (features().registers - 1 - vectors) // vectors))
    return [tile for tile in found if tile.pixels > 0]


def tile_of(window: Window, channels: int) -> Tile:
    """The tile of a convolution whose rows have these windows."""
    return min(candidates(window, channels), key=lambda tile: cost(window, tile))


SHORTEST_LINE, LONGEST_LINE = 8, 192
"""Pixels of a line where all of them are alike, at least and at most."""

LINE = 12.0
"""What a line costs beside its pixels, in multiplications by a vector for each channel that is read."""


def line_length(pixels: int, channels: int, threads: int) -> int:
    """In lines of how many pixels to go through pixels that are all alike; 0 where no length divides them well.

    It may depend on the number of threads: every pixel is made in the same way wherever lines begin.
    """

    def weighed(length: int) -> float:
        window = Window(length, length, 1, 1, 0, 1)
        tile = tile_of(window, channels)
        items = pixels // length * (channels // tile.channels)
        shared = -(-items // threads) * threads / items
        return shared * (cost(window, tile) + LINE / tile.vectors) / length

    lengths = [each for each in range(SHORTEST_LINE, LONGEST_LINE + 1) if pixels % each == 0]
    return min(lengths, key=weighed, default=pixels if pixels <= LONGEST_LINE else 0)


@dataclass(frozen=True)
class GradientTile:
    """Of the gradient of a weight: `taps` of a row, `channels` read, `vectors` of `lanes` channels made."""

    taps: int
    channels: int
    lanes: int
    vectors: int

    @property
    def products(self) -> int:
        """Vectors of sums."""
        return self.taps * self.channels * self.vectors


def gradient_candidates(window: Window, read: int, made: int, depthwise: bool) -> list[GradientTile]:
    """The tiles of the gradient of a weight."""
    lanes = lanes_for(made)
    rows = [window.kernel] if window.kernel <= MOST_TAPS and _edges(window) <= MOST_EDGES else []
    found = []
    for taps in {1, *rows}:
        for vectors in range(1, MOST_VECTORS + 1) if lanes else (1,):
            if lanes and made // lanes % vectors:
                continue
            room = features().registers - 1 - vectors
            most = 1 if depthwise else min(read, room // (taps * vectors))
            found += [GradientTile(taps, each, lanes or made, vectors) for each in range(1, most + 1)]
    fitting = [tile for tile in found if tile.products + tile.vectors < features().registers]
    return fitting or [GradientTile(1, 1, lanes or made, 1)]


def _edges(window: Window) -> int:
    """Pixels of a row some of whose taps lie outside of the image."""
    return sum(not window.inside(pixel, pixel + 1) for pixel in range(window.count))


MOST_EDGES = 8
"""Pixels at the edges of a row that are written out."""


def gradient_cost(window: Window, read: int, tile: GradientTile) -> float:
    """What a pixel takes for each of its taps, channels read and vectors made, in multiplications."""
    blocks = -(-read // tile.channels) * (window.kernel // tile.taps)
    loads = tile.taps * tile.channels + 2 * tile.vectors
    return blocks * max(tile.products + LOAD * loads, LATENCY) / tile.vectors


def gradient_tile(window: Window, read: int, made: int, depthwise: bool) -> GradientTile:
    """The tile of the gradient of a weight whose rows have these windows."""
    return min(gradient_candidates(window, read, made, depthwise), key=lambda tile: gradient_cost(window, read, tile))
