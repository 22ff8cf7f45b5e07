"""Promotion: PyTorch's table, NumPy's where PyTorch has none, and weak Python numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import burn
from burn import DTypeError, LibTorch, NdArray
from burn.dtype import ARITHMETIC, promote
from burn.dtype import dtype as as_dtype

TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
UNSIGNED = ("u16", "u32", "u64")
EACH = pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu")], ids=repr)


@pytest.mark.parametrize(("x", "y"), list(itertools.product(TORCH, TORCH)))
def test_two_tensors_promote_as_in_pytorch(x, y):
    assert TORCH[promote(as_dtype(x), as_dtype(y)).name] is torch.promote_types(TORCH[x], TORCH[y])


@pytest.mark.parametrize(("x", "y"), [(x.name, y) for x in ARITHMETIC for y in UNSIGNED if x.is_int])
def test_unsigned_integers_promote_as_in_numpy(x, y):
    left, right = as_dtype(x), as_dtype(y)
    expected = np.promote_types(left.numpy, right.numpy)
    if expected.kind == "f":
        with pytest.raises(DTypeError, match="u64 and .* have no common integer dtype; cast one"):
            promote(left, right)
    else:
        assert promote(left, right).numpy == expected


@EACH
def test_operations_give_the_promoted_dtype(device):
    for x, y in itertools.product(TORCH, TORCH):
        left, right = burn.tensor([1], device=device).cast(x), burn.tensor([1], device=device).cast(y)
        assert (left + right).dtype is promote(left.dtype, right.dtype)
        assert (left == right).dtype is burn.bool_


@EACH
def test_python_numbers_are_weak(device):
    whole, single, half = (burn.tensor([1], device=device).cast(name) for name in ("i32", "f32", "f16"))
    assert (whole + 1).dtype is burn.i32
    assert (whole + 1.5).dtype is burn.f32
    assert (single + 1).dtype is burn.f32
    assert (half * 1.5).dtype is burn.f16
    assert (burn.tensor([True], device=device) + 1).dtype is burn.i64
    assert (burn.tensor([True], device=device) + 1.0).dtype is burn.f32
    assert (whole + np.float64(1.5)).dtype is burn.f32


@EACH
def test_tensors_of_rank_zero_are_strong(device):
    assert (burn.tensor([1.0], device=device) + burn.tensor(1.0, device=device, dtype="f64")).dtype is burn.f64


@EACH
def test_integers_divide_to_the_float_dtype_of_the_device(device):
    assert (burn.tensor([1], device=device) / burn.tensor([2], device=device)).dtype is burn.f32
    assert burn.tensor([1], device=device).exp().dtype is burn.f32


@EACH
def test_a_number_outside_the_dtype_wraps_in_arithmetic_and_compares_exactly(device):
    x = burn.tensor([100], device=device).cast("u8")
    assert (x + 300).tolist() == [144]
    assert (x < 300).tolist() == [True]
    assert (x > -1).tolist() == [True]
    assert (burn.tensor([5], device=device).cast("i8") == 261).tolist() == [False]


@EACH
def test_half_precision_and_a_number_round_once(device):
    x = burn.tensor([0.5], device=device).cast("f16")
    assert (x * 1e5).tolist() == [49984.0]  # 50000 to the nearest f16; 1e5 alone would be infinite
    assert (burn.tensor([1.0], device=device).cast("bf16") + 1.0).dtype is burn.bf16


def test_storage_dtypes_do_not_mix():
    with pytest.raises(DTypeError, match="f8e4m3fn and f32 do not mix: cast one"):
        promote(as_dtype("f8e4m3fn"), as_dtype("f32"))
