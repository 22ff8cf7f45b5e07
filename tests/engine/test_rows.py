"""Loops with row reductions: what is computed once, and how long rows are shared among threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray, Tensor
from burn.cube.ir import walk
from burn.engine.target import Tiles
from burn.tensor import activation

DEVICE: Any = Cpu()
CHUNK = Tiles().chunk
LENGTHS = [4 * CHUNK, 4 * CHUNK + 1, 5 * CHUNK - 31, 7 * CHUNK + 13]


def tensor(values: Any) -> Tensor[Any]:
    return Tensor.from_data(values, DEVICE)


def drawn(*shape: int) -> Any:
    return np.random.default_rng(math.prod(shape)).standard_normal(shape).astype(np.float32)


def works() -> list[Any]:
    return DEVICE.plans.latest().works


@pytest.mark.parametrize("length", [2, 31, 128, 1000, 40_000])
def test_softmax_takes_one_exponential_for_each_element_of_a_row_that_fits(length):
    x = drawn(9, length) * 4
    got = np.asarray(activation.softmax(tensor(x), 1))
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(got, wide / wide.sum(1, keepdims=True), rtol=3e-6, atol=1e-9)
    counts = [sum(each.name == "exp" for each in walk(work.kernel.body)) for work in works()]
    assert sum(counts) == (2 if length == 40_000 else 1)


def test_values_kept_for_a_row_survive_results_written_over_operands():
    expected = drawn(50, 300)
    x = tensor(expected)
    for _ in range(3):
        x = activation.softmax(x * 3.0, 1) + (x * 3.0).exp().sum_dim(1).log()
        DEVICE.sync()
        wide = np.exp(3.0 * expected.astype(np.float64))
        expected = (wide / wide.sum(1, keepdims=True) + np.log(wide.sum(1, keepdims=True))).astype(np.float32)
        expected_here, expected = expected, expected / 40
        np.testing.assert_allclose(np.asarray(x), expected_here, rtol=1e-5)
        x = x / 40.0


@pytest.mark.parametrize("length", LENGTHS)
def test_long_rows_reduce_as_numpy_says(length):
    x, y = drawn(length), drawn(3, length)
    wide = x.astype(np.float64)
    a, b = tensor(x), tensor(y)
    found = {
        "sum": (a.sum(), wide.sum()),
        "mean of squares": ((a * a).mean(), (wide * wide).mean()),
        "greatest": (a.max(), wide.max()),
        "least": ((a * -2.0).min(), -2 * wide.max()),
        "rows": (b.sum_dim(1), y.astype(np.float64).sum(1, keepdims=True)),
        "variance": (b.var(1), y.astype(np.float64).var(1, ddof=1, keepdims=True)),
        "any": ((a > 3.0).any(), wide.max() > 3),
        "ints": (tensor(np.arange(length)).sum(), length * (length - 1) // 2),
        "softmax": (
            activation.softmax(b, 1),
            np.exp(y.astype(np.float64)) / np.exp(y.astype(np.float64)).sum(1)[:, None],
        ),
    }
    for name, (got, expected) in found.items():
        value = np.asarray(got, dtype=np.float64)
        np.testing.assert_allclose(value, np.reshape(expected, value.shape), rtol=3e-6, atol=3e-3, err_msg=name)


def test_a_long_row_may_be_a_view_or_be_made_in_the_loop():
    x = drawn(300, 400)
    a = tensor(x)
    for got, expected in [
        (a.transpose().exp().sum(), np.exp(x.astype(np.float64)).sum()),
        (a.slice([slice(3, 299), slice(1, 399)]).max(), x[3:299, 1:399].max()),
        ((a * a.sum_dim(1)).sum(), (x.astype(np.float64) * x.astype(np.float64).sum(1, keepdims=True)).sum()),
        (tensor(x[:1]).expand([300, 400]).sum(), 300 * x[:1].astype(np.float64).sum()),
    ]:
        np.testing.assert_allclose(np.asarray(got), [expected], rtol=1e-5)


def test_the_sum_of_everything_is_shared_among_threads_and_has_the_same_bits_for_any_number():
    x = tensor(drawn(1000, 1000))
    before = burn.get_num_threads()
    try:
        sums = []
        for threads in (1, 2, 3):
            burn.set_num_threads(threads)
            sums.append(np.asarray((x * x).sum()).tobytes())
            assert any(work.extent >= 8 for work in works())
    finally:
        burn.set_num_threads(before)
    assert len(set(sums)) == 1


def test_what_follows_a_long_reduction_still_shares_its_loop():
    x = tensor(drawn(1, 5 * CHUNK))
    got = np.asarray(x / (x * x).sum_dim(1).sqrt())
    assert [work.extent for work in works()] == [5, 1]
    np.testing.assert_allclose((got.astype(np.float64) ** 2).sum(), 1.0, rtol=1e-5)


def test_rows_of_one_shape_but_different_lengths_are_not_mixed_up():
    """A number per row of dim 2 must not join a loop whose rows are dims 1 and 2."""
    x = np.random.default_rng(3).normal(size=(2, 4, 5)).astype(np.float32)
    found = {}
    for device in (NdArray(), Cpu()):
        t = Tensor.from_data(x, device)
        factor = Tensor.from_data(np.arange(4, dtype=np.float32), device).reshape([1, 4, 1]) * 2.0 + 1.0
        one, other = t * 1.5, t * 2.5
        parts = [(one.sum_dim(2) * factor).sum_dim(1), one.sum_dims([1, 2])]
        parts += [(other.sum_dim(2) * factor).sum_dim(1), other.sum_dims([1, 2])]
        found[device] = [part.reshape([2]).numpy() for part in parts]
    for mine, expected in zip(found[Cpu()], found[NdArray()], strict=True):
        assert np.allclose(mine, expected, rtol=1e-5)
