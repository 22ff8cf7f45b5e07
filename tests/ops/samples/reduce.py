"""Samples of reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples

INTS = (np.int64, np.int32, np.int16, np.int8, np.uint8)
NAN, INF = float("nan"), float("inf")


def _tuple(dims: Any) -> tuple[int, ...]:
    return (dims,) if isinstance(dims, int) else tuple(dims)


def several(values: Callable[..., Any], *, empty: bool = True, ints: bool = True) -> Callable[[], Iterator[Sample]]:
    """Samples of a reduction along several dims."""

    def generate() -> Iterator[Sample]:
        yield call(values(3, 4), (0,))
        yield call(values(2, 3, 4), [0, -1])
        yield call(values(4, 3).T, (0, 1))
        yield call(values(2, 1, 5), 1)
        yield call(np.asarray(values()), ())
        yield call(values(9, 2)[::2, ::-1], -2)
        yield call(values(2, 3, 4, 2), (3, 1))
        yield call(values(2, 3), ())
        yield call(values(2, 0, 3), (0, 2))
        if empty:
            yield call(values(2, 0, 3), (1,))
            yield call(values(0), [0])
        if ints:
            for dtype in INTS:
                yield call(integers(3, 4, low=0, high=120, dtype=dtype), (1,))

    return generate


def _sum(x: torch.Tensor, dims: Any) -> torch.Tensor:
    return x.sum(_tuple(dims), keepdim=True, dtype=x.dtype) if _tuple(dims) else x


def _prod(x: torch.Tensor, dims: Any) -> torch.Tensor:
    for dim in _tuple(dims):
        x = x.prod(dim, keepdim=True, dtype=x.dtype)
    return x


def _mean(x: torch.Tensor, dims: Any) -> torch.Tensor:
    if x.is_floating_point():
        return x.mean(_tuple(dims), keepdim=True) if _tuple(dims) else x
    count = int(np.prod([x.shape[dim] for dim in _tuple(dims)]))
    return torch.div(x.to(torch.int64).sum(_tuple(dims), keepdim=True), count, rounding_mode="trunc").to(x.dtype)


def _every(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(range(x.ndim))


def _one(function: Any) -> Any:
    """A reduction of several dims, of all of them into shape [1]."""
    return lambda x: function(x, _every(x)).reshape(1)


samples("sum_dims", oracle=_sum)(several(random))
samples("mean_dims", oracle=_mean)(several(random))


@samples("prod_dims", oracle=_prod)
def _products() -> Iterator[Sample]:
    yield from several(random)()
    zeros = random(5, 4)
    zeros[1, 0] = zeros[2, 1] = zeros[4, 1] = zeros[:, 2] = 0.0  # columns with none, one, several and only zeros
    yield call(zeros, 0)
    yield call(zeros, 1)
    yield call(zeros, (0, 1))
    yield call(zeros.reshape(5, 2, 2), (2, 0))


def _choice(function: Any) -> Any:
    return lambda x, dims: function(x, _tuple(dims), keepdim=True) if _tuple(dims) else x


def _choices() -> Iterator[Sample]:
    yield from several(distinct, empty=False)()
    tied = integers(4, 5, high=2, low=0).astype(np.float64)
    yield call(tied, 0)
    yield call(tied, (0, 1))
    special = random(3, 4)
    special[0, 1], special[1, 2], special[2, 0] = NAN, INF, -INF
    yield call(special, 1, grad=False)
    yield call(special, (0, 1), grad=False)


samples("max_dims", oracle=_choice(torch.amax))(_choices)
samples("min_dims", oracle=_choice(torch.amin))(_choices)
samples("max_abs_dims", oracle=lambda x, dims: _choice(torch.amax)(x.abs(), dims))(_choices)


def _truth(function: Any) -> Any:
    return lambda x, dims: function(x.bool(), _tuple(dims), keepdim=True) if _tuple(dims) else x.bool()


def _truths() -> Iterator[Sample]:
    yield from several(booleans, ints=False)()
    yield from several(lambda *shape: integers(*shape, low=0, high=2))()
    yield call(random(3, 4), 0)
    yield call(np.array([[0.0, NAN], [0.0, -0.0]]), 1)


samples("any_dims", oracle=_truth(torch.any))(_truths)
samples("all_dims", oracle=_truth(torch.all))(_truths)


def along(values: Callable[..., Any], *, empty: bool = True, ints: bool = True) -> Callable[[], Iterator[Sample]]:
    """Samples of a reduction along one dim."""

    def generate() -> Iterator[Sample]:
        yield call(values(3, 4), 0)
        yield call(values(2, 3, 4), -1)
        yield call(values(4, 3).T, 1)
        yield call(values(2, 1, 5), 1)
        yield call(values(6), 0)
        yield call(values(9, 2)[::2, ::-1], -2)
        yield call(values(2, 0, 3), 2)
        if empty:
            yield call(values(2, 0, 3), 1)
        if ints:
            for dtype in INTS:
                yield call(integers(3, 4, low=0, high=120, dtype=dtype), 1)
            yield call(integers(3, 4), -2)

    return generate


samples("sum_dim", oracle=_sum)(along(random))
samples("mean_dim", oracle=_mean)(along(random))
samples("prod_dim", oracle=_prod)(along(random))
samples("any_dim", oracle=_truth(torch.any))(along(booleans))
samples("all_dim", oracle=_truth(torch.all))(along(booleans))


def _largest() -> Iterator[Sample]:
    yield from along(distinct, empty=False)()
    yield call(integers(5, 3, low=0, high=2).astype(np.float64), 0)
    special = random(4, 4)
    special[0, 1] = special[0, 3] = special[3, 0] = special[3, 3] = NAN
    special[1, 2] = special[1, 3] = INF
    special[2, 0] = special[2, 2] = -INF
    yield call(special, 1, grad=False)
    yield call(special, 0, grad=False)


samples("max_dim", oracle=lambda x, dim: x.max(dim, keepdim=True)[0])(_largest)
samples("min_dim", oracle=lambda x, dim: x.min(dim, keepdim=True)[0])(_largest)
samples("max_abs_dim", oracle=lambda x, dim: x.abs().max(dim, keepdim=True)[0])(_largest)
samples("max_dim_with_indices", oracle=lambda x, dim: tuple(x.max(dim, keepdim=True)))(_largest)
samples("min_dim_with_indices", oracle=lambda x, dim: tuple(x.min(dim, keepdim=True)))(_largest)
samples("argmax", oracle=lambda x, dim: x.argmax(dim, keepdim=True))(_largest)
samples("argmin", oracle=lambda x, dim: x.argmin(dim, keepdim=True))(_largest)


def whole(values: Callable[..., Any], *, empty: bool = True) -> Callable[[], Iterator[Sample]]:
    """Samples of a reduction of everything."""

    def generate() -> Iterator[Sample]:
        yield call(values(3, 4))
        yield call(np.asarray(values()))
        yield call(values(4, 3).T)
        yield call(values(1, 1, 5))
        yield call(values(9, 2)[::2, ::-1])
        if empty:
            yield call(values(2, 0, 3))
        yield call(integers(2, 3))
        yield call(integers(2, 3, dtype=np.int8))

    return generate


def _ties() -> Iterator[Sample]:
    yield from whole(distinct, empty=False)()
    yield call(np.array([1.0, 3.0, 3.0, -3.0, -3.0]), oracle=True)
    yield call(np.array([1.0, NAN, 3.0]), grad=False)


samples("sum", oracle=_one(_sum))(whole(random))
samples("mean", oracle=_one(_mean))(whole(random))
samples("max", oracle=_one(_choice(torch.amax)))(_ties)
samples("min", oracle=_one(_choice(torch.amin)))(_ties)
samples("max_abs", oracle=_one(lambda x, dims: _choice(torch.amax)(x.abs(), dims)))(_ties)
samples("any", oracle=_one(_truth(torch.any)))(whole(booleans))
samples("all", oracle=_one(_truth(torch.all)))(whole(booleans))


@samples("prod", oracle=_one(_prod))
def _whole_products() -> Iterator[Sample]:
    yield from whole(random)()
    for zeros in ([0], [1, 2], [0, 1, 2, 3]):
        values = random(2, 2, seed=3)
        values.reshape(-1)[zeros] = 0.0
        yield call(values)


@samples("sum_dims_squeeze", oracle=lambda x, dims: x.sum(_tuple(dims), dtype=x.dtype) if _tuple(dims) else x)
def _squeezed() -> Iterator[Sample]:
    yield from several(random)()


@samples("contains_nan", oracle=lambda x: x.isnan().any().reshape(1))
def _nans() -> Iterator[Sample]:
    yield call(random(3, 4), grad=False)
    yield call(np.array([[1.0, NAN], [INF, 0.0]]), grad=False)
    yield call(random(0), grad=False)
    yield call(integers(3))


def _is_close(x: torch.Tensor, y: Any, rtol: float = 1e-5, atol: float = 1e-8) -> torch.Tensor:
    y = y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype)
    return torch.isclose(*torch.broadcast_tensors(x, y), rtol=rtol, atol=atol)


@samples("is_close", oracle=_is_close)
def _closeness() -> Iterator[Sample]:
    x = random(3, 4)
    yield call(x, x + 1e-3 * random(3, 4, seed=1), rtol=1e-3, atol=1e-4, half=False)
    yield call(x, x + 1e-6 * random(3, 4, seed=1), half=False)
    yield call(x, x[:1], rtol=0.5)
    yield call(x.T, 1.0, atol=0.5)
    special = np.array([INF, -INF, INF, NAN, NAN, 1.0, INF])
    yield call(special, np.array([INF, -INF, -INF, NAN, 1.0, NAN, 1.0]), rtol=1.0)
    yield call(np.array([1.0, 1.0]), np.array([INF, -INF]))
    yield call(integers(5), integers(5) + np.array([0, 1, 0, 3, 0]), atol=1.0)
    yield call(random(0, 2), random(0, 2))


refused("sum_dims", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range for a tensor of rank 2")
refused("sum_dims", random(2, 3), (0, -2), error=ShapeError, match=r"dims \[0, 0\] name a dimension twice")
refused("sum_dims", random(2, 3), "rows", error=ArgumentError, match="dims must be an int or a sequence of ints")
refused("sum_dims", booleans(3), 0, error=DTypeError, match=r"needs numbers, got bool; convert it with \.int\(\)")
refused("sum_dim", random(2, 3), (0, 1), error=ArgumentError, match="dim must be an int")
refused("sum", booleans(3), error=DTypeError, match="needs numbers")
refused("prod_dims", random(2), -2, error=ShapeError, match="between -1 and 0")
refused("mean_dims", random(2), 1, error=ShapeError, match="out of range")
refused("max_dims", random(2, 0), 1, error=ShapeError, match=r"dim 1 of \(2, 0\) is empty: there is nothing to choose")
refused("min_dims", random(2, 0), (0, 1), error=ShapeError, match="is empty")
refused("max", random(0), error=ShapeError, match="is empty")
refused("max_dim", random(0, 2), 0, error=ShapeError, match="is empty")
refused("min_dim", booleans(3), 0, error=DTypeError, match="needs numbers")
refused("max_dim_with_indices", random(0, 2), 0, error=ShapeError, match="is empty")
refused("min_dim_with_indices", random(2), 3, error=ShapeError, match="out of range")
refused("argmax", random(0, 2), -2, error=ShapeError, match="is empty")
refused("argmax", random(), 0, error=ShapeError, match="impossible on a 0-d tensor")
refused("argmin", random(2, 2), 1.5, error=ArgumentError, match="dim must be an int")
refused("any_dims", random(2), 1, error=ShapeError, match="out of range")
refused("all_dims", [1.0], 0, error=DTypeError, match="must be a Tensor, got list")
refused("is_close", random(2), random(3), error=ShapeError, match="do not broadcast")
