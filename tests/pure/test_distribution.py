"""Distributions are checked values, and their numbers are the documented stream."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.device import Generator
from burn.dtype import DType, bf16, bool_, f16, f32, f64, i32, u8
from burn.errors import ArgumentError, DTypeError
from burn.ops.philox import encrypt, uniform, words
from burn.tensor.data import TensorData
from burn.tensor.distribution import Distribution
from burn.tensor.philox import draw


@pytest.mark.parametrize(
    "distribution",
    [Distribution.Default, Distribution.Bernoulli(0.5), Distribution.Uniform(-1, 2), Distribution.Normal(0.0, 1.5)],
    ids=repr,
)
def test_the_repr_is_the_source_and_values_compare(distribution: Distribution) -> None:
    assert eval(repr(distribution), {"Distribution": Distribution}) == distribution
    assert pickle.loads(pickle.dumps(distribution)) == distribution
    assert len({distribution, eval(repr(distribution), {"Distribution": Distribution})}) == 1
    assert isinstance(distribution, Distribution)


def test_senseless_parameters_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"Bernoulli: a probability lies between 0 and 1, got 1\.5"):
        Distribution.Bernoulli(1.5)
    with pytest.raises(ArgumentError, match=r"Uniform: low is above high: 2\.0 > 1\.0; exchange them"):
        Distribution.Uniform(2, 1)
    with pytest.raises(ArgumentError, match=r"Normal: a standard deviation is 0 or more, got -1\.0"):
        Distribution.Normal(0, -1)
    with pytest.raises(ArgumentError, match="Normal: mean must be finite, got nan"):
        Distribution.Normal(math.nan, 1)
    with pytest.raises(ArgumentError, match="Uniform: high must be a number, got 'x'"):
        Distribution.Uniform(0, "x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"Distribution: choose one of Distribution\.Default"):
        Distribution()


def test_a_distribution_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Distribution.Uniform(0, 1).low = 3.0  # type: ignore[misc]


def test_philox_gives_the_published_words() -> None:
    assert [f"{word:08x}" for word in words(0, 0, 4)] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    ones = np.full((4, 1), 0xFFFFFFFF, np.uint64)
    block = encrypt(2**64 - 1, (ones[0], ones[1], ones[2], ones[3]))
    assert [f"{word[0]:08x}" for word in block] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 3), st.integers(1, 20))
def test_a_part_of_a_draw_equals_the_same_part_drawn_alone(seed: int, offset: int, skip: int, count: int) -> None:
    whole = words(seed, offset, 4 * skip + count)
    np.testing.assert_array_equal(whole[4 * skip :], words(seed, offset + skip, count))


def test_a_long_draw_is_one_stream() -> None:
    whole = words(3, 2**32 - 5000, 100_003)
    for start in (0, 8191, 8192, 8193, 24_999):
        part = whole[4 * start : 4 * start + 9]
        np.testing.assert_array_equal(part, words(3, 2**32 - 5000 + start, len(part)))


def test_uniform_f32_takes_the_upper_24_bits() -> None:
    np.testing.assert_array_equal(uniform(9, 5, 6), [float(word >> 8) * 2.0**-24 for word in words(9, 5, 6).tolist()])


@pytest.mark.parametrize("dtype", [f64, f32, f16, bf16], ids=repr)
def test_uniform_numbers_stay_below_the_upper_bound(dtype: DType) -> None:
    values = draw(Distribution.Uniform(2.0, 3.0), 40_000, 1, 0, dtype).astype(np.float64)
    assert values.min() >= 2.0
    assert values.max() < 3.0
    assert abs(values.mean() - 2.5) < 0.01
    unit = draw(Distribution.Default, 40_000, 1, 0, dtype).astype(np.float64)
    assert unit.min() >= 0.0
    assert unit.max() < 1.0


def test_bernoulli_counts_its_hits() -> None:
    assert draw(Distribution.Bernoulli(1.0), 100, 1, 0).tolist() == [1.0] * 100
    assert draw(Distribution.Bernoulli(0.0), 100, 1, 0, bool_).tolist() == [False] * 100
    assert abs(draw(Distribution.Bernoulli(0.3), 20_000, 1, 0).mean() - 0.3) < 0.02


def test_normal_has_its_mean_and_deviation() -> None:
    for dtype in (f32, f64):
        values = draw(Distribution.Normal(1.0, 2.0), 20_001, 4, 0, dtype)
        assert values.shape == (20_001,)
        assert abs(float(values.mean()) - 1.0) < 0.05
        assert abs(float(values.std()) - 2.0) < 0.05
    assert draw(Distribution.Normal(3.0, 0.0), 3, 4, 0).tolist() == [3.0] * 3


def test_ints_are_converted_from_the_drawn_number() -> None:
    values = draw(Distribution.Uniform(0, 10), 5000, 2, 0, i32)
    assert values.dtype == np.int32
    assert set(values.tolist()) == set(range(10))
    assert draw(Distribution.Default, 10, 2, 0, u8).tolist() == [0] * 10


def test_one_seed_gives_one_stream_and_a_generator_goes_on() -> None:
    first = TensorData.random([6], Distribution.Default, 42)
    assert first == TensorData.random([6], Distribution.Default, Generator(42))
    generator = Generator(42)
    assert TensorData.random([2, 3], Distribution.Default, generator).to_vec() == first.to_vec()
    assert generator.state() == (42, 2)
    assert TensorData.random([6], Distribution.Default, generator) != first
    assert TensorData.random([3], Distribution.Default).num_elements() == 3


def test_an_empty_uniform_range_gives_its_bound() -> None:
    assert TensorData.random([4], Distribution.Uniform(2, 2), 1).to_vec() == [2.0] * 4


def test_a_range_that_half_precision_cannot_divide_gives_its_lower_end() -> None:
    assert set(draw(Distribution.Uniform(1.0, 1.0001), 100, 1, 0, f16).tolist()) == {1.0}


def test_what_is_no_distribution_or_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ArgumentError, match="random: 'normal' is no Distribution"):
        TensorData.random([1], "normal")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="random: i4 only stores values"):
        TensorData.random([1], Distribution.Default, 1, "i4")
