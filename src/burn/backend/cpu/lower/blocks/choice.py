"""Whether a block is fused, and how it is cut: the one place to ask, and to teach.

Fusing saves the way of an image to memory and back. It costs rows made twice where the image is cut into bands, and
sums that are put down between two chunks of channels. No choice changes a result: every sum has its order.
"""

from __future__ import annotations

from burn.backend.cpu.lower.blocks.stage import POOLING, Block, Stage
from burn.backend.cpu.lower.tiles import Tile, lanes_for, shared_pixels, tile_of
from burn.classes import dataclass
from burn.dtype import f32
from burn.engine.target import target
from burn.engine.tuning import pick
from burn.symbolic import typical

NEAR = 16 << 10
"""Bytes between two stages that stay in the nearest cache, beside what they are made of."""

SCRATCH = 256 << 10
"""Bytes between the stages at most: they lie on the stack of a thread, and in its second cache."""

HEAVY = 1 << 20
"""Bytes of the weight of the first stage from which on reading it again for each row costs more than the way."""

LARGE = 512 << 10
"""Bytes of an image from which on its way to memory and back costs more than rows that are made twice."""

FEWEST_ROWS = 14
"""Rows of a band below which too many are made twice."""

BUSY = 0.9
"""How busy threads must be if each takes some chunks of channels."""


FUSED, APART = "fused", "apart"


@dataclass(frozen=True)
class Cut:
    """Channels between the stages that are taken at a time, and bands of rows of an image."""

    channels: int
    bands: int


def fuses(block: Block, images: int) -> bool:
    """Whether the stages of a block run as one kernel: what was measured on this machine, else what should pay."""
    threads, middle = target().units, block.middle
    images = typical(images)
    found = cut(block, images, threads)
    if found is None:
        return False
    windows = (f"{w.count} by {w.kernel} stride {w.stride}" for w in (middle.rows, middle.columns))
    default = FUSED if _pays(block, found, images, threads) else APART
    return pick("block", (images, repr(block), *windows), (FUSED, APART), default) == FUSED


def _pays(block: Block, found: Cut, images: int, threads: int) -> bool:
    """Whether what is saved is more than what is made twice."""
    middle = block.middle
    between = middle.rows.size * middle.columns.size * middle.made * f32.size
    if middle.columns.count == 1 and middle.rows.count > 1:  # a column of pixels, which kernels turn into a row
        return False
    if block.first is not None and block.first.weight_bytes > HEAVY:
        return False
    if block.last is None:
        return middle.kind == POOLING or (_is_pointwise(block.first) and _is_balanced(block, found, images, threads))
    if block.first is None:
        return between >= LARGE
    return between >= LARGE and (found.bands == 1 or middle.rows.count // found.bands >= FEWEST_ROWS)


def _is_pointwise(stage: Stage | None) -> bool:
    return stage is not None and stage.is_pointwise


def _is_balanced(block: Block, found: Cut, images: int, threads: int) -> bool:
    """Whether chunks of channels alone keep all threads busy."""
    units = images * block.middle.made // found.channels
    return found.bands == 1 and units >= BUSY * threads * -(-units // threads)


def cut(block: Block, images: int, threads: int) -> Cut | None:
    """How a block is cut for so many threads; None if its rows are too large."""
    between, images = block.middle.made, typical(images)
    bands = min(-(-threads // images), block.middle.rows.count)
    sizes = [size for size in chunks(between) if _bytes(block, size) <= SCRATCH]
    if not sizes:
        return None
    if block.last is not None:
        return Cut(max(sizes), bands)

    def cost(found: Cut) -> tuple[float, int]:
        """Rows and channels that the busiest thread makes, with what a chunk costs beside."""
        units = images * (between // found.channels) * found.bands
        rows = -(-block.middle.rows.count // found.bands) + (found.bands > 1) * (block.middle.rows.kernel // 2)
        return -(-units // threads) * rows * (found.channels + 2), -found.channels

    near = [size for size in sizes if _bytes(block, size) <= NEAR] or [min(sizes)]
    return min((Cut(size, count) for size in near for count in {1, bands}), key=cost)


def tile_for(block: Block, stage: Stage, channels: int) -> Tile:
    """What is kept in registers of a stage, if so many channels lie between the stages at a time."""
    if stage is block.middle:
        return Tile(channels, 1, shared_pixels(stage.columns))
    made = channels if stage is block.first else stage.made
    if not stage.is_pointwise:
        return Tile(lanes_for(made) or made, 1, shared_pixels(stage.columns))
    return tile_of(stage.columns, made)


def chunks(channels: int) -> list[int]:
    """The sizes of chunks into which channels can be cut: whole vectors where there are such."""
    divisors = [size for size in range(1, channels + 1) if channels % size == 0]
    return [size for size in divisors if lanes_for(size) == lanes_for(channels)] if lanes_for(channels) else [channels]


def _bytes(block: Block, channels: int) -> int:
    """The bytes between the stages of a block."""
    middle = block.middle
    span = (middle.rows.kernel - 1) * middle.rows.dilation + 1
    pixels = span * middle.columns.size if block.first is not None else 0
    if block.last is not None:
        pixels += middle.columns.count
    return pixels * channels * f32.size
