"""Tensors among other Python objects: NumPy, DLPack, numbers, pickles, iteration."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle

import numpy as np
import pytest
import torch

import burn
from burn import DataError, LibTorch, NdArray, Tensor
from tests.stacks import STACKS

EACH = pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)


@EACH
def test_numpy_reads_a_tensor_without_being_able_to_write_to_it(device):
    x = burn.tensor([[1.0, 2.0]], device=device)
    array = np.asarray(x)
    assert array.tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 5.0
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert np.array(x, copy=True).flags.writeable


@EACH
def test_a_tensor_does_not_change_with_the_array_it_was_made_of(device):
    array = np.ones(3, np.float32)
    x = burn.tensor(array, device=device)
    array[0] = 7.0
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_numpy_operators_leave_the_work_to_the_tensor():
    x = burn.tensor([1.0, 2.0], device=NdArray())
    assert isinstance(np.float32(2.0) * x, Tensor)
    assert (np.float32(2.0) * x).dtype is burn.f32
    product = np.array([2.0, 3.0], np.float32) * x
    assert isinstance(product, Tensor)
    assert product.dtype is burn.f32
    assert product.tolist() == [2.0, 6.0]
    assert (x - np.array([[1.0], [2.0]])).tolist() == [[0.0, 1.0], [-1.0, 0.0]]


@pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu"), NdArray().autodiff()], ids=repr)
def test_dlpack_goes_both_ways(device):
    x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    there = torch.from_dlpack(x) if device.base is LibTorch("cpu") else torch.from_dlpack(x.numpy().copy())
    assert there.tolist() == x.tolist()
    assert np.from_dlpack(x).tolist() == x.tolist()
    back = Tensor.from_dlpack(torch.tensor([5.0, 6.0]), device)
    assert back.device is device
    assert back.tolist() == [5.0, 6.0]


def test_from_dlpack_copies_unless_told_not_to():
    source = np.ones(3, np.float32)
    copied, shared = Tensor.from_dlpack(source, NdArray()), Tensor.from_dlpack(source, NdArray(), copy=False)
    source[0] = 9.0
    assert copied.tolist() == [1.0, 1.0, 1.0]
    assert shared.tolist() == [9.0, 1.0, 1.0]


@EACH
def test_a_tensor_of_one_element_is_a_number(device):
    x = burn.tensor([2.5], device=device)
    assert x.item() == x.into_scalar() == float(x) == 2.5
    assert int(x) == 2
    assert bool(x)
    assert not bool(burn.tensor(0, device=device))
    assert [10, 20, 30][burn.tensor(1, device=device)] == 20
    assert math.floor(float(x)) == 2
    with pytest.raises(DataError, match=r"shape \(2,\) has 2 elements, not one"):
        burn.tensor([1.0, 2.0], device=device).item()
    with pytest.raises(ValueError, match=r"neither true nor false; use .any\(\) or .all\(\)"):
        bool(burn.tensor([1.0, 2.0], device=device))
    with pytest.raises(TypeError, match="only an int tensor"):
        [1, 2, 3][burn.tensor(1.0, device=device)]


@EACH
def test_len_and_iteration_go_along_the_first_dim(device):
    x = burn.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    with pytest.raises(ValueError, match="0-d tensor has no length"):
        len(burn.tensor(1.0, device=device))
    with pytest.raises(ValueError, match="0-d tensor cannot be iterated"):
        iter(burn.tensor(1.0, device=device))


@EACH
def test_equality_is_elementwise_and_hash_is_identity(device):
    x = burn.tensor([1.0, 2.0], device=device)
    assert (x == x).tolist() == [True, True]
    assert (x != 1.0).tolist() == [False, True]
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    assert hash(x) != hash(burn.tensor([1.0, 2.0], device=device))
    assert {x: 1}[x] == 1


@EACH
def test_pickles_keep_values_dtype_and_device(device):
    x = burn.tensor([[1.5, -2.0]], device=device)
    back = pickle.loads(pickle.dumps(x))
    assert back.device is device
    assert back.dtype is x.dtype
    assert back.tolist() == x.tolist()
    assert copy.deepcopy(x) is x


def test_reads_can_be_awaited():
    x = burn.tensor([1.0], device=NdArray())

    async def read():
        return (await x.to_data_async()).to_vec(), await x.into_scalar_async()

    assert asyncio.run(read()) == ([1.0], 1.0)


@EACH
def test_the_primitive_goes_out_and_in(device):
    x = burn.tensor([1.0, 2.0], device=device)
    back = Tensor.from_primitive(x.into_primitive(), device)
    assert back.tolist() == x.tolist()
    assert back.dtype is x.dtype


def test_a_tensor_made_by_its_class_says_how_to_make_one():
    with pytest.raises(TypeError, match=r"burn.tensor\(data, device=\.\.\.\)"):
        Tensor([1.0, 2.0])


@EACH
def test_python_operators_follow_python(device):
    x = burn.tensor([7, -7], device=device)
    assert (x / 2).tolist() == [3.5, -3.5]
    assert (x // 2).tolist() == [3, -4]
    assert x.div(2).tolist() == [3, -3]
    assert (x % 3).tolist() == [1, 2]
    assert (2 - x).tolist() == [-5, 9]
    assert (2 ** burn.tensor([1.0, 3.0], device=device)).tolist() == [2.0, 8.0]
    assert (1.0 / burn.tensor([2.0, 4.0], device=device)).tolist() == [0.5, 0.25]
    assert (-x).tolist() == [-7, 7]
    assert abs(x).tolist() == [7, 7]
    assert (+x).tolist() == [7, -7]
    assert (~x).tolist() == [-8, 6]
    assert (x & 3).tolist() == [3, 1]
    assert (x | 8).tolist() == [15, -7]
    assert (x ^ 1).tolist() == [6, -8]
    assert (x << 1).tolist() == [14, -14]
    assert (x >> 1).tolist() == [3, -4]
    assert round(burn.tensor([1.26], device=device), 1).item() == pytest.approx(1.3)
    truth = burn.tensor([True, False], device=device)
    assert (truth & truth.bool_not()).tolist() == [False, False]
    assert (truth | truth.bool_not()).tolist() == [True, True]
    assert (truth ^ True).tolist() == [False, True]
    assert (~truth).tolist() == [False, True]
