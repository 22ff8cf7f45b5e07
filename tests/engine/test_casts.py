"""Casts inside of loops: a cast to half precision rounds, also where its result never goes to memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Cpu, NdArray

VALUES = np.array([1.001, -2.0003, 3.14159, 65519.0, 1e-7, 0.0, -0.0, np.inf, np.nan], np.float32)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_a_cast_to_halves_and_back_rounds(name: str) -> None:
    def rounded(device: Any) -> Any:
        return (burn.tensor(VALUES, device=device) * 1.5).cast(name).cast("f32").numpy()

    np.testing.assert_array_equal(rounded(Cpu()), rounded(NdArray()))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_what_is_read_and_what_is_computed_on_are_the_same_numbers(name: str) -> None:
    half = burn.tensor(VALUES, device=Cpu()).cast(name)
    again = half.cast("f32") + 0.0
    np.testing.assert_array_equal(again.numpy(), half.numpy().astype(np.float32) + np.float32(0))


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_integers_are_rounded_too(name: str) -> None:
    values = np.array([2049, 4097, -70001, 3], np.int32)

    def rounded(device: Any) -> Any:
        return burn.tensor(values, device=device).cast(name).cast("f32").numpy()

    np.testing.assert_array_equal(rounded(Cpu()), rounded(NdArray()))
