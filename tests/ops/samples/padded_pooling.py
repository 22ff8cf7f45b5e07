"""Samples of pooling with any padding: PyTorch on an input padded beforehand, and ONNX's evaluator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, call, distinct, integers, random, refused, samples

AUTOMATIC = {"same": "SAME_UPPER", "same_lower": "SAME_LOWER", "valid": "VALID"}


def _each(value: Any, rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value)


def _pads(padding: Any, rank: int) -> list[tuple[int, int]]:
    return [(each, each) if isinstance(each, int) else tuple(each) for each in _each(padding, rank)]


def _geometry(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> dict[str, Any]:
    rank = x.dim() - 2
    settings: dict[str, Any] = dict(
        kernel_shape=_each(kernel, rank), strides=_each(kernel if stride is None else stride, rank),
        dilations=_each(dilation, rank), ceil_mode=int(ceil_mode),
    )  # fmt: skip
    if isinstance(padding, str):
        return settings | dict(auto_pad=AUTOMATIC[padding])
    pairs = _pads(padding, rank)
    return settings | dict(pads=[pair[0] for pair in pairs] + [pair[1] for pair in pairs])


def _maxima(
    x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    indexing: str = "spatial",
) -> Any:  # fmt: skip
    """The values by PyTorch (for gradients), the indices of the whole tensor by ONNX."""
    settings = _geometry(x, kernel, stride, padding, dilation, ceil_mode)
    order = dict(storage_order=int(indexing == "column_major"))
    values, places = _by_loops(x, settings, order)
    if indexing == "spatial":
        places = places % math.prod(x.shape[2:])
    return values, places


def _by_loops(x: Any, settings: dict[str, Any], order: dict[str, int]) -> Any:
    """ONNX's evaluator finds indices only where a stride or a dilation is not 1: every sample has one."""
    values, places = onnx_node("MaxPool", x, outputs=2, **settings, **order)
    if not x.is_floating_point():
        return values, places
    rows = (places - torch.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1,) * (x.dim() - 2))
            * math.prod(x.shape[2:]))  # fmt: skip
    if order["storage_order"]:
        rows = torch.from_numpy(_row_major(rows.numpy(), tuple(x.shape[2:])))
    flat = x.flatten(2).gather(2, rows.flatten(2)).reshape(rows.shape)
    assert torch.equal(flat.detach(), values)
    return flat, places


def _row_major(places: Any, spatial: tuple[int, ...]) -> Any:
    return np.ravel_multi_index(np.unravel_index(places, spatial, order="F"), spatial)


@samples("max_pool_padded", oracle=_maxima)
def _max_pool() -> Iterator[Sample]:
    yield call(distinct(1, 2, 5, 6), (2, 3), (1, 2), [(1, 0), (0, 2)])
    yield call(distinct(2, 2, 7), 3, 2, [(0, 2)])
    yield call(distinct(1, 1, 3, 4, 3), 2, (1, 2, 1), [(0, 1), (1, 0), (1, 1)])
    yield call(distinct(1, 2, 5, 4), 3, 2, "same")
    yield call(distinct(1, 1, 7, 5), 2, (1, 2), "same_lower", oracle=False)
    yield call(distinct(1, 2, 7, 7), 3, 2, [(0, 1), (1, 1)], 1, True)
    yield call(distinct(1, 2, 7, 7), 3, 2, 1, 2, indexing="row_major")
    yield call(distinct(2, 2, 5, 7), 3, 2, [(1, 2), (2, 1)], (1, 2), indexing="column_major")
    yield call(distinct(2, 2, 2, 5, 3), 2, (1, 2, 1), [(1, 0), (0, 1), (1, 1)], indexing="column_major")
    yield call(distinct(2, 2, 5, 6), 2, 2, "valid", indexing="column_major")
    yield call(integers(1, 2, 5, 6, low=0, high=255, dtype=np.uint8), 3, 2, [(1, 0), (0, 1)])
    yield call(integers(1, 2, 5, 6, low=-128, high=127, dtype=np.int8), 2)
    yield call(integers(1, 1, 9), 2, 3, [(1, 0)])
    yield call(distinct(5, 4, 3, 2).T, 2, 2, [(1, 0), (0, 1)])
    yield call(distinct(2, 2, 4, 10)[..., ::2], 3, 2, [(0, 1), (2, 0)])
    yield call(distinct(0, 2, 4, 4), 2, 2, [(0, 1), (0, 0)], oracle=False)


refused("max_pool_padded", random(1, 1, 4), 3, padding=[(-1, 0)], error=ArgumentError, match="padding must be 0 or")
refused("max_pool_padded", random(1, 1, 4), 3, padding="most", error=ArgumentError, match="padding must be")
refused("max_pool_padded", random(1, 1, 4), 7, error=ShapeError, match="is larger than x")
refused("max_pool_padded", random(1, 1, 4), 2, indexing="rows", error=ArgumentError, match="indexing must be one of")
refused("max_pool_padded", random(4, 4), 2, error=ShapeError, match="spatial dims")


def _unpooled(x: Any, indices: Any, output_size: Any, indexing: str = "spatial") -> Any:
    size = tuple(_each(output_size, x.dim() - 2))
    shape = (*x.shape[:2], *size)
    if indexing == "row_major":
        return torch.zeros(math.prod(shape), dtype=x.dtype).scatter(0, indices.flatten(), x.flatten()).reshape(shape)
    return torch.zeros(*shape[:2], math.prod(size), dtype=x.dtype).scatter(
        2, indices.flatten(2), x.flatten(2)).reshape(shape)  # fmt: skip


