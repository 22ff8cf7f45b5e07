"""Samples of boxes: ONNX's reference evaluator answers, and PyTorch's own maxima of cut-out bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, call, distinct, integers, random, refused, samples

BOXES = np.array([[0.0, 0.0, 7.0, 6.0], [1.5, 2.5, 5.0, 4.0], [-3.0, 4.0, 2.0, 12.0], [3.2, 3.1, 3.3, 3.4]], np.float32)
IMAGES = np.array([0, 1, 1, 0])


def _aligned(
    x: Any, boxes: Any, images: Any, output: Any, scale: float = 1.0, ratio: int = 0, mode: str = "avg",
    half_pixel: bool = True,
) -> Any:  # fmt: skip
    rows, columns = (output, output) if isinstance(output, int) else output
    return onnx_node(
        "RoiAlign", x, boxes, images, output_height=rows, output_width=columns, spatial_scale=scale,
        sampling_ratio=ratio, mode=mode,
        coordinate_transformation_mode="half_pixel" if half_pixel else "output_half_pixel",
    )  # fmt: skip


@samples("roi_align", oracle=_aligned)
def _roi_align() -> Iterator[Sample]:
    yield call(random(2, 2, 6, 7), BOXES, IMAGES, (2, 3), tolerance=2e-5)
    yield call(random(2, 2, 6, 7), BOXES, IMAGES, 2, 0.5, 2, tolerance=2e-5)
    yield call(random(2, 2, 6, 7), BOXES, IMAGES, (3, 2), 1.0, 0, "avg", False, tolerance=2e-5)
    yield call(random(2, 2, 6, 7), BOXES, IMAGES, (3, 2), 1.0, 3, "max", False, grad=False, tolerance=2e-5)
    yield call(random(2, 2, 6, 7), BOXES, IMAGES, (1, 1), mode="max", grad=False, tolerance=2e-5)
    yield call(random(7, 6, 2, 2).T, BOXES, IMAGES.astype(np.int32), 2, tolerance=2e-5)
    yield call(random(2, 2, 6, 7), np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 2, oracle=False)


refused("roi_align", random(1, 1, 4, 4), random(2, 3), integers(2, low=0), 2, error=ShapeError, match="boxes must have")
refused("roi_align", random(1, 1, 4, 4), random(2, 4), integers(3, low=0), 2, error=ShapeError, match="must be 2 ints")
refused("roi_align", random(1, 1, 4, 4), random(2, 4), np.array([0, 1]), 2, error=IndexingError, match="out of range")
refused("roi_align", random(1, 1, 4, 4), random(2, 4), np.array([0, 0]), 2, mode="sum", error=ArgumentError,
        match="mode must be 'avg' or 'max'")  # fmt: skip
refused("roi_align", random(1, 1, 4, 4), random(2, 4), np.array([0, 0]), 2, 1.0, -1, error=ArgumentError,
        match="sampling_ratio must be 0")  # fmt: skip


def _carried_back(
    gradient: Any, boxes: Any, images: Any, x_shape: Any, scale: float = 1.0, ratio: int = 0, half_pixel: bool = True
) -> Any:
    """`roi_align` is linear in its images: its transpose, one basis image at a time, by ONNX's evaluator."""
    size = math.prod(x_shape)
    found = torch.zeros(size, dtype=gradient.dtype)
    for element in range(size):
        basis = torch.zeros(size, dtype=gradient.dtype)
        basis[element] = 1.0
        pooled = _aligned(
            basis.reshape(x_shape), boxes, images, tuple(gradient.shape[2:]), scale, ratio, "avg", half_pixel
        )
        found[element] = (pooled * gradient).sum()
    return found.reshape(x_shape)


@samples("roi_align_backward", oracle=_carried_back)
def _roi_align_backward() -> Iterator[Sample]:
    yield call(random(2, 1, 2, 2), BOXES[:2] / 2, np.array([0, 0]), (1, 1, 3, 4), tolerance=2e-5)
    yield call(random(1, 2, 1, 2), BOXES[2:3] / 2, np.array([0]), (1, 2, 3, 3), 0.5, 2, False,
               tolerance=2e-5)  # fmt: skip


