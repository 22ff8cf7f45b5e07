"""The oracle of byte products gives the integers that 64 bits give, whatever the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn_import.functions import quantized
from tests.tensor.one_node import run

KINDS: list[tuple[Any, Any]] = [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)]


def extremes(dtype: Any, *shape: int, seed: int) -> Any:
    """Bytes of full range, most of them its ends: sums of a few leave 16 bits."""
    random, limits = np.random.default_rng(seed), np.iinfo(dtype)
    ends = random.choice(np.array([limits.min, limits.max, limits.max]), shape)
    return np.where(random.random(shape) < 0.8, ends, random.integers(limits.min, limits.max + 1, shape)).astype(dtype)


@pytest.mark.parametrize(("left", "right"), KINDS)
def test_products_of_any_bytes_are_those_of_64_bits(left: Any, right: Any) -> None:
    x, y = extremes(left, 5, 70, seed=0), extremes(right, 70, 9, seed=1)
    x_zero, y_zero = (extremes(each, seed=seed) for seed, each in ((2, left), (3, right)))
    expected = (x.astype(np.int64) - int(x_zero)) @ (y.astype(np.int64) - int(y_zero))
    (theirs,) = run("MatMulInteger", [x, y, x_zero, y_zero])
    np.testing.assert_array_equal(theirs, expected)
    for device in (burn.NdArray(), burn.Cpu()):
        mine = quantized.matmul_integer(*(burn.tensor(each, device=device) for each in (x, y, x_zero, y_zero)))
        np.testing.assert_array_equal(np.asarray(mine), expected)


@pytest.mark.parametrize(("left", "right"), KINDS)
def test_convolutions_of_any_bytes_are_those_of_64_bits(left: Any, right: Any) -> None:
    x, weight = extremes(left, 2, 7, 6, 5, seed=4), extremes(right, 3, 7, 3, 2, seed=5)
    x_zero = extremes(left, seed=6)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64) - int(x_zero), (3, 2), (2, 3))
    expected = np.einsum("bchwij,ocij->bohw", windows, weight.astype(np.int64))
    (theirs,) = run("ConvInteger", [x, weight, x_zero])
    np.testing.assert_array_equal(theirs, expected)
    for device in (burn.NdArray(), burn.Cpu()):
        mine = quantized.conv_integer(*(burn.tensor(each, device=device) for each in (x, weight, x_zero)))
        np.testing.assert_array_equal(np.asarray(mine), expected)