@samples("max_unpool", oracle=_unpooled)
def _unpool() -> Iterator[Sample]:
    places = np.stack([np.random.default_rng(i).permutation(20)[:6] for i in range(4)]).reshape(2, 2, 2, 3)
    starts = np.arange(4).reshape(2, 2, 1, 1) * 20
    yield call(random(2, 2, 2, 3), places, (4, 5))
    yield call(random(2, 2, 2, 3), places + starts, (5, 4), "row_major")
    yield call(random(2, 2, 6), places.reshape(2, 2, 6), 20)
    yield call(random(2, 2, 1, 2, 3), places.reshape(2, 2, 1, 2, 3), (2, 2, 5))
    yield call(integers(2, 2, 2, 3), places, (4, 5))


refused("max_unpool", random(1, 1, 3), integers(1, 1, 2, low=0), 4, error=ShapeError, match="must be the same")
refused("max_unpool", random(1, 1, 2), random(1, 1, 2), 4, error=DTypeError, match="needs an int tensor")
refused("max_unpool", random(1, 1, 2), integers(1, 1, 2, low=7, high=9), 4, error=IndexingError, match="out of range")
refused("max_unpool", random(1, 1, 2), integers(1, 1, 2, low=0), 4, "columns", error=ArgumentError, match="indexing")


def _means(
    x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    settings = _geometry(x, kernel, stride, padding, dilation, ceil_mode)
    return onnx_node("AveragePool", x, count_include_pad=int(count_include_pad), **settings)


@samples("avg_pool_padded", oracle=_means)
def _avg_pool() -> Iterator[Sample]:
    for include in (True, False):
        yield call(random(1, 2, 5, 6), (2, 3), (1, 2), [(1, 0), (0, 2)], 1, include)
        yield call(random(2, 1, 7), 3, 2, [(0, 2)], 2, include)
        yield call(random(1, 2, 7, 7), 3, 2, [(0, 1), (1, 1)], 1, include, True)
    yield call(random(1, 1, 3, 4, 3), 2, (1, 2, 1), [(0, 1), (1, 0), (1, 1)])
    yield call(random(1, 2, 5, 4), 3, 2, "same", 1, False)
    yield call(random(1, 2, 5, 4), 2, 1, "same_lower", 1, False)
    yield call(random(1, 2, 6, 6), 3, 1, 1, 2, False)
    yield call(random(1, 2, 6, 6), 3, 2, 1)
    yield call(random(5, 4, 3, 2).T, 2, 1, [(1, 0), (0, 1)])
    yield call(random(2, 2, 4, 10)[..., ::2], 3, 1, [(0, 1), (2, 0)])
    yield call(random(0, 2, 4, 4), 2, 2, [(0, 1), (0, 0)], oracle=False)


refused("avg_pool_padded", integers(1, 1, 4), 2, error=DTypeError, match="needs a float tensor")
refused("avg_pool_padded", random(1, 1, 4), 2, padding=[(-1, 0)], error=ArgumentError, match="padding must be 0 or")
refused("avg_pool_padded", random(1, 1, 4), 4, dilation=2, error=ShapeError, match="is larger than x")


def _norms(
    x: Any, p: float, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Windows of an input padded with zeros, cut out by `unfold` one dim after the other."""
    rank = x.dim() - 2
    size, step, hole = _each(kernel, rank), _each(kernel if stride is None else stride, rank), _each(dilation, rank)
    powers = x.abs() ** p
    for dim, (before, after) in enumerate(_pads(padding, rank), 2):
        span = hole[dim - 2] * (size[dim - 2] - 1) + 1
        extra = step[dim - 2] - 1 if ceil_mode else 0
        powers = functional.pad(powers.movedim(dim, -1), (before, after + extra))
        windows = powers.unfold(-1, span, step[dim - 2])[..., :: hole[dim - 2]].sum(-1)
        if ceil_mode and (windows.shape[-1] - 1) * step[dim - 2] >= x.shape[dim] + before:
            windows = windows[..., :-1]
        powers = windows.movedim(-1, dim)
    return powers ** (1.0 / p)


@samples("lp_pool", oracle=_norms)
def _lp_pool() -> Iterator[Sample]:
    yield call(random(1, 2, 5, 6, low=0.5), 2, (2, 3), (1, 2), [(1, 0), (0, 2)])
    yield call(random(2, 1, 7, low=0.5), 3.0, 3, 2, [(0, 1)], 2)
    yield call(random(1, 1, 3, 4, 3, low=0.5), 1, 2, (1, 2, 1))
    yield call(random(1, 2, 7, 7, low=0.5), 2, 3, 2, 1, 1, True)
    yield call(random(1, 2, 4, 4, low=0.5), 4, 3)
    yield call(random(5, 4, 3, 2, low=0.5).T, 2, 2, 1)


refused("lp_pool", random(1, 1, 4), 0, 2, error=ArgumentError, match="p must be above 0")
refused("lp_pool", random(1, 1, 4), 2, 9, error=ShapeError, match="is larger than x")
refused("lp_pool", integers(1, 1, 4), 2, 2, error=DTypeError, match="needs a float tensor")
