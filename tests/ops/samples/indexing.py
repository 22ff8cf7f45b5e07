"""Samples of indexing rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples

INT_DTYPES = (np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64)


def indices(*values: Any, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    return np.array(values, dtype)


# Ranges: index tensors are the oracle's way to any start and step


def _places(ranges: Any) -> list[torch.Tensor]:
    return [start + torch.arange(size) * step for start, size, step in ranges]


def _read(x: torch.Tensor, ranges: Any) -> torch.Tensor:
    for dim, places in enumerate(_places(ranges)):
        x = x.index_select(dim, places)
    return x


def _write(x: torch.Tensor, ranges: Any, values: torch.Tensor) -> torch.Tensor:
    if not len(ranges):
        return values.to(torch.promote_types(x.dtype, values.dtype))
    x = x.to(torch.promote_types(x.dtype, values.dtype))
    grid = torch.meshgrid(*_places(ranges), indexing="ij")
    return x.index_put(tuple(grid), values.to(x.dtype))


@samples("slice", oracle=_read)
def _slice() -> Iterator[Sample]:
    yield call(random(4, 5), ((1, 2, 1), (0, 5, 1)))
    yield call(random(4, 5), ((0, 2, 2), (4, 3, -2)))
    yield call(random(4, 5), [(3, 4, -1), (2, 1, 1)])
    yield call(random(5, 4).T, ((1, 3, 1), (4, 5, -1)))
    yield call(random(4, 10)[:, ::2], ((1, 2, 1), (1, 2, 2)))
    yield call(integers(4, 5), ((0, 0, 1), (1, 2, 1)))
    yield call(booleans(6), ((5, 3, -2),))
    yield call(random(), ())
    yield call(random(0, 3), ((0, 0, 1), (2, 2, -1)))
    yield call(random(2, 3, 4), ((1, 1, 7), (0, 3, 1), (1, 2, 1)))


refused("slice", random(4, 5), ((0, 4, 1),), error=ArgumentError, match=r"one \(start, size, step\) for each dim")
refused("slice", random(4), ((0, 4),), error=ArgumentError, match=r"one \(start, size, step\) for each dim")
refused("slice", random(4), 3, error=ArgumentError, match=r"one \(start, size, step\) for each dim")
refused("slice", random(4), ((2, 3, 1),), error=ShapeError, match=r"\(2, 3, 1\) reaches outside dim 0 of size 4")
refused("slice", random(4), ((2, 4, -1),), error=ShapeError, match="reaches outside dim 0 of size 4")
refused("slice", random(4), ((0, 2, 0),), error=ShapeError, match="reaches outside")


@samples("slice_assign", oracle=_write)
def _slice_assign() -> Iterator[Sample]:
    yield call(random(4, 5), ((1, 2, 1), (0, 5, 1)), random(2, 5, seed=1))
    yield call(random(4, 5), ((0, 2, 2), (4, 3, -2)), random(2, 3, seed=1))
    yield call(random(5, 4).T, ((3, 4, -1), (2, 1, 1)), random(4, 2, seed=1)[:, ::2])
    yield call(integers(4), ((1, 2, 1),), integers(2, seed=1))
    yield call(booleans(4), ((1, 2, 1),), booleans(2, seed=1))
    yield call(integers(4), ((1, 2, 1),), random(2, seed=1))
    yield call(random(), (), random(seed=1))
    yield call(random(0, 3), ((0, 0, 1), (0, 2, 1)), random(0, 2))
    yield call(random(3), ((0, 0, 1),), random(0))


refused(
    "slice_assign", random(4), ((1, 2, 1),), random(3), error=ShapeError,
    match=r"values have shape \(3,\) and the slice \(2,\); write values.expand\(\[2\]\)",
)  # fmt: skip
refused("slice_assign", random(4), ((1, 5, 1),), random(5), error=ShapeError, match="reaches outside dim 0")
refused("slice_assign", random(4), ((1, 2, 1),), 1.0, error=DTypeError, match="values must be a Tensor, got 1.0")


@samples(
    "slice_fill", oracle=lambda x, ranges, value: _write(x, ranges, x.new_full([size for _, size, _ in ranges], value))
)
def _slice_fill() -> Iterator[Sample]:
    yield call(random(4, 5), ((1, 2, 1), (0, 5, 1)), 1.5)
    yield call(random(4, 5), ((0, 2, 2), (4, 3, -2)), 0)
    yield call(random(5, 4).T, ((0, 4, 1), (0, 0, 1)), 1.5)
    yield call(integers(4), ((1, 2, 1),), 7)
    yield call(booleans(4), ((0, 4, 1),), True)


refused("slice_fill", random(4), ((3, 2, 1),), 0.0, error=ShapeError, match="reaches outside dim 0")
refused("slice_fill", random(4), ((3, 1, 1),), "a", error=DTypeError, match="value must be a")


@samples("select_dim", oracle=torch.select)
def _select_dim() -> Iterator[Sample]:
    yield call(random(4, 5), 0, 2)
    yield call(random(4, 5), -1, -5)
    yield call(random(5, 4).T, 1, 3)
    yield call(integers(3), 0, 1)
    yield call(booleans(2, 1, 3), 1, 0)
    yield call(random(0, 2), 1, 1)


refused("select_dim", random(4, 5), 1, 5, error=IndexingError, match="index 5 is out of range for dim 1 of size 5")
refused("select_dim", random(4, 5), 1, -6, error=IndexingError, match="index -6 is out of range for dim 1 of size 5")
refused("select_dim", random(4, 5), 2, 0, error=ShapeError, match="dim 2 is out of range")
refused("select_dim", random(4, 5), 1, 1.0, error=ArgumentError, match="index must be an int")


# Index values


def _long(function: Any) -> Any:
    """A torch function told about index tensors in the one dtype it takes."""

    def run(x: torch.Tensor, dim: Any, index: torch.Tensor, *rest: Any, **options: Any) -> Any:
        return function(x, dim, index.to(torch.int64), *rest, **options)

    return run


@samples("select", oracle=_long(torch.index_select))
def _select() -> Iterator[Sample]:
    yield call(random(4, 3), 0, indices(2, 0, 2))
    yield call(random(4, 3), -1, indices(1, 1, 0, 2, 1))
    yield call(random(3, 4).T, 0, indices(3, 0, 1, 3, 2, 2)[::2])
    for dtype in INT_DTYPES:
        yield call(random(2, 5, 3), 1, indices(4, 0, 3, 4, dtype=dtype))
    yield call(integers(4, 3), 0, indices(3))
    yield call(booleans(4, 3), 1, indices(0, 2))
    yield call(random(4, 3), 0, np.zeros(0, np.int64))
    yield call(random(0, 3), 1, indices(0, 0))
    yield call(random(0, 3), 0, np.zeros(0, np.int64))


refused(
    "select", random(4, 3), 0, indices(1, 4), error=IndexingError, match="index 4 is out of range for dim 0 of size 4"
)
refused(
    "select", random(4, 3), 1, indices(-1), error=IndexingError, match="index -1 is out of range for dim 1 of size 3"
)
refused("select", random(4, 3), 0, random(2), error=DTypeError, match="indices must be an int tensor, got f32")
refused("select", random(4, 3), 0, indices((0, 1)), error=ShapeError, match=r"must have one dim, got shape \(1, 2\)")
refused("select", random(4, 3), 2, indices(0), error=ShapeError, match="dim 2 is out of range")
refused(
    "select", random(4, 3), 0, 2, error=DTypeError, match=r"indices must be a Tensor, got 2; write burn.tensor\(\[2\]\)"
)


REDUCTIONS = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


def _combined(
    x: torch.Tensor, dim: int, index: torch.Tensor, values: torch.Tensor, update: Any = "add"
) -> torch.Tensor:
    """`scatter_reduce`, where bools are numbers: or is a sum above 0, and is a product."""
    dtype = torch.promote_types(x.dtype, values.dtype)
    index, update = index.to(torch.int64), getattr(update, "value", update)
    if dtype is torch.bool:
        return _combined(x.to(torch.int64), dim, index, values.to(torch.int64), update).bool()
    x, values = x.to(dtype), values.to(dtype)
    if update == "assign":
        return x.scatter(dim, index, values)
    return x.scatter_reduce(dim, index, values, REDUCTIONS[update])


def _combined_rows(x: torch.Tensor, dim: int, index: torch.Tensor, values: torch.Tensor, update: Any = "add") -> Any:
    shape = [-1 if place == dim % x.ndim else 1 for place in range(x.ndim)]
    return _combined(x, dim, index.to(torch.int64).reshape(shape).expand_as(values), values, update)


@samples("select_assign", oracle=_combined_rows)
def _select_assign() -> Iterator[Sample]:
    yield call(random(4, 3), 0, indices(2, 0, 2), random(3, 3, seed=1))
    yield call(random(4, 3), -1, indices(1, 1, 0, 2, 1), random(4, 5, seed=1))
    yield call(random(3, 4).T, 0, indices(3, 1), random(2, 6, seed=1)[:, ::2], "assign")
    yield call(random(5), 0, indices(4, 4, 4, 0), random(4, seed=1), update="add")
    yield call(random(5), 0, indices(4, 0), random(2, seed=1), "assign")
    for dtype in INT_DTYPES:
        yield call(random(2, 5, 3), 1, indices(4, 0, 4, dtype=dtype), random(2, 3, 3, seed=1))
    for update in ("mul", "min", "max"):
        # these pass no gradient, and say so
        yield call(distinct(4, 3), 0, indices(2, 0, 2), distinct(3, 3, seed=1), update, grad=False)
        yield call(integers(4, 3), 1, indices(2, 0, 2), integers(4, 3, seed=1), update)
        yield call(booleans(4, 3), 0, indices(2, 0, 2), booleans(3, 3, seed=1), update)
    yield call(
        integers(4, dtype=np.int8, low=100, high=120),
        0,
        indices(1, 1, 1),
        integers(3, low=100, high=120, dtype=np.int8),
    )
    yield call(booleans(4, 3), 0, indices(2, 0, 2), booleans(3, 3, seed=1), "add")
    yield call(integers(4), 0, indices(1, 1), random(2, seed=1))
    yield call(random(4, 3), 0, np.zeros(0, np.int64), random(0, 3))
    yield call(random(4, 0), 0, indices(1, 2), random(2, 0))


refused(
    "select_assign", random(4), 0, indices(4), random(1), error=IndexingError, match="index 4 is out of range for dim 0"
)
refused("select_assign", random(4), 0, indices(-1), random(1), error=IndexingError, match="index -1 is out of range")
refused(
    "select_assign", random(4, 3), 0, indices(1), random(2, 3), error=ShapeError,
    match=r"values have shape \(2, 3\), the indices ask for \(1, 3\)",
)  # fmt: skip
refused(
    "select_assign", random(4), 0, indices(1), random(1), "sub", error=ArgumentError,
    match="update must be one of 'assign', 'add', 'mul', 'min', 'max', got 'sub'",
)  # fmt: skip
refused("select_assign", random(4), 0, random(1), random(1), error=DTypeError, match="indices must be an int tensor")


@samples("gather", oracle=_long(torch.gather))
def _gather() -> Iterator[Sample]:
    yield call(random(4, 3), 0, integers(2, 3, low=0, high=4))
    yield call(random(4, 3), 1, integers(4, 5, low=0, high=3))
    yield call(random(3, 4).T, -2, integers(4, 6, low=0, high=4)[:, ::2])
    for dtype in INT_DTYPES:
        yield call(random(2, 3, 2), 1, integers(2, 4, 2, low=0, high=3, dtype=dtype))
    yield call(random(4, 3), 1, integers(2, 2, low=0, high=3))
    yield call(integers(4, 3), 1, integers(4, 1, low=0, high=3))
    yield call(booleans(4), 0, indices(1, 1, 0))
    yield call(random(4, 3), 0, np.zeros((0, 3), np.int64))
    yield call(random(0, 3), 1, np.zeros((0, 2), np.int64))


refused(
    "gather", random(4, 3), 1, indices((0, 3)), error=IndexingError, match="index 3 is out of range for dim 1 of size 3"
)
refused(
    "gather",
    random(4, 3),
    0,
    indices((0, -2)),
    error=IndexingError,
    match="index -2 is out of range for dim 0 of size 4",
)
refused("gather", random(4, 3), 1, indices(0), error=ShapeError, match=r"indices of shape \(1,\) do not fit \(4, 3\)")
refused("gather", random(1, 3), 1, integers(2, 3), error=ShapeError, match="none longer except dim 1")
refused("gather", random(4, 3), 1, random(4, 3), error=DTypeError, match="indices must be an int tensor")


@samples("scatter", oracle=_combined)
def _scatter() -> Iterator[Sample]:
    yield call(random(4, 3), 0, integers(2, 3, low=0, high=4), random(2, 3, seed=1))
    yield call(random(4, 3), 1, integers(4, 5, low=0, high=3), random(4, 5, seed=1))
    yield call(random(3, 4).T, -2, integers(4, 6, low=0, high=4)[:, ::2], random(3, 4, seed=1).T)
    yield call(random(2, 3), 1, indices((2, 0), (1, 2)), random(2, 2, seed=1), "assign")
    for dtype in INT_DTYPES:
        yield call(random(2, 3, 2), 1, integers(2, 4, 2, low=0, high=3, dtype=dtype), random(2, 4, 2, seed=1))
    for update in ("mul", "min", "max"):
        yield call(distinct(4, 3), 0, integers(5, 3, low=0, high=4), distinct(5, 3, seed=1), update, grad=False)
        yield call(integers(4, 3), 1, integers(4, 3, low=0, high=3), integers(4, 3, seed=1), update)
        yield call(booleans(4), 0, indices(2, 0, 2), booleans(3, seed=1), update)
    yield call(integers(4, 3), 1, integers(2, 2, low=0, high=3), integers(2, 2, seed=1))
    yield call(booleans(4), 0, indices(2, 0, 2), booleans(3, seed=1), "add")
    yield call(integers(4), 0, indices(1, 1), random(2, seed=1), "add")
    yield call(random(4, 3), 0, np.zeros((0, 3), np.int64), random(0, 3))


refused(
    "scatter",
    random(4),
    0,
    indices(4),
    random(1),
    error=IndexingError,
    match="index 4 is out of range for dim 0 of size 4",
)
refused(
    "scatter", random(4), 0, indices(1), random(2), error=ShapeError, match=r"values have shape \(2,\), the indices ask"
)
refused("scatter", random(4, 3), 0, indices(1), random(1), error=ShapeError, match="do not fit")
refused("scatter", random(4), 0, indices(1), random(1), None, error=ArgumentError, match="update must be one of")


def _tuples(index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(index.to(torch.int64).unbind(-1))


@samples("gather_nd", oracle=lambda x, index: x[_tuples(index)])
def _gather_nd() -> Iterator[Sample]:
    yield call(random(4, 3, 2), indices((0, 1), (3, 2), (0, 1)))
    yield call(random(4, 3, 2), integers(2, 5, 3, low=0, high=2))
    yield call(random(2, 3, 4).T, integers(3, 1, low=0, high=4))
    yield call(random(4, 3), indices(2, 1))
    yield call(random(4, 3), indices(2))
    for dtype in INT_DTYPES:
        yield call(random(4, 3), integers(5, 2, low=0, high=3, dtype=dtype))
    yield call(integers(4, 3), integers(2, 2, low=0, high=3))
    yield call(booleans(4, 3), integers(2, 1, low=0, high=3))
    yield call(random(4, 3), np.zeros((0, 2), np.int64))
    yield call(random(4, 0), indices((1,), (2,)))


refused(
    "gather_nd", random(4, 3), indices((0, 3)), error=IndexingError, match="index 3 is out of range for dim 1 of size 3"
)
refused(
    "gather_nd",
    random(4, 3),
    indices((-1, 0)),
    error=IndexingError,
    match="index -1 is out of range for dim 0 of size 4",
)
refused(
    "gather_nd", random(4, 3), indices((0, 1, 2)), error=ShapeError, match="it must have size 1 to 2, got indices of"
)
refused("gather_nd", random(4, 3), random(2), error=DTypeError, match="indices must be an int tensor")


def _put(x: torch.Tensor, index: torch.Tensor, values: torch.Tensor, update: Any) -> torch.Tensor:
    """Rows of the flattened leading dims, combined one by one."""
    depth = index.shape[-1]
    numbers = torch.arange(int(np.prod(x.shape[:depth]))).reshape(x.shape[:depth])[_tuples(index)].reshape(-1)
    rest = x.shape[depth:]
    flat, rows = x.reshape(-1, *rest) if x.numel() else x.flatten(0, depth - 1), values.reshape(len(numbers), *rest)
    return _combined_rows(flat, 0, numbers, rows, update).reshape(x.shape)


@samples("scatter_nd", oracle=_put)
def _scatter_nd() -> Iterator[Sample]:
    yield call(random(4, 3, 2), indices((0, 1), (3, 2), (0, 1)), random(3, 2, seed=1), "add")
    yield call(random(4, 3, 2), integers(2, 5, 3, low=0, high=2), random(2, 5, seed=1), "add")
    yield call(random(3, 4).T, indices((3,), (0,)), random(3, 2, seed=1).T, "assign")
    yield call(random(4, 3), indices(2, 1), random(seed=1), "assign")
    for dtype in INT_DTYPES:
        yield call(random(4, 3), integers(5, 2, low=0, high=3, dtype=dtype), random(5, seed=1), "add")
    for update in ("mul", "min", "max"):
        yield call(distinct(4, 3), integers(5, 2, low=0, high=3), distinct(5, seed=1), update, grad=False)
        yield call(integers(4, 3), integers(5, 1, low=0, high=3), integers(5, 3, seed=1), update)
        yield call(booleans(4, 3), integers(5, 1, low=0, high=3), booleans(5, 3, seed=1), update)
    yield call(booleans(4, 3), integers(5, 2, low=0, high=3), booleans(5, seed=1), "add")
    yield call(random(4, 3), np.zeros((0, 2), np.int64), random(0), "add")


refused(
    "scatter_nd", random(4, 3), indices((0, 3)), random(1), "add", error=IndexingError, match="index 3 is out of range"
)
refused("scatter_nd", random(4, 3), indices((0, 1)), random(1, 3), "add", error=ShapeError, match="the indices ask for")
refused(
    "scatter_nd", random(4, 3), indices((0, 1)), random(1), "sum", error=ArgumentError, match="update must be one of"
)
refused("scatter_nd", random(4, 3), indices((0, 1)), random(1), error=ArgumentError, match="missing update")


def _taken(x: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    dim %= x.ndim
    found = x.index_select(dim, index.to(torch.int64).reshape(-1))
    return found.reshape((*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]))


@samples("take", oracle=_taken)
def _take() -> Iterator[Sample]:
    yield call(random(4, 3), 0, integers(2, 5, low=0, high=4))
    yield call(random(4, 3), -1, indices(2, 0))
    yield call(random(3, 4).T, 1, integers(2, 1, 2, low=0, high=3))
    yield call(random(4, 3), 0, np.array(2))
    yield call(integers(5), 0, integers(2, 2, low=0, high=5, dtype=np.int32))
    yield call(random(4, 3), 1, np.zeros((2, 0), np.int64))


refused("take", random(4, 3), 0, random(2), error=DTypeError, match="indices must be an int tensor")
refused("take", random(4, 3), 2, indices(0), error=ShapeError, match="dim 2 is out of range")
refused("take", random(4, 3), 0, indices(4), error=IndexingError, match="index 4 is out of range for dim 0 of size 4")


# Truth values


@samples("argwhere", oracle=torch.argwhere)
def _argwhere() -> Iterator[Sample]:
    yield call(booleans(3, 4))
    yield call(booleans(4, 3).T)
    yield call(booleans(2, 3, 8)[..., ::2])
    yield call(integers(3, 4, low=0, high=2))
    yield call(random(5) * booleans(5))
    yield call(np.zeros((2, 3), bool))
    yield call(np.zeros((0, 3), bool))
    yield call(np.array(True))


samples("nonzero", oracle=lambda x: list(torch.nonzero(x, as_tuple=True)) if x.ndim else [])(_argwhere)


@samples("mask_select", oracle=torch.masked_select)
def _mask_select() -> Iterator[Sample]:
    yield call(random(3, 4), booleans(3, 4))
    yield call(random(4, 3).T, booleans(3, 8)[:, ::2])
    yield call(integers(5), booleans(5))
    yield call(booleans(2, 2), booleans(2, 2, seed=1))
    yield call(random(3), np.zeros(3, bool))
    yield call(random(0, 2), booleans(0, 2))
    yield call(random(), np.array(True))


refused("mask_select", random(3), integers(3), error=DTypeError, match="mask must be a bool tensor, got i64")
refused("mask_select", random(3), 1.0, error=DTypeError, match="mask must be a bool tensor, got float")
refused("mask_select", random(3, 2), booleans(2), error=ShapeError, match=r"write mask.expand\(\[3, 2\]\) to repeat it")


# Classes


def _hot(x: torch.Tensor, num_classes: int, on_value: float = 1, off_value: float = 0, axis: int = -1) -> torch.Tensor:
    classes = torch.where(x < 0, x + num_classes, x).to(torch.int64)
    inside = (classes >= 0) & (classes < num_classes)
    hot = torch.nn.functional.one_hot(classes.clamp(0, num_classes - 1), num_classes).bool() & inside.unsqueeze(-1)
    values = torch.where(hot, on_value, off_value).to(x.dtype)
    return values.movedim(-1, axis)


@samples("one_hot", oracle=_hot)
def _one_hot() -> Iterator[Sample]:
    yield call(integers(2, 3, low=0, high=4), 4)
    yield call(np.array(2), 3)
    yield call(np.array([0.0, 2.0, 1.0]), 3, grad=False)
    yield call(integers(3, low=0, high=3, dtype=np.uint8), 3)
    yield call(np.zeros((0, 2), np.int64), 3)


refused("one_hot", integers(3), 0, error=ArgumentError, match="num_classes must be 1 or more, got 0")
refused("one_hot", booleans(3), 2, error=DTypeError, match="needs class numbers, got bool")
refused("one_hot", integers(3), 2.5, error=ArgumentError, match="num_classes must be an int, got 2.5")
refused("one_hot", np.array([0, 5]), 3, error=IndexingError, match="(class|index) 5 is out of range")
refused("one_hot", np.array([0, -1]), 3, error=IndexingError, match="is out of range")


@samples("one_hot_fill", oracle=_hot)
def _one_hot_fill() -> Iterator[Sample]:
    yield call(integers(2, 3, low=0, high=4), 4, 5, -1, 1)
    yield call(np.array([[0.0, 2.0], [1.0, -1.0]]), 3, 5.0, 0.5, -1, grad=False)
    yield call(integers(2, 3, low=0, high=4), 4, 5.0, 0.0, 0)
    yield call(integers(2, 3, low=0, high=4), 4, 2, 1, axis=-3)
    yield call(integers(3, low=0, high=4), 4, on_value=2, off_value=1)


refused(
    "one_hot_fill", integers(3), 4, 0.5, 0, error=DTypeError, match=r"on_value=0.5 does not fit i64; .* \.float\(\)"
)
refused("one_hot_fill", integers(3), 4, 1, 0, 2, error=ShapeError, match="dim 2 is out of range")
