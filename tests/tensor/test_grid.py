"""Grids of coordinates, against PyTorch and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.errors import ArgumentError, ShapeError
from burn.tensor.grid import GridIndexing, GridOptions, GridSparsity, IndexPos, meshgrid, meshgrid_stack

DEVICES = [NdArray(), LibTorch("cpu")]
VECTORS = [[0.0, 1.0, 2.0], [10.0, 20.0], [5.0, 6.0, 7.0, 8.0]]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("indexing", GridIndexing)
def test_a_grid_is_the_one_of_pytorch(indexing: GridIndexing, count: int, device: burn.Device) -> None:
    ours = meshgrid([burn.tensor(each, device=device) for each in VECTORS[:count]], indexing)
    theirs = torch.meshgrid(*[torch.tensor(each) for each in VECTORS[:count]], indexing=indexing.value)
    assert len(ours) == count
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), expected.numpy())


@pytest.mark.parametrize("indexing", GridIndexing)
def test_a_sparse_grid_is_the_one_of_numpy(indexing: GridIndexing) -> None:
    ours = meshgrid([burn.tensor(each, device=NdArray()) for each in VECTORS], indexing, sparse=True)
    theirs = np.meshgrid(*[np.float32(each) for each in VECTORS], indexing=indexing.value, sparse=True)
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), expected)


def test_options_are_taken_in_every_form() -> None:
    x, y = (burn.tensor(each, device=NdArray()) for each in VECTORS[:2])
    assert [each.shape for each in meshgrid([x, y])] == [(3, 2), (3, 2)]
    assert [each.shape for each in meshgrid([x, y], "xy")] == [(2, 3), (2, 3)]
    assert [each.shape for each in meshgrid([x, y], GridSparsity.Sparse)] == [(3, 1), (1, 2)]
    both = GridOptions(GridIndexing.Cartesian, GridSparsity.Sparse)
    assert [each.shape for each in meshgrid([x, y], both)] == [(1, 3), (2, 1)]


@pytest.mark.parametrize("position, dim", [(IndexPos.First, 0), (IndexPos.Last, -1), ("first", 0), ("last", -1)])
def test_a_stacked_grid_holds_the_coordinates_of_each_place(position: object, dim: int) -> None:
    out = meshgrid_stack([burn.tensor(each, device=NdArray()) for each in VECTORS], position)  # type: ignore[arg-type]
    expected = np.stack(np.meshgrid(*[np.float32(each) for each in VECTORS], indexing="ij"), dim)
    np.testing.assert_array_equal(np.asarray(out), expected)


def test_gradients_flow_through_a_grid() -> None:
    x = burn.tensor([1.0, 2.0, 3.0], device=Autodiff(NdArray())).require_grad()
    y = burn.tensor([1.0, 2.0], device=NdArray())
    first, second = meshgrid([x, y])
    grads = (first * second).sum().backward()
    assert np.asarray(x.grad(grads)).tolist() == [3.0, 3.0, 3.0]


def test_ints_and_bools_make_grids() -> None:
    first, _ = meshgrid([burn.tensor([1, 2], device=NdArray()), burn.tensor([3], device=NdArray())])
    assert first.dtype is burn.i64
    assert first.tolist() == [[1], [2]]


def test_what_is_no_vector_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"meshgrid: tensors\[1\] must be a vector, got shape \(1, 2\)"):
        meshgrid([burn.tensor([1.0], device=NdArray()), burn.tensor([[1.0, 2.0]], device=NdArray())])
    with pytest.raises(ArgumentError, match=r"tensors\[0\] must be a Tensor, got list"):
        meshgrid([[1.0]])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match=r"indexing must be one of GridIndexing\.Matrix.*got 'yx'"):
        meshgrid([burn.tensor([1.0], device=NdArray())], "yx")
    with pytest.raises(ArgumentError, match="at least one tensor"):
        meshgrid_stack([])
