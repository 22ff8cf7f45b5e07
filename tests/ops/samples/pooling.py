"""Samples of pooling rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, distinct, integers, random, refused, samples


def by_rank(*functions: Any) -> Any:
    """The function for one, two or three spatial dims."""
    return lambda x, *args, **kwargs: functions[x.dim() - 3](x, *args, **kwargs)


max_pools = by_rank(functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
avg_pools = by_rank(functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)
adaptive_max_pools = by_rank(
    functional.adaptive_max_pool1d, functional.adaptive_max_pool2d, functional.adaptive_max_pool3d
)
adaptive_avg_pools = by_rank(
    functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d
)


@samples("max_pool", oracle=lambda x, *rest, **named: max_pools(x, *rest, **named, return_indices=True))
def _max_pool() -> Iterator[Sample]:
    yield call(distinct(2, 3, 7), 3)
    yield call(distinct(1, 2, 5, 6), (2, 3), (1, 2), (1, 1))
    yield call(distinct(1, 2, 4, 5, 3), 2, 1, 1)
    yield call(distinct(2, 1, 8, 7), 3, 2, 1, 2)
    yield call(distinct(1, 2, 7, 7), 3, 2, 0, 1, True)
    yield call(distinct(1, 2, 5), 2, 3, 1, 1, True)
    yield call(distinct(1, 1, 6, 6), 2, 5, 1, 1, True)
    yield call(distinct(1, 1, 3), 1)
    yield call(distinct(2, 2, 2, 2), 4, 1, 2)
    yield call(distinct(0, 2, 4, 4), 2)
    yield call(distinct(5, 4, 3, 2).T, 2, 1)
    yield call(distinct(2, 2, 4, 10)[..., ::2], 3, 1, ceil_mode=True)
    yield call(np.full((1, 1, 3, 3), -np.inf), 2, 1, 1, grad=False)
    yield call(np.zeros((1, 2, 4, 4)), 2, grad=False)  # ties: the first one
    yield call(np.array([[[1.0, np.nan, 3.0, 2.0]]]), 2, grad=False)


def _scattered(g: Any, indices: Any, x_spatial: Any) -> Any:
    flat = torch.zeros(*g.shape[:2], math.prod(x_spatial), dtype=g.dtype)
    return flat.scatter_add(2, indices.flatten(2), g.flatten(2)).reshape(*g.shape[:2], *x_spatial)


@samples("max_pool_backward", oracle=_scattered)
def _max_pool_backward() -> Iterator[Sample]:
    yield call(random(2, 3, 4), integers(2, 3, 4, low=0, high=7), (7,))
    yield call(random(1, 2, 3, 2), integers(1, 2, 3, 2, low=0, high=12), (3, 4))  # one may be chosen twice
    yield call(random(1, 1, 2, 2, 2), integers(1, 1, 2, 2, 2, low=0, high=24), (2, 3, 4))
    yield call(random(0, 2, 3), integers(0, 2, 3, low=0, high=4), (4,))
    yield call(random(3, 2, 1).T, integers(1, 2, 3, low=0, high=4, dtype=np.int32).astype(np.int64), (4,))


@samples(
    "avg_pool",
    oracle=lambda x, kernel, stride=None, padding=0, count_include_pad=True, ceil_mode=False: avg_pools(
        x, kernel, stride, padding, ceil_mode, count_include_pad
    ),
)
def _avg_pool() -> Iterator[Sample]:
    yield call(random(2, 3, 7), 3)
    yield call(random(1, 2, 5, 6), (2, 3), (1, 2), (1, 1))
    yield call(random(1, 2, 4, 5, 3), 2, 1, 1, False)
    yield call(random(2, 1, 8, 7), 3, 2, 1, False)
    yield call(random(1, 2, 7, 7), 3, 2, 1, True, True)
    yield call(random(1, 2, 7, 7), 3, 2, 1, False, True)
    yield call(random(1, 2, 5), 2, 3, 1, True, True)
    yield call(random(1, 2, 3, 2, 1), 3, 1, 1, False, oracle=False)  # torch refuses this in three dims only
    yield call(random(1, 1, 6, 6), 2, 5, 1, False, True)
    yield call(random(1, 1, 3), 1)
    yield call(random(2, 2, 2, 2), 4, 1, 2)
    yield call(random(0, 2, 4, 4), 2)
    yield call(random(5, 4, 3, 2).T, 2, 1)
    yield call(random(2, 2, 4, 10)[..., ::2], 3, 1, ceil_mode=True)


def _avg_backward(
    g: Any, x_spatial: Any, kernel: Any, stride: Any = None, padding: Any = 0, include: bool = True, ceil: bool = False
) -> Any:
    """The adjoint, from the matrix of the forward map."""
    size = math.prod(x_spatial)
    units = torch.eye(size, dtype=g.dtype).reshape(size, 1, *x_spatial)
    matrix = avg_pools(units, kernel, stride, padding, ceil, include).reshape(size, -1)
    return (g.flatten(2) @ matrix.T).reshape(*g.shape[:2], *x_spatial)


@samples("avg_pool_backward", oracle=_avg_backward)
def _avg_pool_backward() -> Iterator[Sample]:
    yield call(random(2, 3, 2), (7,), 3)
    yield call(random(1, 2, 6, 3), (5, 6), (2, 3), (1, 2), (1, 1))
    yield call(random(1, 2, 5, 6, 4), (4, 5, 3), 2, 1, 1, False)
    yield call(random(1, 2, 4, 4), (7, 7), 3, 2, 1, True, True)
    yield call(random(1, 2, 4, 4), (7, 7), 3, 2, 1, False, True)
    yield call(random(1, 2, 2), (5,), 2, 3, 1, True, True)
    yield call(random(0, 2, 2, 2), (4, 4), 2)
    yield call(random(2, 3, 2, 1).T, (6, 4), 2)


@samples("adaptive_avg_pool", oracle=adaptive_avg_pools)
def _adaptive_avg_pool() -> Iterator[Sample]:
    yield call(random(2, 3, 7), 3)
    yield call(random(1, 2, 5, 6), (3, 4))
    yield call(random(1, 2, 4, 5, 3), (2, 5, 1))
    yield call(random(1, 2, 3, 2), (5, 4))
    yield call(random(2, 2, 3, 3), 1)
    yield call(random(0, 2, 4, 4), 2)
    yield call(random(5, 4, 3, 2).T, 2)


def _adaptive_backward(g: Any, x_spatial: Any) -> Any:
    size = math.prod(x_spatial)
    units = torch.eye(size, dtype=g.dtype).reshape(size, 1, *x_spatial)
    matrix = adaptive_avg_pools(units, tuple(g.shape[2:])).reshape(size, -1)
    return (g.flatten(2) @ matrix.T).reshape(*g.shape[:2], *x_spatial)


@samples("adaptive_avg_pool_backward", oracle=_adaptive_backward)
def _adaptive_avg_pool_backward() -> Iterator[Sample]:
    yield call(random(2, 3, 3), (7,))
    yield call(random(1, 2, 3, 4), (5, 6))
    yield call(random(1, 2, 2, 5, 1), (4, 5, 3))
    yield call(random(1, 2, 5, 4), (3, 2))
    yield call(random(0, 2, 2, 2), (4, 4))
    yield call(random(3, 2, 2, 1).T, (3, 5))


@samples("adaptive_max_pool", oracle=lambda x, size: adaptive_max_pools(x, size, return_indices=True))
def _adaptive_max_pool() -> Iterator[Sample]:
    yield call(distinct(2, 3, 7), 3)
    yield call(distinct(1, 2, 5, 6), (3, 4))
    yield call(distinct(1, 2, 4, 5, 3), (2, 5, 1))
    yield call(distinct(1, 2, 3, 2), (5, 4))
    yield call(distinct(0, 2, 4, 4), 2)
    yield call(distinct(5, 4, 3, 2).T, 2)


for _name in ("max_pool", "avg_pool"):
    refused(_name, random(1, 1, 3, 3), 4, error=ShapeError, match=r"kernel of \(4, 4\).*larger than x \(1, 1, 3, 3\)")
    refused(_name, random(1, 1, 3, 3), 3, 1, 2, error=ArgumentError, match="at most half of the kernel")
    refused(_name, random(1, 1, 3, 3), 0, error=ArgumentError, match="kernel_size must be 1 or more")
    refused(_name, random(1, 1, 3, 3), 2, -1, error=ArgumentError, match="stride must be 1 or more")
    refused(_name, random(1, 1, 3, 3), (2, 2, 2), error=ArgumentError, match="kernel_size needs 2 values")
    refused(_name, random(3, 3), 2, error=ShapeError, match=r"one to three spatial dims, got shape \(3, 3\)")
    refused(_name, integers(1, 1, 3, 3), 2, error=DTypeError, match="needs a float tensor")
for _name in ("adaptive_avg_pool", "adaptive_max_pool"):
    refused(_name, random(1, 1, 3, 3), 0, error=ArgumentError, match="output_size must be 1 or more")
    refused(_name, random(1, 1, 0, 3), 2, error=ShapeError, match="empty spatial dim")
    refused(_name, random(3, 3), 2, error=ShapeError, match="one to three spatial dims")
refused(
    "max_pool_backward", random(1, 1, 3), integers(1, 1, 4), 5, error=ShapeError, match=r"\(1, 1, 4\), got \(1, 1, 3\)"
)
refused("max_pool_backward", random(1, 1, 3), random(1, 1, 3), 5, error=DTypeError, match="needs an int tensor")
refused(
    "max_pool_backward", random(1, 1, 3), integers(1, 1, 3, low=5, high=6), 5, error=IndexError, match="index 5 is out"
)
refused("avg_pool_backward", random(1, 1, 3), 8, 2, error=ShapeError, match=r"\(1, 1, 4\), got \(1, 1, 3\)")
refused("adaptive_avg_pool_backward", random(1, 3), 8, error=ShapeError, match="one to three spatial dims")
