"""Regions of images: boxes pooled to one size, and boxes chosen among those that overlap.

How many samples a box holds and which boxes stay depends on the boxes themselves, so NumPy does the
work on every device whose backend has no kernel of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import FLOATS, INTS
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, AutodiffError, DTypeError, ShapeError
from burn.ops.activation import number
from burn.ops.declare import hosted, only_floats
from burn.ops.indexing_references import checked
from burn.ops.movement import whole, zeros
from burn.ops.op import Op
from burn.ops.windows import Array, Sizes, check_rank, positive, widened
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


# Boxes pooled by sampling


def _align_rule(
    op: Op, x: Any, boxes: Any, batch_indices: Any, output_size: Any, spatial_scale: Any, sampling_ratio: Any,
    mode: Any, half_pixel: Any,
) -> Any:  # fmt: skip
    check_rank(op.name, x.shape, 2)
    _check_boxes(op, boxes, batch_indices)
    output = positive(op.name, "output_size", output_size, 2)
    ratio = whole(op.name, "sampling_ratio", sampling_ratio)
    if ratio < 0:
        raise ArgumentError(f"{op.name}: sampling_ratio must be 0 (as many as fit) or more, got {ratio}")
    if mode not in ("avg", "max"):
        raise ArgumentError(f"{op.name}: mode must be 'avg' or 'max', got {mode!r}")
    settings = (output, number(op, "spatial_scale", spatial_scale), ratio, mode, bool(half_pixel))
    return Shape((boxes.shape[0], x.shape[1], *output)), x.dtype, settings


def _floats(op: Op, operands: list[Any]) -> list[Any]:
    """Images and boxes must be floats, each in its own precision."""
    return [only_floats.coerce(op, operands[0]), only_floats.coerce(op, operands[1]), *operands[2:]]


def _check_boxes(op: Op, boxes: Any, batch_indices: Any) -> None:
    if len(boxes.shape) != 2 or boxes.shape[1] != 4:
        raise ShapeError(f"{op.name}: boxes must have the shape (count, 4), got {tuple(boxes.shape)}")
    if batch_indices.dtype not in INTS or tuple(batch_indices.shape) != (boxes.shape[0],):
        raise ShapeError(
            f"{op.name}: batch_indices must be {boxes.shape[0]} ints, one for each box, "
            f"got {batch_indices.dtype} of shape {tuple(batch_indices.shape)}"
        )


def _line(start: float, length: float, output: int, ratio: int, size: int) -> tuple[Array, Array, Array]:
    """Along one dim, for each sample of each bin: the two elements it lies between, and the weight of the second.

    A weight of NaN marks a sample that lies outside the image.
    """
    bin_size = length / output
    count = ratio if ratio > 0 else math.ceil(length / output)
    places = start + bin_size * (np.arange(output)[:, None] + (np.arange(count) + 0.5) / max(count, 1))
    outside = (places < -1.0) | (places > size)
    places = np.maximum(places, 0.0)
    low = np.minimum(places.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    part = np.where(low >= size - 1, 0.0, places - low)
    return low, high, np.where(outside, np.nan, part)


def _corners(box: Array, output: Sizes, scale: float, ratio: int, half_pixel: bool, spatial: Sizes) -> Any:
    """The four flat places (rows, row samples, columns, column samples) of each sample, and their weights."""
    offset = 0.5 if half_pixel else 0.0
    left, top, right, bottom = (float(each) * scale - offset for each in box)
    height, width = bottom - top, right - left
    if not half_pixel:
        height, width = max(height, 1.0), max(width, 1.0)
    upper, lower, down = _line(top, height, output[0], ratio, spatial[0])
    before, after, across = _line(left, width, output[1], ratio, spatial[1])
    down, across = down[:, :, None, None], across[None, None]
    outside = np.isnan(down) | np.isnan(across)
    found = []
    for row, vertical in ((upper, 1.0 - down), (lower, down)):
        for column, horizontal in ((before, 1.0 - across), (after, across)):
            places = row[:, :, None, None] * spatial[1] + column[None, None]
            found.append((np.where(outside, 0, places), np.where(outside, 0.0, vertical * horizontal)))
    return found


def _roi_align(
    x: Array, boxes: Array, batch_indices: Array, output_size: Sizes, spatial_scale: float, sampling_ratio: int,
    mode: str, half_pixel: bool,
) -> Array:  # fmt: skip
    images = widened(x).reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    result = np.zeros((boxes.shape[0], x.shape[1], *output_size), images.dtype)
    chosen = checked("roi_align", batch_indices, 0, x.shape[0])
    for place, (box, image) in enumerate(zip(widened(boxes), chosen, strict=True)):
        corners = _corners(box, output_size, spatial_scale, sampling_ratio, half_pixel, x.shape[2:])
        parts = [images[image][:, places] * weights.astype(images.dtype) for places, weights in corners]
        count = parts[0].shape[2] * parts[0].shape[4]
        if mode == "avg":
            result[place] = sum(parts).sum(axis=(2, 4)) / max(count, 1)
        elif count:
            result[place] = np.maximum.reduce(parts).max(axis=(2, 4))
    return result.astype(x.dtype, copy=False)


def _align_backward_rule(
    op: Op, gradient: Any, boxes: Any, batch_indices: Any, x_shape: Any, spatial_scale: Any, sampling_ratio: Any,
    half_pixel: Any,
) -> Any:  # fmt: skip
    check_rank(op.name, gradient.shape, 2, "gradient")
    _check_boxes(op, boxes, batch_indices)
    sizes = positive(op.name, "x_shape", x_shape, 4)
    if gradient.shape[0] != boxes.shape[0] or gradient.shape[1] != sizes[1]:
        raise ShapeError(
            f"{op.name}: {boxes.shape[0]} boxes of x {sizes} do not give a gradient of {tuple(gradient.shape)}"
        )
    settings = (sizes, number(op, "spatial_scale", spatial_scale), whole(op.name, "sampling_ratio", sampling_ratio))
    return Shape(sizes), gradient.dtype, (*settings, bool(half_pixel))


def _roi_align_backward(
    gradient: Array, boxes: Array, batch_indices: Array, x_shape: Sizes, spatial_scale: float, sampling_ratio: int,
    half_pixel: bool,
) -> Array:  # fmt: skip
    values = widened(gradient)
    batch, channels, *spatial = x_shape
    result = np.zeros((batch, channels, math.prod(spatial)), values.dtype)
    chosen = checked("roi_align_backward", batch_indices, 0, batch)
    for part, box, image in zip(values, widened(boxes), chosen, strict=True):
        corners = _corners(box, part.shape[1:], spatial_scale, sampling_ratio, half_pixel, tuple(spatial))
        for places, weights in corners:
            count = max(places.shape[1] * places.shape[3], 1)
            shares = part[:, :, None, :, None] * (weights / count).astype(values.dtype)
            for channel in range(channels):
                np.add.at(result[image, channel], places, shares[channel])
    return result.reshape(x_shape).astype(gradient.dtype, copy=False)


def _again(
    g: Any, gradient_shape: Any, boxes: Any, batch_indices: Any, spatial_scale: float, sampling_ratio: int,
    half_pixel: bool,
) -> Any:  # fmt: skip
    return roi_align(g, boxes, batch_indices, gradient_shape[2:], spatial_scale, sampling_ratio, "avg", half_pixel)


@hosted(
    rule=_align_backward_rule,
    reference=_roi_align_backward,
    prepare=_floats,
    vjp=dict(gradient=_again),
)
def roi_align_backward(
    gradient: Tensor[B],
    boxes: Tensor[Any],
    batch_indices: Tensor[Any],
    x_shape: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    half_pixel: bool = True,
) -> Tensor[B]:
    """Carry the gradient of `roi_align` (of means) back to images of `x_shape`."""
    ...


def _align_gradient(
    g: Any, boxes: Any, batch_indices: Any, x_shape: Any, spatial_scale: float, sampling_ratio: int, mode: str,
    half_pixel: bool,
) -> Any:  # fmt: skip
    if mode != "avg":
        raise AutodiffError("roi_align: mode='max' passes no gradient; use mode='avg', or detach x")
    return roi_align_backward(g, boxes, batch_indices, x_shape, spatial_scale, sampling_ratio, half_pixel)


@hosted(
    rule=_align_rule,
    reference=_roi_align,
    prepare=_floats,
    vjp=dict(x=_align_gradient),
)
def roi_align(
    x: Tensor[B],
    boxes: Tensor[Any],
    batch_indices: Tensor[Any],
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    mode: str = "avg",
    half_pixel: bool = True,
) -> Tensor[B]:
    """Pool the `boxes` (left, top, right, bottom) of images to `output_size`, reading between pixels.

    Arguments:
        batch_indices: the image of each box.
        spatial_scale: from the numbers of a box to pixels.
        sampling_ratio: samples a dim in each bin; 0 takes as many as there are pixels.
        mode: "avg" or "max" of the samples.
        half_pixel: whether the middle of the first pixel is at 0.5, not at 0.

    >>> from burn.tensor import vision
    >>> x, boxes = burn.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), burn.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> vision.roi_align(x, boxes, burn.tensor([0]), 1).tolist()
    [[[[2.5]]]]
    """
    ...


# Boxes pooled by their largest pixels


def _max_rule(op: Op, x: Any, boxes: Any, output_size: Any, spatial_scale: Any, index_dtype: Any) -> Any:
    check_rank(op.name, x.shape, 2)
    if len(boxes.shape) != 2 or boxes.shape[1] != 5:
        raise ShapeError(
            f"{op.name}: boxes must have the shape (count, 5): image, left, top, right, bottom; "
            f"got {tuple(boxes.shape)}"
        )
    if x.shape[2] * x.shape[3] == 0:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has no pixels")
    output = positive(op.name, "output_size", output_size, 2)
    shape = Shape((boxes.shape[0], x.shape[1], *output))
    dtype = index_dtype_of(x, index_dtype)
    return [shape, shape], [x.dtype, dtype], (output, number(op, "spatial_scale", spatial_scale), dtype)


def index_dtype_of(x: Any, chosen: Any) -> Any:
    """The dtype of index values: the device's own unless another is asked for."""
    return x.device.int_dtype if chosen is None else as_dtype(chosen)


