"""Samples of variance and covariance."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _spreads() -> Iterator[Sample]:
    yield call(random(3, 4), 0)
    yield call(random(2, 3, 4), -1)
    yield call(random(4, 3).T, 1)
    yield call(random(9, 2)[::2, ::-1], -2)
    yield call(random(2, 5, 1), 1)
    yield call(random(5), 0)
    yield call(random(2, 0, 3), 2)
    yield call(random(2, 1, 3), 1, grad=False)
    yield call(random(2, 0, 3), 1, grad=False)
    yield call(random(3, 50) * 1e-3 + 100.0, 1, tolerance=1e-4)


def _without_warning(function: Any, correction: int) -> Any:
    """PyTorch warns where the result is NaN, or where there is no result at all."""

    def oracle(x: torch.Tensor, dim: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(x, dim, correction=correction, keepdim=True)

    return oracle


samples("var", oracle=_without_warning(torch.var, 1))(_spreads)
samples("var_bias", oracle=_without_warning(torch.var, 0))(_spreads)
samples("var_mean", oracle=_without_warning(torch.var_mean, 1))(_spreads)
samples("var_mean_bias", oracle=_without_warning(torch.var_mean, 0))(_spreads)


@samples("cov", oracle=lambda x, dim, correction=1: torch.cov(x.T if dim in (0, -2) else x, correction=correction))
def _covariances() -> Iterator[Sample]:
    yield call(random(6, 3), 0)
    yield call(random(6, 3), -1)
    yield call(random(3, 6).T, 0, 0)
    yield call(random(5, 2), 1, correction=0)
    yield call(random(8, 4)[::2], -2, 2)
    yield call(np.ones((4, 3)), 0)


refused("var", integers(3), 0, error=DTypeError, match=r"needs a float tensor, got i64; convert it with \.float\(\)")
refused("var_bias", random(3), 1, error=ShapeError, match="dim 1 is out of range")
refused("var_mean", random(), 0, error=ShapeError, match="0-d")
refused("var_mean_bias", random(3), "x", error=ArgumentError, match="dim must be an int")
refused("cov", random(2, 3, 4), 0, error=ShapeError, match=r"needs a matrix, got shape \(2, 3, 4\)")
refused("cov", random(2, 3), 2, error=ShapeError, match="out of range")
refused("cov", random(2, 3), 0, "one", error=ArgumentError, match="correction must be a number, got 'one'")