refused("roi_align_backward", random(2, 1, 2, 2), random(3, 4), integers(3, low=0), (1, 1, 4, 4), error=ShapeError,
        match="do not give a gradient")  # fmt: skip


def _pooled(x: Any, boxes: Any, output: Any, scale: float = 1.0, index_dtype: Any = None) -> Any:
    """Each bin cut out of the image and its maximum taken."""
    rows, columns = (output, output) if isinstance(output, int) else output
    _, channels, height, width = x.shape
    table = torch.arange(x.numel()).reshape(x.shape)
    values, places = [], []
    for image, *box in boxes.tolist():
        left, top, right, bottom = (math.floor(each * scale + 0.5) for each in box)
        tall, broad = max(bottom - top + 1, 1) / rows, max(right - left + 1, 1) / columns
        for row in range(rows):
            for column in range(columns):
                start, stop = (
                    min(max(top + f, 0), height) for f in (math.floor(row * tall), math.ceil((row + 1) * tall))
                )
                begin, end = (
                    min(max(left + f, 0), width) for f in (math.floor(column * broad), math.ceil((column + 1) * broad))
                )
                part = x[int(image), :, start:stop, begin:end].flatten(1)
                if part.numel():
                    value, choice = part.max(1)
                    values.append(value)
                    places.append(
                        table[int(image), :, start:stop, begin:end].flatten(1).gather(1, choice[:, None])[:, 0]
                    )
                else:
                    values.append(torch.zeros(channels, dtype=x.dtype))
                    places.append(torch.full((channels,), -1))
    count = boxes.shape[0]
    return tuple(
        torch.stack(each).reshape(count, rows, columns, channels).permute(0, 3, 1, 2) for each in (values, places)
    )


@samples("roi_max_pool", oracle=_pooled)
def _roi_max_pool() -> Iterator[Sample]:
    boxes = np.concatenate([IMAGES[:, None], BOXES], axis=1).astype(np.float32)
    yield call(distinct(2, 2, 6, 7), boxes, (2, 3))
    yield call(distinct(2, 2, 6, 7), boxes[[0, 1, 3]], 2, 0.5)
    yield call(distinct(2, 1, 6, 7), boxes[:1], (5, 4))


refused("roi_max_pool", random(1, 1, 4, 4), random(2, 4), 2, error=ShapeError, match=r"boxes must have the shape")
refused("roi_max_pool", random(1, 1, 0, 4), random(2, 5), 2, error=ShapeError, match="has no pixels")


def _suppressed(
    boxes: Any,
    scores: Any,
    most: int = 0,
    iou: float = 0.0,
    score: Any = None,
    center: bool = False,
    index_dtype: Any = None,
) -> Any:
    limit = None if score is None else np.array([score], np.float32)
    return onnx_node(
        "NonMaxSuppression", boxes, scores, np.array([most]), np.array([iou], np.float32),
        np.zeros(0, np.float32) if limit is None else limit, center_point_box=int(center),
    )  # fmt: skip


@samples("non_max_suppression", oracle=_suppressed)
def _non_max_suppression() -> Iterator[Sample]:
    corners = random(2, 12, 2, seed=5, low=0.0, high=2.0)
    boxes = np.concatenate([corners, corners + random(2, 12, 2, seed=6, low=0.5, high=1.0)], axis=2)
    scores = random(2, 3, 12, low=0.0, high=1.0)
    yield call(boxes, scores, 4, 0.3, half=False)
    yield call(boxes, scores, 12, 0.5, 0.4, half=False)
    yield call(boxes[..., [2, 3, 0, 1]], scores, 3, 0.1, half=False)
    yield call(boxes, scores, 5, 0.2, 0.1, True, half=False)
    yield call(boxes, scores, 0, 0.2, half=False)
    yield call(boxes[:, :1], scores[..., :1], 5, half=False)


refused("non_max_suppression", random(2, 3), random(2, 1, 3), 1, error=ShapeError, match="needs boxes")
refused("non_max_suppression", random(2, 3, 4), random(2, 1, 5), 1, error=ShapeError, match="differ in their batch")
refused("non_max_suppression", integers(2, 3, 4), random(2, 1, 3), 1, error=DTypeError, match="must be a float tensor")