def _bins(first: int, last: int, output: int, size: int) -> list[tuple[int, int]]:
    extent = max(last - first + 1, 1) / output
    return [
        (min(max(math.floor(i * extent) + first, 0), size), min(max(math.ceil((i + 1) * extent) + first, 0), size))
        for i in range(output)
    ]


def _roi_max_pool(x: Array, boxes: Array, output_size: Sizes, spatial_scale: float, index_dtype: Any) -> Any:
    batch, channels, height, width = x.shape
    values = np.zeros((boxes.shape[0], channels, *output_size), x.dtype)
    places = np.full(values.shape, -1, np.int64)
    images = checked("roi_max_pool", widened(boxes)[:, 0].astype(np.int64), 0, batch)
    for count, (image, box) in enumerate(zip(images, widened(boxes)[:, 1:], strict=True)):
        # Halves are rounded away from zero, as in C.
        left, top, right, bottom = (
            int(math.copysign(math.floor(abs(each) * spatial_scale + 0.5), each)) for each in box
        )
        for row, (start, stop) in enumerate(_bins(top, bottom, output_size[0], height)):
            for column, (begin, end) in enumerate(_bins(left, right, output_size[1], width)):
                if stop <= start or end <= begin:
                    continue
                part = x[image, :, start:stop, begin:end].reshape(channels, -1)
                choice = np.argmax(widened(part), axis=1)
                values[count, :, row, column] = part[np.arange(channels), choice]
                inside = (start + choice // (end - begin)) * width + begin + choice % (end - begin)
                places[count, :, row, column] = (image * channels + np.arange(channels)) * height * width + inside
    return values, places.astype(index_dtype.numpy)


def _max_gradient(g: Any, out: Any, x_shape: Any) -> Any:
    if g[0] is None:
        return None
    size = math.prod(x_shape)
    empty = out[1].lower(0)
    shares = g[0].mask_fill(empty, 0.0).reshape((math.prod(out[1].shape),))
    places = out[1].mask_fill(empty, 0).reshape(shares.shape)
    return zeros((size,), g[0]).scatter(0, places, shares).reshape(x_shape)


@hosted(
    rule=_max_rule,
    reference=_roi_max_pool,
    prepare=_floats,
    vjp=dict(x=_max_gradient),
    outputs=2,
)
def roi_max_pool(
    x: Tensor[B], boxes: Tensor[Any], output_size: Any, spatial_scale: float = 1.0, index_dtype: Any = None
) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest pixel in each of `output_size` bins of each of the `boxes`, and its index in the flattened `x`.

    A bin without pixels gives 0 and the index -1.

    Arguments:
        boxes: (image, left, top, right, bottom), rounded to whole pixels after `spatial_scale`.
        index_dtype: the dtype of the indices.

    >>> from burn.tensor import vision
    >>> x, boxes = burn.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), burn.tensor([[0.0, 0.0, 0.0, 1.0, 1.0]])
    >>> [each.tolist() for each in vision.roi_max_pool(x, boxes, 1)]
    [[[[[4.0]]]], [[[[3]]]]]
    """
    ...


# Boxes chosen among those that overlap


def _suppression_rule(
    op: Op, boxes: Any, scores: Any, most: Any, iou_threshold: Any, score_threshold: Any, center: Any,
    index_dtype: Any,
) -> Any:  # fmt: skip
    for name, each in (("boxes", boxes), ("scores", scores)):
        if each.dtype not in FLOATS:
            raise DTypeError(f"{op.name}: {name} must be a float tensor, got {each.dtype}; convert it with .float()")
    shapes = f"boxes {tuple(boxes.shape)} and scores {tuple(scores.shape)}"
    if len(boxes.shape) != 3 or boxes.shape[2] != 4 or len(scores.shape) != 3:
        raise ShapeError(f"{op.name}: needs boxes (batch, count, 4) and scores (batch, classes, count), got {shapes}")
    if boxes.shape[0] != scores.shape[0] or boxes.shape[1] != scores.shape[2]:
        raise ShapeError(f"{op.name}: {shapes} differ in their batch or in the number of boxes")
    limit = -1 if score_threshold is None else number(op, "score_threshold", score_threshold)
    dtype = index_dtype_of(boxes, index_dtype)
    settings = (
        whole(op.name, "max_output_boxes_per_class", most), number(op, "iou_threshold", iou_threshold),
        None if score_threshold is None else limit, bool(center), dtype,
    )  # fmt: skip
    return None, dtype, settings


def _edges(boxes: Array, center: bool) -> Array:
    """Boxes as (top, left, bottom, right), the smaller of two edges first."""
    if center:
        across, down, half_width, half_height = boxes[:, 0], boxes[:, 1], boxes[:, 2] / 2, boxes[:, 3] / 2
        return np.stack([down - half_height, across - half_width, down + half_height, across + half_width], axis=1)
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _kept(edges: Array, scores: Array, most: int, threshold: float, score_threshold: float | None) -> list[int]:
    """The boxes of one class that stay, best first: each suppresses the later ones it overlaps too much."""
    order = np.argsort(-scores, kind="stable")
    if score_threshold is not None:
        order = order[scores[order] > score_threshold]
    areas = np.prod(edges[:, 2:] - edges[:, :2], axis=1)
    kept: list[int] = []
    while order.size and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        overlap = np.minimum(edges[best, 2:], edges[order, 2:]) - np.maximum(edges[best, :2], edges[order, :2])
        shared = np.prod(np.maximum(overlap, 0), axis=1)
        union = areas[best] + areas[order] - shared
        overlaps = (shared > 0) & (union > 0)
        order = order[~(overlaps & (shared / np.where(overlaps, union, 1.0) > threshold))]
    return kept


def _non_max_suppression(
    boxes: Array, scores: Array, most: int, iou_threshold: float, score_threshold: float | None, center: bool,
    index_dtype: Any,
) -> Array:  # fmt: skip
    found = []
    for image in range(boxes.shape[0]):
        edges = _edges(widened(boxes[image]), center)
        for kind in range(scores.shape[1]):
            kept = _kept(edges, widened(scores[image, kind]), most, iou_threshold, score_threshold)
            found += [(image, kind, box) for box in kept]
    return np.array(found, index_dtype.numpy).reshape(len(found), 3)


@hosted(rule=_suppression_rule, reference=_non_max_suppression)
def non_max_suppression(
    boxes: Tensor[B],
    scores: Tensor[Any],
    max_output_boxes_per_class: int = 0,
    iou_threshold: float = 0.0,
    score_threshold: float | None = None,
    center: bool = False,
    index_dtype: Any = None,
) -> Tensor[B]:
    """Choose boxes by score, leaving out those that overlap a better one of their class too much.

    Each row of the result is (image, class, box).

    Arguments:
        boxes: (batch, count, 4), two opposite corners (y, x, y, x), or with `center` (x, y, width, height).
        scores: (batch, classes, count).
        max_output_boxes_per_class: how many to choose at most; 0 chooses none.
        iou_threshold: how much of their union two boxes may share.
        score_threshold: the score that a box has to exceed.
        index_dtype: the dtype of the result.

    >>> from burn.tensor import vision
    >>> boxes = burn.tensor([[[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]]])
    >>> vision.non_max_suppression(boxes, burn.tensor([[[0.9, 0.8, 0.7]]]), 3, 0.5).tolist()
    [[0, 0, 0], [0, 0, 2]]
    """
    ...
