"""Samples of padding that may crop, and of blocks of pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples


def _padded(x: torch.Tensor, pads: Any, value: float = 0.0, mode: str = "constant") -> torch.Tensor:
    """Crop with slices, then read each dim at the places NumPy's padding of its indices names."""
    for dim, (before, after) in enumerate(pads):
        size = x.shape[dim]
        x = x.narrow(dim, max(-before, 0), size + min(before, 0) + min(after, 0))
        before, after = max(before, 0), max(after, 0)
        if mode == "constant":
            full = [torch.full((*x.shape[:dim], count, *x.shape[dim + 1 :]), value).to(x) for count in (before, after)]
            x = torch.cat([full[0], x, full[1]], dim)
        elif before or after:
            places = np.pad(np.arange(x.shape[dim]), (before, after), mode=mode)  # type: ignore[call-overload]
            x = x.index_select(dim, torch.from_numpy(places))
    return x


@samples("pad_or_crop", oracle=_padded)
def _pad() -> Iterator[Sample]:
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield call(random(3, 4), [(1, 2), (0, 3)], mode=mode)
        yield call(random(3, 4), [(-1, 2), (3, -2)], 1.5, mode)
        yield call(random(2, 3), [(5, 0), (4, 7)], mode=mode)
        yield call(integers(2, 3), [(0, 1), (2, 0)], mode=mode)
    yield call(booleans(2, 3), [(1, 0), (0, -1)], True)
    yield call(random(4, 3).T, [(0, 1), (1, -1)], mode="wrap")
    yield call(random(3), [(-1, -2)])
    yield call(random(0, 2), [(1, 0), (0, 1)], 2.0)
    yield call(np.array(3.0), [])


refused("pad_or_crop", random(3), [(1, 2), (0, 1)], error=ArgumentError, match="one .before, after. for each dim")
refused("pad_or_crop", random(3), 1, error=ArgumentError, match="pads must be")
refused("pad_or_crop", random(3), [(1, 0)], mode="mirror", error=ArgumentError, match="mode must be one of")
refused("pad_or_crop", random(3), [(-2, -2)], error=ShapeError, match="crops more than the 3 elements of dim 0")
refused("pad_or_crop", random(3), [(-3, 1)], mode="edge", error=ShapeError, match="nothing is left of dim 0")
refused("pad_or_crop", random(3), [(1, 0)], "wrap", error=DTypeError, match="value must be a")


def _centred(x: Any, sizes: Any, dims: Any = None) -> Any:
    settings = {} if dims is None else {"axes": list(dims)}
    return onnx_node("CenterCropPad", x, np.array(sizes, np.int64), **settings)


@samples("center_crop_pad", oracle=_centred)
def _center() -> Iterator[Sample]:
    yield call(random(4, 5), (7, 2))
    yield call(random(4, 5, 3), (6, 3), (0, 2))
    yield call(random(4, 5, 3), (2, 8), (-1, 1))
    yield call(integers(4, 4), (3, 3))
    yield call(random(5, 4).T, (1, 9))


refused("center_crop_pad", random(3), (1, 2), error=ArgumentError, match="sizes needs 1 numbers")
refused("center_crop_pad", random(3), (1,), (1,), error=ShapeError, match="dim 1 is out of range")


def _to_space(x: Any, block: int, order: str = "depth_first") -> Any:
    if order == "column_first":
        return functional.pixel_shuffle(x, block)
    batch, channels, height, width = x.shape
    parts = x.reshape(batch, block * block, channels // block**2, height, width).swapaxes(1, 2)
    return functional.pixel_shuffle(parts.reshape(x.shape), block)


@samples("depth_to_space", oracle=_to_space)
def _depth_to_space() -> Iterator[Sample]:
    yield call(random(2, 8, 2, 3), 2)
    yield call(random(2, 8, 2, 3), 2, "column_first")
    yield call(random(1, 9, 1, 2), 3, "depth_first")
    yield call(integers(1, 4, 2, 2), 2)
    yield call(random(3, 2, 8, 2).T.swapaxes(1, 2), 1, "column_first")


def _to_depth(x: Any, block: int, order: str = "depth_first") -> Any:
    if order == "depth_first":
        return onnx_node("SpaceToDepth", x, blocksize=block)
    return functional.pixel_unshuffle(x, block)


@samples("space_to_depth", oracle=_to_depth)
def _space_to_depth() -> Iterator[Sample]:
    yield call(random(2, 2, 4, 6), 2)
    yield call(random(2, 2, 4, 6), 2, "column_first")
    yield call(random(1, 3, 3, 6), 3)
    yield call(integers(1, 1, 4, 2), 2)


for _name, _shape in (("depth_to_space", (1, 6, 2, 2)), ("space_to_depth", (1, 2, 3, 4))):
    refused(_name, random(*_shape), 2, error=ShapeError, match="blocks of 2 x 2")
    refused(_name, random(1, 4, 4, 4), 2, "rows", error=ArgumentError, match="order must be")
    refused(_name, random(1, 4, 4, 4), 0, error=ArgumentError, match="block_size must be 1 or more")
    refused(_name, random(4, 4, 4), 2, error=ShapeError, match="must have the shape")


def _folded(x: Any, output: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> Any:
    """PyTorch's fold of a larger canvas, the padding cut off; the other dims as dims of size 1."""
    rank = len(output)
    stride, dilation = ([each] * rank if isinstance(each, int) else list(each) for each in (stride, dilation))
    pads = [(padding, padding)] * rank if isinstance(padding, int) else [tuple(pair) for pair in padding]
    canvas = [size + sum(pair) for size, pair in zip(output, pads, strict=True)]
    if rank == 3:
        return onnx_node(
            "Col2Im", x, np.array(output), np.array(kernel), strides=stride, dilations=dilation,
            pads=[pair[0] for pair in pads] + [pair[1] for pair in pads],
        )  # fmt: skip
    wide = rank == 1
    found = functional.fold(
        x, [1, *canvas] if wide else canvas, [1, *kernel] if wide else list(kernel),
        [1, *dilation] if wide else dilation, 0, [1, *stride] if wide else stride,
    )  # fmt: skip
    found = found.squeeze(2) if wide else found
    for dim, (size, (before, _)) in enumerate(zip(output, pads, strict=True), 2):
        found = found.narrow(dim, before, size)
    return found


@samples("fold", oracle=_folded)
def _fold() -> Iterator[Sample]:
    yield call(random(2, 18, 9), (5, 4), (3, 2))
    yield call(random(1, 6, 16), (4, 5), (2, 3), 1, [(1, 0), (0, 1)])
    yield call(random(2, 6, 4), (6,), (3,), 1)
    yield call(random(1, 4, 3), (5,), (2,), 2, [(1, 1)], 2)
    yield call(random(1, 16, 8), (3, 3, 3), (2, 2, 2), 1, 0)
    yield call(random(1, 8, 12), (2, 3, 3), (2, 2, 2), 1, [(0, 0), (1, 0), (1, 1)])
    yield call(random(0, 4, 4), (3, 3), (2, 2))


refused("fold", random(1, 4, 5), (3, 3), (2, 2), error=ShapeError, match="has 4 patches of 4 elements")
refused("fold", random(4, 4), (3, 3), (2, 2), error=ShapeError, match="x must have the shape")
refused("fold", random(1, 4, 4), (3, 3, 3, 3), 2, error=ArgumentError, match="one to three sizes")
refused("fold", random(1, 16, 4), (3, 3), 4, error=ShapeError, match="is larger than")
refused("fold", integers(1, 4, 4), (3, 3), (2, 2), error=DTypeError, match="needs a float tensor")
