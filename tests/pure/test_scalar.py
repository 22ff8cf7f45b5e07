"""Scalars: arithmetic is recorded and done again with other arguments; turning one into a number is a read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.scalar import Scalar

numbers = st.floats(0.1, 10.0)


@given(numbers, numbers, numbers, numbers)
def test_an_expression_gives_for_other_arguments_what_python_gives(a, b, c, d):
    def expression(x, y):
        return -((2.0 * x + y / 3.0 - 1.0) ** 2.0) / (y + 1.0) + 1.0 / x - (x - y)

    recorded = expression(Scalar(a, 0), Scalar(b, 1))
    assert recorded.value == expression(a, b)
    assert recorded.evaluate([c, d]) == expression(c, d)


def test_functions_of_a_scalar():
    x = Scalar(4.0, 0)
    for recorded, function in (
        (x.sqrt(), math.sqrt),
        (x.exp(), math.exp),
        (x.log(), math.log),
        (x.pow(3.0), lambda v: v**3.0),
    ):
        assert recorded.value == function(4.0)
        assert recorded.evaluate([2.0]) == function(2.0)


def test_division_by_zero_is_infinite_or_nan_as_on_a_device():
    assert (Scalar(1.0, 0) / 0.0).value == math.inf
    assert (-1.0 / Scalar(0.0, 0)).value == -math.inf
    assert math.isnan((Scalar(0.0, 0) / 0.0).value)


@pytest.mark.parametrize(
    "read", [float, int, bool, lambda s: s > 1, lambda s: s <= 1, lambda s: s == 1.0, lambda s: math.sin(s)]
)
def test_every_way_to_a_python_number_is_noticed(read):
    noticed = []
    read(Scalar(1.5, 0, note_read=lambda: noticed.append(1)) * 2.0)
    assert noticed


def test_equal_computations_have_equal_identities():
    def make(value):
        return (Scalar(value, 0) * 2.0 + Scalar(value, 1)).sqrt()

    assert make(1.0).identity() == make(5.0).identity()
    assert make(1.0).identity() != (Scalar(1.0, 0) * 3.0).identity()
