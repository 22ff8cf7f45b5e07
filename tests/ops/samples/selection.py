"""Samples of selection, of running sums from either end, and of shapes that follow another tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples


@samples("wrap_indices", oracle=lambda x, size: torch.where(x < 0, x + torch.tensor(size, dtype=x.dtype), x))
def _wrap() -> Iterator[Sample]:
    yield call(integers(3, 4), 6)
    yield call(integers(5, dtype=np.int32), 5)
    yield call(integers(4, 3), (6, 5, 7))
    yield call(integers(2, 1), [5])
    yield call(integers(5, low=0, dtype=np.uint8), 5)


refused("wrap_indices", random(3), 4, error=DTypeError, match="x must be an int tensor, got f32")
refused("wrap_indices", integers(4, 3), (1, 2), error=ShapeError, match="2 sizes for tuples of indices")
refused("wrap_indices", integers(3), -1, error=ArgumentError, match="size must be 0 or more")


def _compressed(x: Any, condition: Any, dim: int | None = None) -> Any:
    source = x.flatten() if dim is None else x
    return source.index_select(dim or 0, condition.nonzero().flatten())


@samples("compress", oracle=_compressed)
def _compress() -> Iterator[Sample]:
    yield call(random(3, 4), np.array([True, False, True]), 0)
    yield call(random(3, 4), np.array([False, True]), -1)
    yield call(random(3, 2), np.array([False, True, True, False, True]))
    yield call(integers(3, 2), np.array([False, False, False]), 0)
    yield call(booleans(4, 3).T, np.array([True, False, True, True]), 1)


refused("compress", random(3), integers(3), error=DTypeError, match="condition must be a bool tensor of one dim")
refused("compress", random(3), booleans(4), 0, error=ShapeError, match="4 truth values for 3 elements")


def _reversed(x: Any, lengths: Any, time_dim: int = 0, batch_dim: int = 1) -> Any:
    moved = x.movedim((time_dim, batch_dim), (0, 1)).clone()
    items = []
    for item, length in enumerate(lengths.tolist()):
        items.append(torch.cat([moved[:length, item].flip(0), moved[length:, item]]))
    return torch.stack(items, 1).movedim((0, 1), (time_dim, batch_dim))


@samples("reverse_sequence", oracle=_reversed)
def _reverse() -> Iterator[Sample]:
    yield call(random(4, 3), np.array([4, 1, 3]))
    yield call(random(2, 5, 2), np.array([0, 4]), 1, 0)
    yield call(random(2, 3, 4), np.array([1, 4, 2]), -1, 1)
    yield call(integers(3, 2), np.array([3, 2], np.int32))
    yield call(random(3, 4).T, np.array([4, 1, 3]))


refused(
    "reverse_sequence", random(3, 2), integers(3, low=1), error=ShapeError, match=r"shape \(2,\), one for each item"
)
refused("reverse_sequence", random(3, 2), random(2), error=DTypeError, match="lengths must be an int tensor")
refused("reverse_sequence", random(3, 2), integers(2, low=1), 0, 0, error=ArgumentError, match="must differ")
refused("reverse_sequence", random(3, 2), np.array([4, 1]), error=IndexingError, match="out of range")


def _gathered(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    if batch_dims:
        items = [_gathered(x[i], indices[i], batch_dims - 1) for i in range(x.shape[0])]
        return torch.stack(items)
    return x[tuple(indices.movedim(-1, 0))]


@samples("gather_nd_batched", oracle=_gathered)
def _gather_nd() -> Iterator[Sample]:
    yield call(random(2, 3, 4), integers(2, 5, 1, low=0, high=3), 1)
    yield call(random(2, 3, 4), integers(2, 3, 2, 1, low=0, high=4), 2)
    yield call(random(2, 3, 4), integers(2, 2, 2, low=0, high=3), 1)
    yield call(random(2, 3, 4), integers(5, 2, low=0, high=2))
    yield call(integers(2, 3), integers(2, 1, low=0, high=3, dtype=np.int32), 1)


refused("gather_nd_batched", random(2, 3), integers(3, 1, low=0), 1, error=ShapeError, match="must be equal")
refused("gather_nd_batched", random(2, 3), integers(2, 2, low=0), 1, error=ShapeError, match="tuples of 2 indices")
refused("gather_nd_batched", random(2, 3), integers(2, 1, low=0), 2, error=ArgumentError, match="batch_dims must be")
refused("gather_nd_batched", random(2, 3), random(2, 1), 1, error=DTypeError, match="must be an int tensor")


def _written(x: Any, values: Any, starts: Any = None, dim: int = -2, circular: bool = False) -> Any:
    result = x.clone()
    for item in range(x.shape[0]):
        start = 0 if starts is None else int(starts[item])
        for step in range(values.shape[dim]):
            place = (start + step) % x.shape[dim] if circular else start + step
            at = dim % x.dim() - 1
            result[item] = result[item].index_copy(at, torch.tensor([place]), values[item].narrow(at, step, 1))
    return result


@samples("write_cache", oracle=_written)
def _write_cache() -> Iterator[Sample]:
    yield call(random(2, 1, 4, 3), random(2, 1, 2, 3, seed=1), np.array([1, 2]))
    yield call(random(2, 1, 4, 3), random(2, 1, 3, 3, seed=1), np.array([3, 2]), circular=True)
    yield call(random(2, 4, 3), random(2, 4, 2, seed=1), np.array([1, 0]), -1)
    yield call(random(2, 4, 3), random(2, 1, 3, seed=1))


refused("write_cache", random(2, 4, 3), random(2, 5, 3), error=ShapeError, match="only dim 1 may be shorter")
refused("write_cache", random(2, 4, 3), random(2, 1, 3), integers(3, low=0), error=ShapeError, match="starts must have")
refused("write_cache", random(2, 4, 3), random(2, 1, 3), random(2), error=DTypeError, match="starts must be an int")
refused("write_cache", random(2, 4, 3), random(1, 4, 3), None, 0, error=ArgumentError, match="dim must not be 0")


def _hot(x: Any, values: Any, num_classes: int, dim: int = -1) -> Any:
    return onnx_node("OneHot", x, np.array(num_classes), values, axis=dim)


@samples("one_hot_values", oracle=_hot)
def _one_hot() -> Iterator[Sample]:
    yield call(integers(2, 3), np.array([2, 5]), 4)
    yield call(integers(3, low=0, high=4), np.array([1, 3], np.int32), 4, 0)
    yield call(integers(2, 3), np.array([0.5, 3.5]), 4, 1, half=False)
    yield call(np.array([1.0, 3.0]), np.array([0, 1]), 4, grad=False)


refused("one_hot_values", integers(2), random(3), 4, error=ShapeError, match=r"values must have the shape \(2,\)")
refused("one_hot_values", booleans(2), random(2), 4, error=DTypeError, match="needs class numbers, got bool")
refused("one_hot_values", integers(2), random(2), -1, error=ArgumentError, match="num_classes must be 0 or more")


def _distinct(x: Any, dim: int | None = None, in_order: bool = True, index_dtype: Any = None) -> Any:
    settings = {} if dim is None else {"axis": dim}
    values, first, inverse, counts = onnx_node("Unique", x, outputs=4, sorted=1, **settings)
    if not in_order:  # the evaluator takes rows where columns are asked for: put its sorted answer in order
        order = torch.argsort(first)
        places = torch.argsort(order)
        values = values.index_select(dim or 0, order)
        first, inverse, counts = first[order], places[inverse], counts[order]
    return values, first, inverse, counts


@samples("unique", oracle=_distinct)
def _unique() -> Iterator[Sample]:
    yield call(np.array([2.0, 1.0, 1.0, 3.0, 4.0, 3.0]))
    yield call(np.array([2.0, 1.0, 1.0, 3.0, 4.0, 3.0]), None, False)
    yield call(integers(3, 4), in_order=False)
    yield call(np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]]), 0)
    yield call(np.array([[1, 1, 0, 1], [1, 1, 0, 1], [2, 2, 1, 2]]), -1, False)
    yield call(booleans(3, 2))
    yield call(random(0))


refused("unique", random(3), 1, error=ShapeError, match="dim 1 is out of range")


def _extremes(x: Any, k: int, dim: int = -1, largest: bool = True, in_order: bool = True) -> Any:
    return torch.topk(x, k, dim, largest, in_order)


@samples("extremes_with_indices", oracle=_extremes)
def _top() -> Iterator[Sample]:
    yield call(distinct(3, 4), 2)
    yield call(distinct(3, 4), 2, 0, False)
    yield call(distinct(3, 4), 4, 1, False, False, oracle=False)
    yield call(integers(7, low=0, high=100, dtype=np.int32), 3, largest=False)
    yield call(distinct(5, 2).T, 0, 1)


refused("extremes_with_indices", random(3), 4, error=ArgumentError, match="k must be between 0 and 3")


@samples("argmax_last", oracle=lambda x, dim: onnx_node("ArgMax", x, axis=dim, select_last_index=1))
def _argmax() -> Iterator[Sample]:
    yield call(distinct(3, 4), 1, grad=False)
    yield call(np.array([[2, 2, 1], [0, 3, 3]]), -1)
    yield call(np.array([[2, 2, 1], [2, 3, 3]]), 0)


@samples("argmin_last", oracle=lambda x, dim: onnx_node("ArgMin", x, axis=dim, select_last_index=1))
def _argmin() -> Iterator[Sample]:
    yield call(distinct(3, 4), 1, grad=False)
    yield call(np.array([[1, 2, 1], [3, 3, 3]]), -1)


for _name in ("argmax_last", "argmin_last"):
    refused(_name, random(0), 0, error=ShapeError, match="there is nothing to choose from")


def _eye_of(x: Any, diagonal: int = 0, dtype: Any = None) -> Any:
    return torch.diag_embed(torch.ones(9), diagonal)[: x.shape[0], : x.shape[1]]


@samples("eye_like", oracle=_eye_of)
def _eye() -> Iterator[Sample]:
    yield call(random(3, 4), grad=False)
    yield call(random(3, 4), 1, "i64", grad=False)
    yield call(integers(4, 2), -2)


refused("eye_like", random(3), error=ShapeError, match="needs a matrix")


@samples("broadcast_with", oracle=lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, shape)))
def _broadcast() -> Iterator[Sample]:
    yield call(random(3, 1), (2, 1, 4))
    yield call(random(2, 3), (3,))
    yield call(random(2, 3), (1, 1))
    yield call(np.array(2.0), (2, 2))
    yield call(booleans(1, 3), (4, 1))


refused("broadcast_with", random(3), (2,), error=ShapeError, match="broadcast")


def _running(function: Any) -> Any:
    def oracle(x: Any, dim: int, exclusive: bool = False, reverse: bool = False) -> Any:
        x = x.flip(dim) if reverse else x
        found = function(x, dim)
        if exclusive and x.shape[dim]:
            first = torch.full_like(found.narrow(dim, 0, 1), 0 if function is torch.cumsum else 1)
            found = torch.cat([first, found.narrow(dim, 0, x.shape[dim] - 1)], dim)
        return found.flip(dim) if reverse else found

    return oracle


def _runs() -> Iterator[Sample]:
    for exclusive in (True, False):
        for reverse in (True, False):
            yield call(random(3, 4), 1, exclusive, reverse)
    yield call(integers(3, 4), -2, True)
    yield call(random(4, 3).T, 0, True, True)
    yield call(random(0, 2), 0, True)


samples("running_sum", oracle=_running(torch.cumsum))(_runs)
samples("running_product", oracle=_running(torch.cumprod))(_runs)
for _name in ("running_sum", "running_product"):
    refused(_name, random(3), 1, error=ShapeError, match="dim 1 is out of range")
    refused(_name, booleans(3), 0, error=DTypeError, match="needs numbers")
