"""Stores to neighbouring places, lanes further apart: squares that a target may turn around, to the same effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn.cube import KernelBuilder
from burn.cube.ir import Kernel
from burn.cube.targets.llvm import emit_llvm
from burn.dtype import DType, bool_, f16, f32, f64, u8
from tests.kernels.running import run_everywhere
from tests.kernels.values import random


def turning(dtype: DType, count: int, stride: int) -> Kernel:
    """Reads `count` rows and writes them as columns of rows `stride` apart."""
    b = KernelBuilder()
    x, out = b.buffer(dtype), b.buffer(dtype, read=True, write=True)
    length = b.size()
    with b.lane(length) as i:
        values = [b.load(x, length * row + i, raw=True) for row in range(count)]
        place = i * stride + 1
        for column, value in enumerate(values):
            b.store(out, place + column if column else place, value)
    return b.finish()


@pytest.mark.parametrize(
    ("dtype", "count"), [(f32, 4), (f32, 8), (f32, 16), (f64, 8), (f16, 16), (u8, 16), (bool_, 16)], ids=str
)
def test_rows_become_columns_and_nothing_else_is_touched(dtype: DType, count: int) -> None:
    for length, stride in [(35, 48), (64, 17)]:
        values = random(dtype, count * length)
        kernel = turning(dtype, count, stride)
        (got,) = run_everywhere(kernel, [values], [(stride * length + 1, dtype)], [length])
        made: Any = got[1:].reshape(length, stride)
        np.testing.assert_array_equal(made[:, :count].T.reshape(-1), values)
        assert not made[:, count:].any()


def test_a_square_is_turned_in_registers() -> None:
    text = emit_llvm(turning(f32, 16, 48), "x86-64-v4")
    assert text.count("shufflevector <16 x float>") == 64
    assert "scatter" in text  # what is left over, lane by lane
    assert emit_llvm(turning(f32, 8, 48), "x86-64-v3").count("shufflevector <8 x float>") == 24
