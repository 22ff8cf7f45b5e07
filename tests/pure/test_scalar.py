"""Scalars: arithmetic is recorded and done again with other arguments; turning one into a number is a read."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.scalar import Family, Scalar

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


def test_division_by_zero_fails_as_it_does_for_floats():
    for divide in (lambda: Scalar(1.0, 0) / 0.0, lambda: -1.0 / Scalar(0.0, 0), lambda: Scalar(0.0, 0) // 0.0):
        with pytest.raises(ZeroDivisionError):
            divide()
    with pytest.raises(ZeroDivisionError):
        (1.0 / Scalar(1.0, 0)).evaluate([0.0])


def test_a_scalar_is_a_float():
    x = Scalar(2.5, 0)
    assert isinstance(x, float)
    assert [abs(-x), round(x), int(x), f"{x:.1f}", str(x), repr(x), hash(x)] == [
        2.5,
        2,
        2,
        "2.5",
        "2.5",
        "2.5",
        hash(2.5),
    ]
    assert {2.5: "found"}[x] == "found"
    assert json.dumps([x]) == "[2.5]"
    assert pickle.loads(pickle.dumps(x)) == 2.5
    assert type(pickle.loads(pickle.dumps(x))) is float
    assert copy.deepcopy(x) is x
    assert [divmod(x, 2.0), x // 2.0, x % 2.0, 7.0 % x, math.floor(x), math.ceil(x)] == [
        (1.0, 0.5),
        1.0,
        0.5,
        2.0,
        2,
        3,
    ]


def test_a_broken_power_of_a_negative_number_is_complex_as_it_is_for_floats():
    assert Scalar(-2.0, 0) ** 0.5 == (-2.0) ** 0.5


@pytest.mark.parametrize(
    "read",
    [
        float, int, bool, str, repr, hash, round, "{:.2f}".format, math.floor, math.trunc, pickle.dumps,
        lambda s: s > 1, lambda s: s <= 1, lambda s: s == 1.0, lambda s: s != 2, lambda s: s in (1.0,),
        lambda s: s.real, lambda s: s.is_integer(), lambda s: max(s, 1.0), lambda s: {}.get(s),
        lambda s: divmod(s, 2.0),
        lambda s: s * np.float64(2.0), lambda s: s + Fraction(1, 2),
    ],
)  # fmt: skip
def test_every_way_to_a_python_number_is_noticed(read):
    noticed = []
    family = Family(noticed.append)
    read(Scalar(1.5, 0, family=family) * Scalar(2.0, 3, family=family))
    assert set(noticed) == {0, 3}


def test_after_its_recording_a_scalar_is_a_plain_number():
    noticed = []
    family = Family(noticed.append)
    x = Scalar(1.5, 0, family=family)
    family.is_open = False
    assert type(x * 2.0) is float
    assert x > 1.0
    assert not noticed


def test_equal_computations_have_equal_identities():
    def make(value):
        return (Scalar(value, 0) * 2.0 + Scalar(value, 1)).sqrt()

    assert make(1.0).identity() == make(5.0).identity()
    assert make(1.0).identity() != (Scalar(1.0, 0) * 3.0).identity()
