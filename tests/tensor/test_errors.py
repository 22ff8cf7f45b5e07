"""Bad input: refused before anything runs, with the operation, the values and what to write."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn import ArgumentError, BurnError, DeviceError, DTypeError, IndexingError, LibTorch, NdArray, ShapeError, Tensor
from burn.errors import raise_faults
from tests.stacks import STACKS

EACH = pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)


@EACH
def test_shapes_that_do_not_broadcast_are_both_named(device):
    with pytest.raises(ShapeError, match=r"add: shapes \(2, 3\) and \(2, 4\) do not broadcast: 3 != 4 at dim -1"):
        Tensor.ones([2, 3], device) + Tensor.ones([2, 4], device)


@EACH
def test_matmul_names_both_shapes_when_they_disagree(device):
    with pytest.raises(ShapeError, match=r"matmul: inner dimensions differ: \(2, 3\) @ \(4, 5\): 3 != 4"):
        Tensor.ones([2, 3], device) @ Tensor.ones([4, 5], device)


def test_tensors_on_other_hardware_say_how_to_move():
    with pytest.raises(
        DeviceError, match=r"add: operands are on NdArray\(\) and LibTorch\('cpu'\).*\.to\(NdArray\(\)\)"
    ):
        Tensor.ones([2], NdArray()) + Tensor.ones([2], LibTorch("cpu"))


@EACH
@pytest.mark.parametrize("dim", [3, -4, 100])
def test_a_dim_out_of_range_tells_the_rank(device, dim):
    with pytest.raises(ShapeError, match=rf"dim {dim} is out of range for a tensor of rank 3: .*between -3 and 2"):
        Tensor.ones([2, 3, 4], device).sum_dim(dim)


@EACH
def test_a_dim_that_is_no_int_is_refused(device):
    with pytest.raises(ArgumentError, match="dim must be an int, got '1'"):
        Tensor.ones([2, 3], device).argmax("1")


@EACH
@pytest.mark.parametrize("index", [5, -1, 1 << 40])
def test_index_values_out_of_range_name_the_dim_and_its_size(device, index):
    x = Tensor.ones([2, 5], device)
    bad = burn.tensor([0, index], device=device)
    with pytest.raises(IndexingError, match=rf"select: index {index} is out of range for dim 1 of size 5"):
        x.select(1, bad).to_data()  # a device that records tells at the first read
    with pytest.raises(IndexingError, match=rf"index {index} is out of range"):
        x.gather(1, bad.reshape([1, 2]).expand([2, 2])).to_data()


@EACH
def test_nan_and_infinity_become_the_ends_of_the_range(device):
    x = burn.tensor([float("nan"), float("inf"), float("-inf"), 300.7, -1.5], device=device)
    assert x.cast("i8").tolist() == [0, 127, -128, 127, -1]
    assert x.cast("u8").tolist() == [0, 255, 0, 255, 0]
    assert x.int().tolist() == [0, 2**63 - 1, -(2**63), 300, -1]


@EACH
@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_integer_division_by_zero_gives_zero(device, dtype):
    x, zero = burn.tensor([7, 0], device=device).cast(dtype), burn.tensor([0, 0], device=device).cast(dtype)
    for result in (x.div(zero), x // zero, x % zero, x.fmod(zero), x.div(0), x % 0):
        assert result.tolist() == [0, 0]
        assert result.dtype is x.dtype


@EACH
@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
def test_the_smallest_integer_over_minus_one_wraps(device, dtype):
    smallest = burn.dtype.dtype(dtype).iinfo().min
    x = burn.tensor(
        np.array([smallest], dtype={"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}[dtype]), device=device
    )
    minus = burn.tensor([-1], device=device).cast(dtype)
    for result in (x.div(minus), x // minus, x.div(-1), abs(x), -x):
        assert result.tolist() == [smallest]
    for result in (x % minus, x.fmod(minus), x % -1):
        assert result.tolist() == [0]


@EACH
def test_shifts_beyond_the_width_are_defined(device):
    x = burn.tensor([1, -8], device=device).cast("i32")
    assert (x << 32).tolist() == [0, 0]
    assert (x >> 40).tolist() == [0, -1]
    assert (burn.tensor([200], device=device).cast("u8") >> 9).tolist() == [0]


@EACH
def test_empty_reductions_are_defined_or_refused(device):
    x = Tensor.zeros([0, 3], device)
    assert x.sum().tolist() == [0.0]
    assert x.prod().tolist() == [1.0]
    assert np.isnan(x.mean().item())
    assert x.sum_dim(0).tolist() == [[0.0, 0.0, 0.0]]
    for refused in (lambda: x.max(), lambda: x.min_dim(0), lambda: x.argmax(0)):
        with pytest.raises(ShapeError, match="empty|size 0"):
            refused()


@EACH
def test_zero_size_tensors_pass_through_everything(device):
    x = Tensor.zeros([0, 3], device)
    assert (x + 1.0).exp().shape == (0, 3)
    assert x.transpose().shape == (3, 0)
    assert x.matmul(Tensor.ones([3, 2], device)).shape == (0, 2)
    assert Tensor.cat([x, Tensor.ones([2, 3], device)], 0).shape == (2, 3)
    assert str(x).startswith("Tensor {")


@EACH
@pytest.mark.parametrize("shape", [[1 << 40, 1 << 40], [1 << 62], [10**6] * 4])
def test_an_enormous_shape_is_refused_before_memory_is_asked_for(device, shape):
    for make in (Tensor.zeros, Tensor.empty, lambda s, d: Tensor.full(s, 1.0, d)):
        with pytest.raises(ShapeError, match="bytes, more than can exist"):
            make(shape, device)
    assert Tensor.ones([2], device).sum().item() == 2.0


@EACH
def test_memory_the_machine_lacks_is_an_error_that_tells_the_size(device):
    with pytest.raises(MemoryError, match=r"full: shape \(70368744177664,\) of f32 needs 281,474,976,710,656 bytes"):
        Tensor.zeros([1 << 46], device).to_data()
    assert Tensor.ones([2], device).sum().item() == 2.0


@EACH
def test_negative_sizes_and_words_are_no_shape(device):
    with pytest.raises(ShapeError, match="sizes must be 0 or more"):
        Tensor.zeros([2, -1], device)
    with pytest.raises(ArgumentError, match="shape must be an int or a sequence of ints, got 'two'"):
        Tensor.zeros("two", device)


@EACH
def test_calls_with_the_wrong_arguments_list_every_fault(device):
    x = Tensor.ones([2, 3], device)
    with pytest.raises(TypeError, match="sum_dims: .*unknown argument 'axis'.*missing dims"):
        x.sum_dims(axis=1)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        x.sum_dims(0, 1)


@EACH
def test_a_bool_tensor_is_no_number(device):
    with pytest.raises(DTypeError, match=r"sub: needs numbers, got bool; convert it with .int\(\) or .float\(\)"):
        burn.tensor([True], device=device) - burn.tensor([True], device=device)


def test_errors_are_also_the_builtin_ones():
    for error, builtin in [
        (ShapeError, ValueError), (DTypeError, TypeError), (DeviceError, RuntimeError), (IndexingError, IndexError),
        (ArgumentError, ValueError), (burn.AutodiffError, RuntimeError), (burn.MissingOperation, NotImplementedError),
        (burn.DataError, ValueError),
    ]:  # fmt: skip
        assert issubclass(error, builtin)
        assert issubclass(error, BurnError)


def test_several_faults_come_in_one_numbered_error():
    raise_faults("load", [])
    with pytest.raises(ArgumentError, match=r"load: only one"):
        raise_faults("load", ["only one"])
    with pytest.raises(ShapeError, match=r"load: 2 faults\n  1\. first\n  2\. second"):
        raise_faults("load", ["first", "second"], ShapeError)
