"""Tolerances: the presets, the builders and what counts as close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.dtype import bf16, f16, f32, f64, i32
from burn.errors import ArgumentError
from burn.tensor.tolerance import Tolerance


def test_the_presets_have_their_documented_bounds() -> None:
    assert Tolerance().bounds() == (0.005, 1e-5)
    assert Tolerance.balanced() == Tolerance.default() == Tolerance()
    assert Tolerance.permissive().bounds() == (0.01, 0.01)
    assert Tolerance.strict().bounds(f32) == (0.0, 64 * float(np.finfo(np.float32).tiny))
    assert Tolerance.strict().bounds(f64) == (0.0, 64 * float(np.finfo(np.float64).tiny))
    assert Tolerance.strict().bounds(i32) == (0.0, 0.0)


def test_close_means_below_the_larger_of_the_two_bounds() -> None:
    tolerance = Tolerance.rel_abs(0.125, 0.5)
    assert tolerance.approx_eq(1.0, 1.25)
    assert not tolerance.approx_eq(1.0, 1.5)  # exactly the bound is not below it
    assert tolerance.approx_eq(100.0, 112.0)  # relative to the larger one: 14
    assert not tolerance.approx_eq(100.0, 115.0)


def test_equal_numbers_are_close_under_every_tolerance() -> None:
    assert Tolerance.relative(0.0).approx_eq(0.25, 0.25)
    assert Tolerance.strict().approx_eq(math.inf, math.inf)


def test_nan_and_infinity_are_close_to_nothing_else() -> None:
    tolerance = Tolerance.relative(1.0)
    assert not tolerance.approx_eq(math.nan, math.nan)
    assert not tolerance.approx_eq(math.inf, 1e300)
    assert not tolerance.approx_eq(math.inf, -math.inf)


def test_bounds_of_one_precision_leave_the_others_alone() -> None:
    tolerance = (
        Tolerance.rel_abs(0.1, 0.2).set_half_relative(0.3).set_half_absolute(0.4)
        .set_single_relative(0.5).set_double_absolute(0.6)
    )  # fmt: skip
    assert tolerance.bounds(f16) == tolerance.bounds(bf16) == (0.3, 0.4)
    assert tolerance.bounds(f32) == (0.5, 0.2)
    assert tolerance.bounds(f64) == (0.1, 0.6)
    assert tolerance.bounds(i32) == (0.1, 0.2)
    assert tolerance.set_relative(0.7).set_absolute(0.8).bounds(i32) == (0.7, 0.8)
    assert Tolerance().set_single_absolute(0.9).set_double_relative(0.25).bounds(f64) == (0.25, 1e-5)


def test_a_builder_returns_a_changed_copy() -> None:
    tolerance = Tolerance()
    assert tolerance.set_relative(0.5) != tolerance
    assert tolerance == Tolerance.balanced()


def test_a_number_stands_for_both_bounds() -> None:
    assert Tolerance.of(1e-3) == Tolerance.rel_abs(1e-3, 1e-3)
    assert Tolerance.of(None) == Tolerance()
    assert Tolerance.of(np.float32(0.5)).bounds() == (0.5, 0.5)


def test_senseless_bounds_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"relative bound lies between 0 and 1, got 1\.5"):
        Tolerance.relative(1.5)
    with pytest.raises(ArgumentError, match="absolute bound is 0 or more and finite, got -1"):
        Tolerance.absolute(-1)
    with pytest.raises(ArgumentError, match="relative bound"):
        Tolerance().set_half_relative(math.nan)
    with pytest.raises(ArgumentError, match="neither a Tolerance nor a number"):
        Tolerance.of("tight")  # type: ignore[arg-type]


@given(st.floats(), st.floats(), st.floats(0, 1), st.floats(0, 1e6))
def test_closeness_is_symmetric(x: float, y: float, relative: float, absolute: float) -> None:
    tolerance = Tolerance.rel_abs(relative, absolute)
    assert tolerance.approx_eq(x, y) == tolerance.approx_eq(y, x)
