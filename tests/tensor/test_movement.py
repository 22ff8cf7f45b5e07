"""Movement keeps every bit, on every device, and says what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn.backend import Autodiff, LibTorch, NdArray
from burn.errors import ArgumentError, ShapeError
from burn.tensor import Tensor, s
from tests.stacks import STACKS

DEVICES = [pytest.param(device, id=name) for name, device in STACKS.items()]
PLAIN = NdArray()


def counted(*shape: int, device: Any = PLAIN) -> Tensor[Any]:
    return Tensor.arange(range(int(np.prod(shape))), device).reshape(shape)


# Every bit


SPECIAL = np.array([0, 1 << 31, 0x7FC00001, 0xFFC12345, 0x7F800000, 0xFF800000, 1, 0x80000001], np.uint32)
"""Zero and minus zero, two NaNs with a payload, the infinities, and the smallest numbers."""

MOVES = {
    "reshape": (lambda x: x.reshape((4, 2)), lambda a: a.reshape(4, 2)),
    "expand": (lambda x: x.unsqueeze(3).expand((3, 2, 4)), lambda a: np.broadcast_to(a, (3, 2, 4))),
    "permute": (lambda x: x.permute((1, 0)), lambda a: a.T),
    "flip": (lambda x: x.flip((0, 1)), lambda a: a[::-1, ::-1]),
    "roll": (lambda x: x.roll((1, 3), (0, 1)), lambda a: np.roll(a, (1, 3), (0, 1))),
    "cat": (lambda x: Tensor.cat([x, x.flip([1])], 1), lambda a: np.concatenate([a, a[:, ::-1]], 1)),
    "stack": (lambda x: Tensor.stack([x, x], -1), lambda a: np.stack([a, a], -1)),
    "repeat": (lambda x: x.repeat((2, 3)), lambda a: np.tile(a, (2, 3))),
    "unfold": (lambda x: x.unfold(1, 2, 1), lambda a: np.stack([a[:, i : i + 2] for i in range(3)], 1)),
    "pad_edge": (lambda x: x.pad((1, 1, 1, 0), mode="edge"), lambda a: np.pad(a, ((1, 0), (1, 1)), "edge")),
    "pad_reflect": (lambda x: x.pad((1, 3, 1, 0), mode="reflect"), lambda a: np.pad(a, ((1, 0), (1, 3)), "reflect")),
    "slice": (lambda x: x.slice(s[:, 0:4:-2]), lambda a: a[:, ::-2]),
    "slice_assign": (lambda x: x.slice_assign(s[0:1], x.slice(s[1:2])), lambda a: np.stack([a[1], a[1]])),
    "select": (lambda x: x.select(1, Tensor.from_data([3, 0, 3], x.device)), lambda a: a[:, [3, 0, 3]]),
    "gather_nd": (lambda x: x[[0, 1], [2, 3]], lambda a: a[[0, 1], [2, 3]]),
    "chunk": (lambda x: Tensor.cat(x.chunk(3, 1), 1), lambda a: a),
    "movedim": (lambda x: x.movedim(0, 1), lambda a: a.T),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MOVES)
def test_movement_keeps_every_bit(name: str, device: Any) -> None:
    ours, theirs = MOVES[name]
    array = SPECIAL.view(np.float32).reshape(2, 4)
    moved = np.asarray(ours(Tensor.from_data(array, device)))
    np.testing.assert_array_equal(moved.view(np.uint32), theirs(SPECIAL.reshape(2, 4)))


# Joining


@pytest.mark.parametrize("device", DEVICES)
def test_stack_puts_a_new_dim_anywhere(device: Any) -> None:
    x, y = counted(2, 3, device=device), counted(2, 3, device=device) + 10
    for dim in (0, 1, 2, -1, -3):
        expected = np.stack([np.asarray(x), np.asarray(y)], dim)
        np.testing.assert_array_equal(np.asarray(Tensor.stack([x, y], dim)), expected)
    assert Tensor.stack([Tensor.zeros((), device)]).dims() == (1,)
    assert Tensor.stack([Tensor.zeros((2, 0), device)] * 3, 2).dims() == (2, 0, 3)


def test_stack_says_what_does_not_fit() -> None:
    with pytest.raises(
        ShapeError, match=r"all shapes must be equal: tensors\[0\] has shape \(2,\) and tensors\[1\] \(3,\)"
    ):
        Tensor.stack([counted(2), counted(3)])
    with pytest.raises(ArgumentError, match="stack: needs at least one tensor"):
        Tensor.stack([])
    with pytest.raises(ShapeError, match="stack: dim 2 is out of range"):
        Tensor.stack([counted(2)], 2)


def test_gradients_of_cat_go_to_each_part() -> None:
    for base in (NdArray(), LibTorch()):
        device = Autodiff(base)
        x = Tensor.from_data([1.0, 2.0], device).require_grad()
        y = Tensor.from_data([3.0], device).require_grad()
        plain = Tensor.from_data([5.0], base)
        weights = Tensor.from_data([1.0, 2.0, 3.0, 4.0], device)
        grads = (Tensor.cat([x, plain, y], 0) * weights).sum().backward()
        found = [each.grad(grads) for each in (x, y)]
        assert [each.tolist() for each in found if each is not None] == [[1.0, 2.0], [4.0]]


def test_cat_promotes() -> None:
    joined = Tensor.cat([counted(2), Tensor.ones((1,), PLAIN, "f64"), Tensor.from_bool([True], PLAIN)], 0)
    assert joined.dtype.name == "f64"
    assert joined.tolist() == [0.0, 1.0, 1.0, 1.0]


# Dims


def test_squeeze_and_unsqueeze_follow_burns_names() -> None:
    x = counted(1, 3, 1, 2)
    assert x.squeeze(0).dims() == x.squeeze_dim(0).dims() == (3, 1, 2)
    assert x.squeeze_dim(-2).dims() == (1, 3, 2)
    assert x.squeeze().dims() == x.squeeze_all().dims() == x.squeeze_dims([]).dims() == (3, 2)
    assert x.squeeze_dims([0, 2]).dims() == (3, 2)
    assert counted(3).unsqueeze().dims() == (1, 3)
    assert counted(3).unsqueeze(3).dims() == (1, 1, 3)
    assert counted(3, 4, 5).unsqueeze_dims([0, -1, -1]).dims() == (1, 3, 4, 5, 1, 1)
    with pytest.raises(ShapeError, match=r"dim 1 of \(1, 3, 1, 2\) has size 3"):
        x.squeeze_dim(1)


def test_transpose_and_t_exchange_the_last_two_dims() -> None:
    x = counted(2, 3, 4)
    assert x.transpose().dims() == x.t().dims() == (2, 4, 3)


def test_iter_dim_goes_through_a_dim_in_both_directions() -> None:
    x = counted(2, 3)
    assert [each.tolist() for each in x.iter_dim(1)] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert [each.tolist() for each in reversed(x.iter_dim(0))] == [[[3, 4, 5]], [[0, 1, 2]]]
    steps = x.iter_dim(-1)
    next(steps)
    assert len(steps) == 2
    with pytest.raises(ShapeError, match="iter_dim: dim 2 is out of range"):
        x.iter_dim(2)


def test_inplace_and_extract_give_tensors_back() -> None:
    x = counted(3)
    assert x.inplace(lambda each: each + 1).tolist() == [1, 2, 3]
    assert x.extract() is x


@pytest.mark.parametrize("device", DEVICES)
def test_dims_of_size_zero_move_like_others(device: Any) -> None:
    x = Tensor.zeros((2, 0, 3), device)
    assert x.permute((1, 2, 0)).dims() == (0, 3, 2)
    assert x.flip([0, 1]).dims() == (2, 0, 3)
    assert Tensor.cat([x, x], 1).dims() == (2, 0, 3)
    assert Tensor.cat([x, x], 0).dims() == (4, 0, 3)
    assert x.repeat((1, 5, 2)).dims() == (2, 0, 6)
    assert x.pad([(1, 1), (0, 0)], 1.0).dims() == (2, 2, 3)
    assert x.flatten().dims() == (0,)
    assert x.roll([1], [1]).dims() == (2, 0, 3)
    assert x.unfold(2, 2, 1).dims() == (2, 0, 2, 2)
    assert x.slice(s[0:1]).dims() == (1, 0, 3)
    assert [each.dims() for each in x.split(2, 2)] == [(2, 0, 2), (2, 0, 1)]
    assert x.tril().dims() == (2, 0, 3)
    assert x.mask_select(x == 0.0).dims() == (0,)
    assert x.argwhere().dims() == (0, 3)
    assert list(x.iter_dim(1)) == []


# Masks and grids


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_masks_are_true_where_something_is_to_be_filled(offset: int, device: Any) -> None:
    ones = np.ones((3, 4), bool)
    np.testing.assert_array_equal(np.asarray(Tensor.tril_mask((3, 4), offset, device)), ~np.tril(ones, offset))
    np.testing.assert_array_equal(np.asarray(Tensor.triu_mask((3, 4), offset, device)), ~np.triu(ones, offset))
    diagonal = np.triu(np.tril(ones, offset), offset)
    np.testing.assert_array_equal(np.asarray(Tensor.diag_mask((3, 4), offset, device)), ~diagonal)
    x = counted(3, 4, device=device)
    filled = x.mask_fill(Tensor.tril_mask((3, 4), offset, device), 0)
    np.testing.assert_array_equal(np.asarray(filled), np.asarray(x.tril(offset)))


def test_masks_of_more_dims_repeat_and_of_fewer_are_refused() -> None:
    assert Tensor.tril_mask((2, 3, 3), 0, PLAIN).dims() == (2, 3, 3)
    assert Tensor.diag_mask((0, 3), 0, PLAIN).dims() == (0, 3)
    for name in ("tril_mask", "triu_mask", "diag_mask"):
        with pytest.raises(ShapeError, match=rf"{name}: \(3,\) must have at least 2 dims"):
            getattr(Tensor, name)((3,), 0, PLAIN)


@pytest.mark.parametrize("device", DEVICES)
def test_a_cartesian_grid_holds_the_coordinates_of_every_place(device: Any) -> None:
    grid = Tensor.cartesian_grid((2, 3), device)
    assert grid.tolist() == [[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]]]
    assert grid.dtype is device.int_dtype
    assert Tensor.cartesian_grid((3,), device).tolist() == [[0], [1], [2]]
    assert Tensor.cartesian_grid((2, 0), device).dims() == (2, 0, 2)
    with pytest.raises(ShapeError, match="cartesian_grid: the shape must have at least 1 dim"):
        Tensor.cartesian_grid((), device)


def test_pad_keeps_burns_order_of_left_right_top_bottom() -> None:
    x = Tensor.ones((1, 1), PLAIN)
    assert x.pad((1, 2, 3, 0), 0.0).dims() == (4, 4)
    assert x.pad((1, 0, 0, 0), 9.0).tolist() == [[9.0, 1.0]]
    assert x.pad((0, 0, 1, 0), 9.0).tolist() == [[9.0], [1.0]]
    assert x.pad([(1, 0), (0, 0)], 9.0).tolist() == [[9.0], [1.0]]
