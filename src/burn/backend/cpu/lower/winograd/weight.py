"""The kernel that maps a weight: once while it stays the same, and in every step of a training.

It computes in double precision and rounds once: the constants of F(4x4) are no binary fractions. What takes its time
is writing the result, which is larger than the weight.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from burn.backend.cpu.lower.winograd.blocking import Blocking
from burn.backend.cpu.lower.winograd.maps import Scheme, square
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel
from burn.dtype import f32, f64
from burn.engine.lower.copies import Packing
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.recipe import Recipe
from burn.engine.schedule.access import Access
from burn.ops.views import contiguous_strides

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

GRAIN = 64
"""Rows of channels below which mapping is not worth a second thread."""


def mapped_weight(calls: Calls, weight: Access, scheme: Scheme, cut: Blocking) -> tuple[list[Loop], Access]:
    """The steps that map a weight (made, read, 3, 3), and the result as (panel, point, read, channels of a panel)."""
    made, read = weight.shape[:2]
    shape = (made // cut.width, scheme.points, read, cut.width)
    number = calls.temporary(prod(shape) * f32.size)
    extent = made // cut.width * read
    arguments = [
        Argument("buffer", weight.value, weight.offset * f32.size),
        Argument("buffer", number, written=True),
        *(Argument("size", each) for each in (extent, read, *weight.strides)),
    ]
    recipe = Recipe("winograd weight", (scheme, cut.width), lambda: _kernel(scheme, cut.width))
    return [Packing(recipe, arguments, extent, GRAIN, "map weights")], Access(number, shape, contiguous_strides(shape))


def _kernel(scheme: Scheme, width: int) -> Kernel:
    b = KernelBuilder()
    source, target = b.buffer(f32), b.buffer(f32, write=True)
    total, depth = b.size(), b.size()
    of_made, of_read, of_row, of_column = (b.size() for _ in range(4))
    with b.grid(total) as i:
        panel, channel = i // depth, i % depth
        with b.lane(width) as lane:
            base = (panel * width + lane) * of_made + channel * of_read
            places = [[base + of_row * y + of_column * x for x in range(3)] for y in range(3)]
            window = [[b.cast(b.load(source, place), f64) for place in line] for line in places]
            points = square(b, window, scheme.of_window)
            for point, value in enumerate(each for line in points for each in line):
                place = (panel * scheme.points + point) * (depth * width) + channel * width + lane
                b.store(target, place, b.cast(value, f32))
    return b.finish()
