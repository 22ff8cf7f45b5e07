"""Samples of sorting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples
from tests.ops.samples.reduce import INF, INTS, NAN, along

SPECIAL = np.array([[2.0, NAN, -INF, 0.0, INF], [NAN, 1.0, NAN, -0.0, 1.0]])


def _along() -> Iterator[Sample]:
    yield from along(distinct)()
    yield call(integers(4, 7).astype(np.float64), 1)
    yield call(integers(4, 7).astype(np.float64), 0)
    yield call(SPECIAL, 1, grad=False)


@samples("sort_with_indices", oracle=lambda x, dim, down=False: torch.sort(x, dim=dim, descending=down, stable=True))
def _both_ways() -> Iterator[Sample]:
    yield from _along()
    yield from (call(*sample.args, True, grad=sample.grad) for sample in _along())


samples("sort", oracle=lambda x, dim: torch.sort(x, dim)[0])(_along)
samples("sort_descending", oracle=lambda x, dim: torch.sort(x, dim, True)[0])(_along)
samples("sort_descending_with_indices", oracle=lambda x, dim: torch.sort(x, dim=dim, descending=True, stable=True))(
    _along
)
samples("argsort", oracle=lambda x, dim: torch.sort(x, dim=dim, stable=True)[1])(_along)
samples("argsort_descending", oracle=lambda x, dim: torch.sort(x, dim=dim, descending=True, stable=True)[1])(_along)


def _top() -> Iterator[Sample]:
    yield call(distinct(3, 4), 2, 0)
    yield call(distinct(2, 3, 4), 4, -1)
    yield call(distinct(4, 3).T, 1, 1)
    yield call(distinct(9, 2)[::2, ::-1], 3, -2)
    yield call(distinct(5), 0, 0)
    yield call(distinct(2, 0, 3), 2, 2)
    yield call(np.array([2.0, NAN, -INF, 0.0, INF]), 3, 0, grad=False)
    for dtype in INTS:
        yield call(np.arange(12, dtype=dtype).reshape(3, 4), 2, 1)


samples("topk_with_indices", oracle=torch.topk)(_top)
samples("topk", oracle=lambda x, k, dim: torch.topk(x, k, dim)[0])(_top)
samples("argtopk", oracle=lambda x, k, dim: torch.topk(x, k, dim)[1])(_top)


def _middle() -> Iterator[Sample]:
    yield from along(distinct, empty=False, ints=False)()
    yield call(distinct(4, 6), 1)
    yield call(integers(12).reshape(3, 4) * 0 + np.arange(12).reshape(3, 4), 0)
    yield call(np.array([[2.0, NAN, 1.0, NAN, INF], [0.5, 3.0, -INF, 2.0, INF]]), 1, grad=False)


samples("median", oracle=lambda x, dim: x.median(dim, keepdim=True)[0])(_middle)
samples("median_with_indices", oracle=lambda x, dim: tuple(x.median(dim, keepdim=True)))(_middle)

refused("sort", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")
refused("sort_with_indices", booleans(3), 0, error=DTypeError, match="needs numbers, got bool")
refused("sort_descending", random(), 0, error=ShapeError, match="impossible on a 0-d tensor")
refused("argsort", random(3), "last", error=ArgumentError, match="dim must be an int")
refused("argsort_descending", random(3), 1, error=ShapeError, match="out of range")
refused("sort_descending_with_indices", random(3), -2, error=ShapeError, match="out of range")
refused("topk_with_indices", random(3), 4, 0, error=ArgumentError, match="k must be between 0 and 3, .* got 4")
refused("topk", random(3), -1, 0, error=ArgumentError, match="got -1")
refused("argtopk", random(3), 1.5, 0, error=ArgumentError, match=r"k must be an int, got 1\.5")
refused("median", random(2, 0), 1, error=ShapeError, match=r"dim 1 of \(2, 0\) is empty")
refused("median_with_indices", booleans(2), 0, error=DTypeError, match="needs numbers")
