"""Samples of running sums, products, maxima and minima."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from burn.errors import DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples
from tests.ops.samples.reduce import INF, NAN, along


@samples("cumsum", oracle=lambda x, dim: torch.cumsum(x, dim, dtype=x.dtype))
def _sums() -> Iterator[Sample]:
    yield from along(random)()
    yield call(np.array([1.0, INF, -INF, 2.0]), 0, grad=False)


@samples("cumprod", oracle=lambda x, dim: torch.cumprod(x, dim, dtype=x.dtype))
def _products() -> Iterator[Sample]:
    yield from along(random)()
    for zeros in ([0], [2], [5], [1, 3], [0, 2, 5], [0, 1, 2, 3, 4, 5]):
        values = random(6, seed=5)
        values[zeros] = 0.0
        yield call(values, 0)
    yield call(np.stack([random(4), np.zeros(4), np.array([1.0, 0.0, 2.0, 0.0])]), 1)


def _extremes() -> Iterator[Sample]:
    for sample in along(distinct, empty=False)():
        yield call(*sample.args, grad=sample.args[0].size > 0)
    yield call(distinct(2, 0, 3), 1, grad=False)
    yield call(np.array([1.0, 3.0, 3.0, 2.0, 3.0, 1.0, 1.0]), 0)
    yield call(np.array([[1.0, NAN, 3.0, NAN], [-INF, INF, 0.0, INF]]), 1, grad=False)


samples("cummax", oracle=lambda x, dim: torch.cummax(x, dim)[0])(_extremes)
samples("cummin", oracle=lambda x, dim: torch.cummin(x, dim)[0])(_extremes)

refused("cumsum", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")
refused("cumprod", random(), 0, error=ShapeError, match="impossible on a 0-d tensor")
refused("cummax", booleans(3), 0, error=DTypeError, match="needs numbers, got bool")
refused("cummin", integers(3), -2, error=ShapeError, match="out of range")
