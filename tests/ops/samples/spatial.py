"""Samples of patches, sampling between pixels and deformable convolution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


@samples("unfold4d", oracle=lambda x, kernel, stride=1, padding=0, dilation=1: functional.unfold(
    x, kernel, dilation, padding, stride))  # fmt: skip
def _unfold() -> Iterator[Sample]:
    yield call(random(2, 3, 5, 4), (3, 2))
    yield call(random(1, 2, 5, 6), 2, (2, 1), (0, 1), (1, 3))
    yield call(random(1, 1, 2, 2), 4, 1, 1)
    yield call(random(1, 2, 3, 3), 1)
    yield call(random(0, 2, 3, 3), 2)
    yield call(random(5, 4, 3, 2).T, 2, 2)


@samples("fold4d", oracle=lambda x, output, kernel, stride=1, padding=0, dilation=1: functional.fold(
    x, output, kernel, dilation, padding, stride))  # fmt: skip
def _fold() -> Iterator[Sample]:
    yield call(random(2, 18, 9), (5, 4), (3, 2))
    yield call(random(1, 8, 10), (5, 6), 2, (2, 1), (0, 1), (1, 3))
    yield call(random(1, 16, 1), (2, 2), 4, 1, 1)
    yield call(random(0, 8, 4), (3, 3), 2)
    yield call(random(4, 8, 1).T, (3, 3), 2)


def _sampled(x: Any, grid: Any, mode: str = "bilinear", padding: str = "zeros", align_corners: bool = False) -> Any:
    return functional.grid_sample(x, grid, mode, padding, align_corners)


@samples("grid_sample_2d", oracle=_sampled)
def _grid_sample() -> Iterator[Sample]:
    def grid(*shape: int) -> Any:
        return random(*shape, 2, seed=3, low=-1.7, high=1.7)

    yield call(random(2, 3, 4, 5), grid(2, 3, 2))
    for padding in ("zeros", "border", "reflection"):
        for align in (True, False):
            yield call(random(1, 2, 4, 3), grid(1, 5, 4), "bilinear", padding, align)
            yield call(random(1, 2, 4, 3), grid(1, 5, 4), "nearest", padding, align)
            yield call(random(1, 2, 1, 1), grid(1, 3, 2), "bilinear", padding, align, grad=False)
    yield call(random(1, 1, 4, 3), grid(1, 6, 6) * 4, "bilinear", "reflection")
    yield call(random(0, 2, 3, 3), grid(0, 2, 2))
    yield call(random(5, 4, 3, 2).T, random(2, 3, 3, 4)[..., ::2])


def _affine(theta: Any, size: Any, align_corners: bool = True) -> Any:
    return functional.affine_grid(theta, list(size), align_corners=align_corners)


@samples("affine_grid_2d", oracle=_affine)
def _affine_grid() -> Iterator[Sample]:
    yield call(random(2, 2, 3), (2, 3, 4, 5))
    yield call(random(1, 2, 3), (1, 1, 3, 2), False)
    yield call(random(1, 2, 3), [1, 1, 2, 7], align_corners=True)
    yield call(random(3, 2, 2).T, (2, 1, 2, 2), False)


def _deformed(
    x: Any, offset: Any, weight: Any, mask: Any = None, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, weight_groups: int = 1, offset_groups: int = 1,
) -> Any:  # fmt: skip
    """Each kernel element read by torch's grid sampling, then one matrix product a group."""
    stride, padding, dilation = ((v, v) if isinstance(v, int) else v for v in (stride, padding, dilation))
    padding = [each if isinstance(each, int) else each[0] for each in padding]  # rows and columns say what comes after
    (batch, _, height, width), (out, _, kh, kw) = x.shape, weight.shape
    rows, columns = offset.shape[2:]
    parts = []
    for image, moves, factor in zip(
        x.chunk(offset_groups, 1),
        offset.chunk(offset_groups, 1),
        [None] * offset_groups if mask is None else mask.chunk(offset_groups, 1),
        strict=True,
    ):
        elements = []
        for k in range(kh * kw):
            i, j = divmod(k, kw)
            down = moves[:, 2 * k] + (torch.arange(rows) * stride[0] - padding[0] + i * dilation[0])[:, None]
            right = moves[:, 2 * k + 1] + (torch.arange(columns) * stride[1] - padding[1] + j * dilation[1])
            grid = torch.stack([(2 * right + 1) / width - 1, (2 * down + 1) / height - 1], -1)
            found = functional.grid_sample(image, grid.to(x.dtype), "bilinear", "zeros", align_corners=False)
            elements.append(found if factor is None else found * factor[:, k : k + 1])
        parts.append(torch.stack(elements, 2))
    patches = torch.cat(parts, 1).reshape(batch, weight_groups, -1, rows * columns)
    kernels = weight.reshape(weight_groups, out // weight_groups, -1)
    result = torch.einsum("gok,bgkl->bgol", kernels, patches).reshape(batch, out, rows, columns)
    return result if bias is None else result + bias.reshape(-1, 1, 1)


@samples("deform_conv2d", oracle=_deformed)
def _deform() -> Iterator[Sample]:
    yield call(random(1, 2, 4, 4), random(1, 8, 3, 3, seed=1), random(2, 2, 2, 2, seed=2), tolerance=1e-5)
    yield call(
        random(1, 2, 4, 5), random(1, 18, 2, 3, seed=1), random(3, 2, 3, 3, seed=2), random(1, 9, 2, 3, seed=3),
        random(3, seed=4), tolerance=1e-5,
    )  # fmt: skip
    yield call(
        random(2, 4, 5, 4), random(2, 24, 3, 3, seed=1), random(2, 2, 3, 2, seed=2), random(2, 12, 3, 3, seed=3),
        random(2, seed=4), (2, 1), (1, 0), (1, 1), 2, 2, tolerance=1e-5,
    )  # fmt: skip
    yield call(
        random(1, 2, 5, 5), random(1, 8, 3, 3, seed=1), random(2, 1, 2, 2, seed=2), None, random(2, seed=4), 1, 0, 2, 2,
        tolerance=1e-5,
    )  # fmt: skip
    yield call(
        random(1, 2, 4, 4), random(1, 8, 4, 5, seed=1), random(2, 2, 2, 2, seed=2), None, None, 1, [(1, 0), (0, 2)],
        tolerance=1e-5,
    )  # fmt: skip


refused("unfold4d", random(1, 2, 3, 3), 4, error=ShapeError, match=r"kernel of \(4, 4\).*larger than x \(1, 2, 3, 3\)")
refused("unfold4d", random(1, 2, 3), 2, error=ShapeError, match=r"\(batch, channels, height, width\), got \(1, 2, 3\)")
refused("unfold4d", random(1, 2, 3, 3), 0, error=ArgumentError, match="kernel_size must be 1 or more")
refused("unfold4d", integers(1, 2, 3, 3), 2, error=DTypeError, match="needs a float tensor")
refused("fold4d", random(1, 8, 5), (3, 3), 2, error=ShapeError, match=r"has 4 patches of 4 elements.*\(1, 8, 5\)")
refused("fold4d", random(1, 7, 4), (3, 3), 2, error=ShapeError, match=r"\(1, 7, 4\)")
refused("fold4d", random(1, 8, 4, 4), (3, 3), 2, error=ShapeError, match="patches")
X, G = random(1, 2, 3, 3), random(1, 2, 2, 2)
refused("grid_sample_2d", X, random(2, 2, 2, 2), error=ShapeError, match=r"\(1, rows, columns, 2\).*got \(2, 2, 2, 2\)")
refused("grid_sample_2d", X, random(1, 2, 2, 3), error=ShapeError, match=r"\(1, rows, columns, 2\).*got \(1, 2, 2, 3\)")
refused("grid_sample_2d", random(2, 3, 3), G, error=ShapeError, match="height")
refused("grid_sample_2d", random(1, 2, 0, 3), G, error=ShapeError, match="no pixels")
refused("grid_sample_2d", X, G, "bicubic", error=ArgumentError, match="mode must be 'bilinear' or 'nearest'")
refused("grid_sample_2d", X, G, "nearest", "wrap", error=ArgumentError, match="padding must be one of")
refused("grid_sample_2d", X, integers(1, 2, 2, 2), error=DTypeError, match="needs a float tensor")
refused("affine_grid_2d", random(2, 2, 3), (1, 1, 2, 2), error=ShapeError, match=r"\(1, 2, 3\), got \(2, 2, 3\)")
refused("affine_grid_2d", random(2, 2, 3), (2, 2), error=ArgumentError, match="size needs 4 values")
M, W = random(1, 8, 2, 2), random(2, 2, 2, 2)
refused("deform_conv2d", X, random(1, 6, 2, 2), W, error=ShapeError, match=r"offset must have the shape \(1, 8, 2, 2\)")
refused("deform_conv2d", X, M, W, M, error=ShapeError, match=r"mask must have the shape \(1, 4, 2, 2\)")
refused("deform_conv2d", X, M, random(2, 3, 2, 2), error=ShapeError, match=r"\(1, 2, 3, 3\).*\(2, 3, 2, 2\)")
refused("deform_conv2d", X, M, W, None, random(3), error=ShapeError, match="bias must have the shape")
refused("deform_conv2d", X, M, W, None, None, 1, 0, 1, 1, 3, error=ShapeError, match="offset_groups=3 must divide")
