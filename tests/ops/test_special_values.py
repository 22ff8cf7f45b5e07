"""NaN, infinities, signed zeros, denormals and extremes, against PyTorch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import burn
import tests.ops.samples  # noqa: F401
from burn import LibTorch, NdArray
from tests.ops.sample import ORACLES
from tests.stacks import STACKS

VALUES = [
    float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-45, -1e-45, 1e-38,
    3.4e38, -3.4e38, 88.8, -104.0, 1e-8, 1e8,
]  # fmt: skip
FUNCTIONS = [
    "exp", "log", "log1p", "sqrt", "recip", "erf", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
    "asinh", "acosh", "atanh", "abs", "neg", "sign", "floor", "ceil", "round", "trunc", "square", "is_nan", "is_inf",
    "is_finite",
]  # fmt: skip
PAIRS = [
    "add", "sub", "mul", "true_div", "floor_div", "rem", "fmod", "pow", "atan2", "hypot", "max_pair", "min_pair",
    "equal", "not_equal", "greater", "greater_equal", "lower", "lower_equal",
]  # fmt: skip


def same(mine, theirs, what):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    np.testing.assert_allclose(mine, theirs, rtol=3e-6, atol=1e-44, equal_nan=True, err_msg=what)


@pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_special_values_match_pytorch(name, device):
    x = burn.tensor(VALUES, device=device)
    theirs = ORACLES[name](torch.tensor(VALUES))
    if name in ("sin", "cos", "tan"):  # reduction of huge arguments is not part of the promise
        keep = np.abs(np.array(VALUES)) < 1e7
        keep |= ~np.isfinite(VALUES)
        same(np.asarray(getattr(x, name)())[keep], np.asarray(theirs)[keep], name)
    else:
        same(getattr(x, name)(), theirs, name)


@pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_special_values_match_pytorch(name, device):
    pairs = list(itertools.product(VALUES, VALUES))
    if name in (
        "floor_div",
        "rem",
        "fmod",
    ):  # where the quotient overflows, PyTorch's vector code answers NaN and its scalar code does not
        pairs = [(a, b) for a, b in pairs if not (b != 0 and math.isfinite(a) and abs(a) > abs(b) * 1e30)]
    left, right = (list(side) for side in zip(*pairs, strict=True))
    x, y = burn.tensor(left, device=device), burn.tensor(right, device=device)
    method = {"true_div": "__truediv__", "floor_div": "__floordiv__", "pow": "powf"}.get(name, name)
    theirs = ORACLES[name](torch.tensor(left), torch.tensor(right))
    same(getattr(x, method)(y), theirs, name)


@pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_floored_quotients_and_remainders_fit_together(dtype, device):
    """1.0 // 0.1 is 9 with 0.1 left, though 1.0 / 0.1 rounds to 10."""
    x = np.repeat(np.arange(-40, 41).astype(dtype) / dtype(4), 6)
    y = np.tile(np.array([0.1, 0.3, 0.7, -0.1, -0.3, -1.1], dtype), 81)
    mine = burn.tensor(x, device=device) // burn.tensor(y, device=device)
    np.testing.assert_array_equal(mine.numpy(), [float(a) // float(b) for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(mine.numpy(), torch.floor_divide(torch.tensor(x), torch.tensor(y)))


@pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu")], ids=repr)
def test_signed_zeros_keep_their_sign(device):
    x = burn.tensor([0.0, -0.0], device=device)
    for name in ("neg", "sqrt", "sin", "tanh", "floor", "round"):
        theirs = ORACLES[name](torch.tensor([0.0, -0.0])).numpy()
        assert np.signbit(np.asarray(getattr(x, name)())).tolist() == np.signbit(theirs).tolist(), name


@pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu")], ids=repr)
def test_integer_extremes_wrap(device):
    for dtype in ("i8", "i16", "i32", "i64", "u8"):
        limits = burn.dtype.dtype(dtype).iinfo()
        x = burn.tensor(np.array([limits.max, limits.min], burn.dtype.dtype(dtype).numpy), device=device)
        assert (x + 1).tolist()[0] == limits.min
        assert (x - 1).tolist()[1] == limits.max
        assert (x * 2).dtype is x.dtype


@pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu")], ids=repr)
def test_nan_survives_clamping_and_choice(device):
    x = burn.tensor([float("nan"), 5.0, -5.0], device=device)
    assert np.isnan(x.clamp(-1.0, 1.0).tolist()[0])
    assert x.clamp(-1.0, 1.0).tolist()[1:] == [1.0, -1.0]
    assert np.isnan(x.max_pair(0.0).tolist()[0])
