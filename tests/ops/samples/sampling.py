"""Samples of sampling at one to three spatial dims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _sampled(x: Any, grid: Any, mode: str = "linear", padding: str = "zeros", align_corners: bool = False) -> Any:
    """PyTorch in two dims, and in three except for cubes; the rest from ONNX's evaluator."""
    if x.dim() == 3 or (x.dim() == 5 and mode == "cubic"):
        settings = dict(mode=mode, padding_mode=padding, align_corners=int(align_corners))
        return onnx_node("GridSample", x, grid, **settings)
    names = {"linear": "bilinear", "cubic": "bicubic"}
    return functional.grid_sample(x, grid, names.get(mode, mode), padding, align_corners)


@samples("grid_sample", oracle=_sampled)
def _grid_sample() -> Iterator[Sample]:
    def grid(*shape: int, reach: float = 1.7) -> Any:
        return random(*shape, seed=3, low=-reach, high=reach)

    yield call(random(1, 2, 4, 3), grid(1, 2, 3, 2))
    yield call(random(1, 1, 4, 5), grid(1, 2, 3, 2), "cubic")
    yield call(random(1, 2, 2, 3, 4), grid(1, 2, 2, 1, 3), "linear", "border")
    yield call(random(1, 1, 2, 3, 2), grid(1, 1, 2, 2, 3), "linear", "reflection", True)
    yield call(random(1, 1, 5), grid(1, 4, 1), "linear", "border", tolerance=1e-5)
    yield call(random(1, 1, 4, 3), grid(1, 2, 2, 2), "cubic", "border")
    for padding in ("zeros", "border", "reflection"):
        for align in (True, False):
            yield call(random(1, 2, 4, 3), grid(1, 5, 4, 2), "linear", padding, align)
            yield call(random(1, 2, 4, 3), grid(1, 5, 4, 2), "cubic", padding, align)
            yield call(random(1, 2, 4, 3), grid(1, 3, 4, 2), "nearest", padding, align)
            yield call(random(1, 1, 3, 2, 3), grid(1, 2, 3, 2, 3), "nearest", padding, align)
            yield call(random(1, 2, 3, 4, 3), grid(1, 2, 3, 2, 3), "linear", padding, align)
    yield call(random(1, 1, 3, 2, 2), grid(1, 1, 2, 1, 3), "cubic", "zeros", tolerance=2e-5)
    yield call(random(0, 2, 3, 3), grid(0, 2, 2, 2))
    yield call(random(5, 4, 3, 2).T, random(2, 3, 3, 4)[..., ::2])


refused("grid_sample", random(1, 1, 3, 3), random(1, 2, 2, 2), "area", error=ArgumentError, match="mode must be")
refused("grid_sample", random(1, 1, 3, 3), random(1, 2, 2, 2), "linear", "wrap", error=ArgumentError,
        match="padding must be one of")  # fmt: skip
refused("grid_sample", random(1, 1, 3, 3), random(1, 2, 2, 3), error=ShapeError, match="grid must have the shape")
refused("grid_sample", random(1, 1, 0, 3), random(1, 2, 2, 2), error=ShapeError, match="has no pixels")
refused("grid_sample", integers(1, 1, 3, 3), random(1, 2, 2, 2), error=DTypeError, match="needs a float tensor")


def _affine(theta: Any, size: Any, align_corners: bool = False) -> Any:
    if theta.shape[1] == 1:  # a line: scaled and shifted places
        places = torch.linspace(-1, 1, size[2], dtype=theta.dtype)
        places = places if align_corners else places * (size[2] - 1) / size[2]
        return (theta[:, 0, :1] * places + theta[:, 0, 1:])[..., None]
    return functional.affine_grid(theta, list(size), align_corners=align_corners)


@samples("affine_grid", oracle=_affine)
def _affine_grid() -> Iterator[Sample]:
    yield call(random(2, 2, 3), (2, 3, 4, 5))
    yield call(random(1, 3, 4), (1, 1, 3, 2, 4), True)
    yield call(random(2, 3, 4), [2, 1, 2, 5, 3])
    yield call(random(2, 1, 2), (2, 1, 5))
    yield call(random(1, 1, 2), (1, 1, 4), True)
    yield call(random(3, 2, 2).T, (2, 1, 2, 2))


refused("affine_grid", random(2, 3), (2, 1, 3, 3), error=ShapeError, match=r"\(batch, dims, dims \+ 1\)")
refused("affine_grid", random(2, 2, 3), (1, 1, 3, 3), error=ShapeError, match="has another batch")
refused("affine_grid", random(2, 2, 3), (2, 1, 3), error=ArgumentError, match="size")
refused("affine_grid", integers(2, 2, 3), (2, 1, 3, 3), error=DTypeError, match="needs a float tensor")
