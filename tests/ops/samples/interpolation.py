"""Samples of interpolation rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _resampled(x: Any, size: Any, mode: str = "nearest", align_corners: bool = True) -> Any:
    rank = x.dim() - 2
    if mode.startswith("nearest"):
        return functional.interpolate(x, size, mode=mode.replace("_", "-"))
    if mode == "lanczos3" or (mode == "bicubic" and rank != 2):
        return _by_hand(x, size, mode, align_corners)
    name = {1: "linear", 2: "bilinear", 3: "trilinear"}[rank] if mode == "bilinear" else mode
    return functional.interpolate(x, size, mode=name, align_corners=align_corners)


def _by_hand(x: Any, size: Any, mode: str, align_corners: bool) -> Any:
    """Modes PyTorch lacks, one output element after the other, from their definition."""
    sizes = (size,) * (x.dim() - 2) if isinstance(size, int) else size
    for dim, output in enumerate(sizes, 2):
        length = x.shape[dim]
        matrix = torch.zeros(output, length, dtype=x.dtype)
        for i in range(output):
            if align_corners:
                place = i * (length - 1) / (output - 1) if output > 1 else 0.0
            else:
                place = (i + 0.5) * length / output - 0.5
            first = math.floor(place)
            for k in range(first - 2, first + 4):
                weight = _weight(place - k, mode)
                if mode == "bicubic":
                    matrix[i, min(max(k, 0), length - 1)] += weight
                elif 0 <= k < length:
                    matrix[i, k] += weight
            if mode == "lanczos3":
                matrix[i] /= matrix[i].sum()
        x = torch.movedim(torch.movedim(x, dim, -1) @ matrix.T, -1, dim)
    return x


def _weight(t: float, mode: str) -> float:
    t = abs(t)
    if mode == "lanczos3":
        return 1.0 if t == 0 else 0.0 if t >= 3 else float(np.sinc(t) * np.sinc(t / 3))
    a = -0.75
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


@samples("interpolate", oracle=_resampled)
def _interpolate() -> Iterator[Sample]:
    yield call(random(1, 2, 3, 5), (5, 4), "bilinear", True)
    yield call(random(1, 2, 3, 5), (5, 4), "bicubic", False)
    yield call(random(2, 1, 7), 4, "lanczos3", True)
    yield call(random(1, 2, 3, 5), (6, 3))
    yield call(random(1, 2, 3, 5), (4, 7), "nearest_exact")
    for align in (True, False):
        yield call(random(2, 3, 5), 8, "bilinear", align)
        yield call(random(1, 1, 2, 3, 4), (3, 2, 6), "bilinear", align)
        yield call(random(1, 2, 6, 5), (3, 9), "bilinear", align)
        yield call(random(1, 2, 6, 5), (1, 1), "bilinear", align)
        yield call(random(1, 2, 6, 5), (9, 2), "bicubic", align)
        yield call(random(1, 2, 1, 1), (3, 2), "bicubic", align)
        yield call(random(1, 2, 6), 11, "bicubic", align)
        yield call(random(1, 2, 6, 5), (9, 2), "lanczos3", align)
        yield call(random(1, 2, 4, 4), (4, 4), "bilinear", align)
    for mode in ("nearest", "nearest_exact"):
        yield call(random(1, 2, 7), 3, mode)
        yield call(random(1, 2, 3), 11, mode)
        yield call(random(1, 1, 2, 3, 4), (5, 2, 3), mode)
    yield call(random(0, 2, 3, 3), (4, 4), "bilinear", oracle=False)
    yield call(random(5, 4, 3, 2).T, (6, 6), "bilinear")
    yield call(random(2, 2, 3, 8)[..., ::2], (2, 5), "nearest")


def _adjoint(g: Any, x_spatial: Any, mode: str = "nearest", align_corners: bool = True) -> Any:
    size = math.prod(x_spatial)
    units = torch.eye(size, dtype=g.dtype).reshape(size, 1, *x_spatial)
    matrix = _resampled(units, tuple(g.shape[2:]), mode, align_corners).reshape(size, -1)
    return (g.flatten(2) @ matrix.T).reshape(*g.shape[:2], *x_spatial)


@samples("interpolate_backward", oracle=_adjoint)
def _interpolate_backward() -> Iterator[Sample]:
    yield call(random(1, 2, 5, 4), (3, 5), "bilinear", True)
    yield call(random(1, 2, 5, 4), (3, 5), "bicubic", False)
    yield call(random(2, 1, 4), (7,), "lanczos3", True)
    yield call(random(1, 2, 6, 3), (3, 5))
    yield call(random(1, 2, 4, 7), (3, 5), "nearest_exact")
    for align in (True, False):
        yield call(random(2, 3, 8), (5,), "bilinear", align)
        yield call(random(1, 1, 3, 2, 6), (2, 3, 4), "bilinear", align)
        yield call(random(1, 2, 9, 2), (6, 5), "bicubic", align)
        yield call(random(1, 2, 9), (6,), "bicubic", align)
        yield call(random(1, 2, 9, 2), (6, 5), "lanczos3", align)
    for mode in ("nearest", "nearest_exact"):
        yield call(random(1, 2, 3), (7,), mode)
        yield call(random(1, 1, 5, 2, 3), (2, 3, 4), mode)
    yield call(random(0, 2, 4, 4), (3, 3), "bilinear", oracle=False)
    yield call(random(4, 3, 2, 1).T, (5, 2), "bilinear")


refused("interpolate", random(1, 2, 3), 0, error=ArgumentError, match="output_size must be 1 or more")
refused("interpolate", random(1, 2, 3), (2, 2), error=ArgumentError, match="output_size needs 1 values")
refused("interpolate", random(1, 2, 3), 2, "area", error=ArgumentError, match="mode must be one of.*got 'area'")
refused("interpolate", random(1, 2, 0), 2, error=ShapeError, match="empty spatial dim")
refused("interpolate", random(2, 3), 2, error=ShapeError, match="one to three spatial dims")
refused("interpolate", integers(1, 2, 3), 2, error=DTypeError, match="needs a float tensor")
refused("interpolate_backward", random(1, 2, 3), 0, error=ArgumentError, match="x_spatial must be 1 or more")
refused("interpolate_backward", random(1, 2, 3), 2, 7, error=ArgumentError, match="mode must be one of")
