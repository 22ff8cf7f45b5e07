"""Lane axes whose extent is part of the kernel: vectors of every width that fits, and nothing beyond the extent."""

from __future__ import annotations

import numpy as np
import pytest

from burn.cube import KernelBuilder
from burn.dtype import f32, f64
from tests.kernels.running import run_everywhere
from tests.kernels.values import random


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("extent", [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 27, 32, 40, 64, 100])
def test_a_known_extent_touches_exactly_its_elements(extent, dtype):
    b = KernelBuilder()
    x, out = b.buffer(dtype), b.buffer(dtype, read=True, write=True)
    with b.lane(extent) as i:
        b.store(out, i + 2, b.load(x, i) * 2.0 + 1.0)
    values = random(dtype, max(extent, 1))
    (got,) = run_everywhere(b.finish(), [values], [(extent + 5, dtype)], [])
    np.testing.assert_array_equal(got[2 : extent + 2], values[:extent] * 2 + 1)
    assert not got[:2].any()
    assert not got[extent + 2 :].any()


@pytest.mark.parametrize("extent", [3, 8, 24, 35])
def test_values_are_carried_by_a_loop_inside_a_known_extent(extent):
    b = KernelBuilder()
    x, weight, out = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
    rows, depth = b.size(), b.size()
    with b.grid(rows) as i, b.lane(extent) as j:
        total = b.loop(
            depth,
            b.const(f32, 0.0),
            lambda k, held: b.fma(b.load(x, i * depth + k), b.load(weight, k * extent + j), held),
        )
        b.store(out, i * extent + j, total)
    kernel = b.finish()
    x_values, weights = random(f32, 5 * 7), random(f32, 7 * extent)
    (got,) = run_everywhere(kernel, [x_values, weights], [(5 * extent, f32)], [5, 7], last=5)
    correct = x_values.reshape(5, 7).astype(np.float64) @ weights.reshape(7, extent)
    scale = np.abs(x_values.reshape(5, 7)).astype(np.float64) @ np.abs(weights.reshape(7, extent))
    assert (np.abs(got.reshape(5, extent) - correct) <= 1e-6 * scale).all()
