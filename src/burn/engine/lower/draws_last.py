"""Draws of channels-last images: the same numbers as in logical order, in the order of the plan.

A block of the generator gives four neighbouring pixels of one channel. With the channels on lanes, the four words of a
vector of blocks are four pixels with all of their channels: each is stored as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from burn.cube.ir import Value
from burn.cube.random import philox, unit_f32
from burn.dtype import f32, u64
from burn.engine.lower.loop import Routine
from burn.engine.lower.writer import KernelWriter
from burn.engine.target import tile_sizes
from burn.program.program import Node
from burn.program.program import Value as Described

DRAWS = frozenset(("random_bernoulli", "random_uniform", "random_normal"))

ELEMENTS = 4
"""Elements of f32 in a block of the generator."""


def is_drawn_last(value: Described) -> bool:
    """Whether the planes of an image begin with a block of the generator."""
    _, channels, *spatial = value.shape if len(value.shape) > 2 else (0, 0)
    pixels = prod(spatial)
    return value.dtype is f32 and channels > 1 and pixels > 0 and pixels % ELEMENTS == 0 and value.shape[0] > 0


def draw_last(w: KernelWriter, node: Node, transform: Callable[[list[Value]], list[Value]]) -> Routine:
    """The kernel of a draw whose result is (batch, *spatial, channels)."""
    b, result = w.b, node.results[0]
    images, *spatial, channels = w.program.values[result].shape
    pixels = prod(spatial)
    blocks = pixels // ELEMENTS  # of one channel of one image
    sizes = tile_sizes()
    taken = max(count for count in range(1, sizes.drawn_of_channel + 1) if blocks % count == 0)
    out = w.target(result)
    seed, offset = (w.given(each, u64) for each in node.operands[:2])
    extent = images * (blocks // taken)
    with b.grid(w.size(extent)) as i, b.serial(taken) as k:
        image, part = i // (blocks // taken), i % (blocks // taken)
        place = part * taken + k
        with b.lane(channels if channels <= sizes.few_channels else w.size(channels)) as lane:
            block = (image * channels + lane) * blocks + place
            units = [unit_f32(b, word) for word in philox(b, seed, offset + b.cast(block, u64))]
            for pixel, value in enumerate(transform(units)):
                w.store(out, (image * pixels + place * ELEMENTS + pixel) * channels + lane, value)
    return w.finish(extent, max(1, sizes.drawn_last_grain // (taken * channels)), f"{node.op.name} channels last")
