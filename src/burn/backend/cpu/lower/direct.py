"""Convolutions as kernels of our own.

Lanes run along the channels that are made, however few or many, and a tile of pixels and channels is kept in registers
(see `burn.backend.cpu.lower.tiles`): for each tap and each channel that is read, the numbers of the pixels meet vectors
of weights. What follows the convolution is done there too (see `burn.engine.lower.epilogue`). Where each channel
has a filter of its own, lanes read their own channel.

The gradient of an image, which is also a transposed convolution, is the same computation with the weights turned
around; with strides, it asks which windows reached a pixel (see `burn.engine.lower.windows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower import tiled_gradient, winograd
from burn.backend.cpu.lower.direct_kernel import DirectKernel, Form
from burn.backend.cpu.lower.tiles import Tile, line_length, shared_pixels, tile_of
from burn.dtype import f32
from burn.engine.lower.windows import POINT, Block, Piece, Window, cut, gradient_pieces
from burn.engine.schedule.access import Access
from burn.engine.schedule.images import permuted
from burn.engine.target import target
from burn.program.program import Node
from burn.symbolic import is_symbolic

if TYPE_CHECKING:
    from burn.backend.cpu.lower.calls import CpuCalls
    from burn.engine.lower.loop import Loop

__all__ = [
    "LANES", "Block", "Window", "blocks_of", "lower_direct", "pixels", "reads_anyhow", "windows_of",
]  # fmt: skip

LANES = 16
"""Channels that one iteration makes where each has a filter of its own, if they divide so."""

pixels = shared_pixels


def blocks_of(window: Window) -> list[Block]:
    """A row cut into blocks of pixels that share what they read."""
    return cut(window, pixels(window))


def windows_of(
    name: str, read: Sequence[int], made: Sequence[int], kernel: Sequence[int], given: Sequence[Any]
) -> list[Window]:
    """The windows of a convolution, dim by dim; what has one spatial dim is an image of one row.

    Those of a gradient are of a convolution with the weight turned around; with strides there is none, and they are
    those of `burn.engine.lower.windows.gradient_span`.
    """
    stride, padding, dilation, _ = given[-4:]
    turned = name == "conv_x_backward" and max(stride) == 1
    found = [
        Window(size, count, k, step, d * (k - 1) - before if turned else before, d)
        for size, count, k, step, (before, _), d in zip(read, made, kernel, stride, padding, dilation, strict=True)
    ]
    return found if len(found) > 1 else [POINT, *found]


def is_depthwise(read: int, made: int, groups: int) -> bool:
    """Whether each channel has a filter of its own."""
    return groups == read == made and groups > 1


def reads_anyhow(name: str, x: Sequence[int], weight: Sequence[int], out: Sequence[int], given: Sequence[Any]) -> bool:
    """Whether the kernel reads its image in any order: one number at a time, not along lanes."""
    read, made = (out, x) if name == "conv_x_backward" else (x, out)
    windows = windows_of(name, read[2:], made[2:], weight[2:], given)
    if is_depthwise(x[1], out[1], given[-1]):
        return False
    if name == "conv_weight_backward":
        return given[-1] > 1 or not tiled_gradient.fits(x[1], out[1], x[0], windows)
    return given[-1] > 1 or max(given[-4]) > 1 or not winograd.fits(read[1], made[1], read[0], windows)


def lower_direct(
    calls: CpuCalls, node: Node, x: Access, weight: Access, out: Access, given: Sequence[Any], label: str
) -> list[Loop]:
    """The steps of a convolution, or of the gradient of its image, on channels-last accesses.

    `x` is what is read and `out` what is made: for a gradient, the gradient of the result and that of the image.
    What is read may lie in memory in any way, as long as lanes need not go through it.
    """
    (stride, *_, groups), backward = given[-4:], node.op.name == "conv_x_backward"
    strided = backward and max(stride) > 1
    turned = _flipped(weight) if backward and not strided else weight
    windows = windows_of(node.op.name, x.shape[1:-1], out.shape[1:-1], weight.shape[2:], given)
    if len(weight.shape) == 3:
        (*outer, last), (*jumps, jump) = turned.shape, turned.strides
        turned = Access(turned.value, (*outer, 1, last), (*jumps, 0, jump), turned.offset)
    tiled = winograd.planned(calls, node, x, out, windows) if groups == 1 and not strided else None
    if tiled is not None:
        # A gradient reads what the convolution makes: the first two dims of its weight change places.
        steps, mapped = tiled.mapped_weight(permuted(turned, (1, 0, 2, 3)) if backward else turned)
        made = tiled.write(mapped, label)
        return [*steps, *tiled.epilogue.before, made]
    form = _form(x, out, windows, groups, strided)
    steps, held = calls.ordered(_packed(turned, backward, form), f32)
    kernel = DirectKernel(calls, node, x, out, form)
    made = kernel.write(held, label)
    return [*steps, *kernel.epilogue.before, made]


def _form(x: Access, out: Access, windows: Sequence[Window], groups: int, strided: bool) -> Form:
    """How the kernel goes through a convolution."""
    images, read, made = x.shape[0], x.shape[-1], out.shape[-1]
    depthwise = is_depthwise(read, made, groups)
    assert not depthwise or x.strides[-1] == 1, "lanes go through an image that is not channels-last"
    *outer, columns = windows
    strides = x.strides if len(x.shape) > 3 else (x.strides[0], 0, *x.strides[1:])
    if not strided and all(w == Window(w.size, w.size, 1, 1, 0, 1) for w in windows):
        images, outer, columns, strides = _lines(images, windows, strides, made // groups)
    pieces = gradient_pieces(columns) if strided else [Piece(columns)]
    if depthwise:
        lanes = LANES if made % LANES == 0 else made
        tile, groups, read = Tile(lanes, 1, pixels(pieces[0].window)), 1, 1
    else:
        read, made = read // groups, made // groups
        tile = tile_of(max((piece.window for piece in pieces), key=lambda window: window.kernel), made)
    return Form(
        images, tuple(outer), tuple(pieces), columns.kernel, columns.count, tuple(strides), read, made, groups,
        depthwise, strided, tile,
    )  # fmt: skip


def _lines(
    images: int, windows: Sequence[Window], strides: Sequence[int], made: int
) -> tuple[int, list[Window], Window, tuple[int, ...]]:
    """Pixels that are made of one each, in lines of a good length: they may be cut anywhere if they follow each other.

    Gives images, outer windows, the window of lines and strides.
    """
    *outer, columns = windows
    of_image, *of_outer, of_pixel, of_channel = strides
    count, follows = columns.count, of_pixel
    sizes, jumps = [images, *(window.count for window in outer)], [of_image, *of_outer]
    follows = count * of_pixel
    while sizes and not is_symbolic(sizes[-1:]) and (sizes[-1] == 1 or jumps[-1] == follows):
        count *= sizes.pop()
        follows = count * of_pixel
        jumps.pop()
    length = 0 if is_symbolic((count,)) else line_length(count, made, target().units)
    if length == 0:
        return images, outer, columns, tuple(strides)
    sizes, jumps = [*sizes, count // length], [*jumps, length * of_pixel]
    if len(sizes) == 1:
        sizes, jumps = [*sizes, 1], [*jumps, 0]
    middle = [Window(size, size, 1, 1, 0, 1) for size in sizes[1:]]
    return sizes[0], middle, Window(length, length, 1, 1, 0, 1), (*jumps, of_pixel, of_channel)


def _flipped(weight: Access) -> Access:
    """The weight from back to front."""
    offset, strides = weight.offset, list(weight.strides)
    for dim in range(2, len(weight.shape)):
        offset += (weight.shape[dim] - 1) * strides[dim]
        strides[dim] = -strides[dim]
    return Access(weight.value, weight.shape, tuple(strides), offset)


def _packed(weight: Access, backward: bool, form: Form) -> Access:
    """The weight (out, in / groups, *kernel) as (group, part, *kernel, read, made / parts)."""
    (first, of_first), (_, of_second), *kernel = zip(weight.shape, weight.strides, strict=True)
    made, channels = form.made, form.tile.channels
    if form.depthwise:
        dims = [*kernel, (1, 0), (made, of_first)]
    else:
        group = (form.groups, first // form.groups * of_first)
        of_read, of_made = (of_first, of_second) if backward else (of_second, of_first)
        dims = [group, (made // channels, channels * of_made), *kernel, (form.read, of_read), (channels, of_made)]
    return Access(weight.value, tuple(size for size, _ in dims), tuple(stride for _, stride in dims), weight.offset)
