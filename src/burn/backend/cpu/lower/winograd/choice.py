"""Which convolutions take Winograd's way, and with tiles of which size."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from burn.backend.cpu.lower.winograd.kernel import Winograd
from burn.backend.cpu.lower.winograd.maps import F2, F4, Scheme
from burn.backend.cpu.settings import FAST
from burn.dtype import f32
from burn.engine.schedule.access import Access
from burn.engine.tuning import pick
from burn.program.program import Node

if TYPE_CHECKING:
    from burn.backend.cpu.lower.calls import CpuCalls
    from burn.backend.cpu.lower.direct import Window

LANES = 16
"""Channels that are made come in multiples of these."""

FEWEST_CHANNELS = 32
"""Channels, read and made, from which on the maps cost less than they save."""

FEWEST_TILES = 12
"""Tiles of all images together below which there is nothing to save."""

MOST_CHANNELS = 1024
"""Channels read: more need too much scratch memory."""

READING = 32
"""What reading a mapped weight costs beside its multiplications, in fifths of a tile: more points are more to read."""

MOST_FOR_FOUR = 512
"""Channels read up to which F(4x4) keeps its bound, 1e-5 of the largest result: errors grow with their square root."""


def fits(read: int, made: int, batch: int, windows: Sequence[Window]) -> bool:
    """Whether a convolution is one of these, and large enough."""
    if len(windows) != 2 or any((w.kernel, w.stride, w.dilation) != (3, 1, 1) for w in windows):
        return False
    channels = made % LANES == 0 and min(read, made) >= FEWEST_CHANNELS and read <= MOST_CHANNELS
    return channels and tiles(F2, batch, windows) >= FEWEST_TILES


def tiles(scheme: Scheme, batch: int, windows: Sequence[Window]) -> int:
    """Tiles of all images together."""
    return batch * prod(-(-window.count // scheme.tile) for window in windows)


def scheme_of(accuracy: str, read: int, made: int, batch: int, windows: Sequence[Window]) -> Scheme:
    """The size of tiles that is fastest, among those that are exact enough."""

    def cost(each: Scheme) -> int:
        return each.points * (5 * tiles(each, batch, windows) + READING)

    return min(_exact_enough(accuracy, read), key=cost)


def _exact_enough(accuracy: str, read: int) -> tuple[Scheme, ...]:
    return (F2, F4) if accuracy == FAST and read <= MOST_FOR_FOUR else (F2,)


def picked(accuracy: str, read: int, made: int, batch: int, windows: Sequence[Window]) -> Scheme | None:
    """What was measured to be fastest on this machine, None for the plain way; else what `scheme_of` says."""
    exact_enough = {f"{each.tile}x{each.tile}": each for each in _exact_enough(accuracy, read)}
    offered: dict[str, Scheme | None] = {"plain": None, **exact_enough}
    default = scheme_of(accuracy, read, made, batch, windows)
    numbers = (batch, *(window.count for window in windows), read, made)
    return offered[pick("winograd", numbers, tuple(offered), f"{default.tile}x{default.tile}")]


def planned(calls: CpuCalls, node: Node, x: Access, out: Access, windows: Sequence[Window]) -> Winograd | None:
    """The writer of a convolution, or None where the plain way is taken: the mapped weight needs room too."""
    read, made, batch = x.shape[-1], out.shape[-1], x.shape[0]
    if not fits(read, made, batch, windows):
        return None
    scheme = picked(calls.settings.accuracy, read, made, batch, windows)
    if scheme is None:
        return None
    size = scheme.points * read * made * f32.size
    if calls.mapped_bytes + size > calls.settings.mapped_weights:
        return None
    calls.mapped_bytes += size
    return Winograd(calls, node, x, out, windows, scheme)
