"""What rules said before answers later calls, and never one that is another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import NdArray
from burn.errors import ArgumentError
from burn.ops.memory import MOST_REMEMBERED, Memory


@pytest.mark.parametrize(
    "method, good, bad",
    [("reshape", (3, 2), (3.0, 2)), ("sum_dims", (1,), (1.0,)), ("sum_dim", 1, 1.0), ("permute", (1, 0), (1.0, 0))],
)
def test_what_is_refused_is_refused_whatever_came_before(method: str, good: Any, bad: Any) -> None:
    x = burn.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), device=NdArray())
    call = getattr(x, method)
    expected = call(good).shape
    with pytest.raises(ArgumentError):
        call(bad)
    assert call(good).shape == expected


def test_equal_numbers_of_other_kinds_have_answers_of_their_own() -> None:
    memory = Memory()
    memory.keep(("about",), (1, (2, (3,))), "ints")
    assert memory.find(("about",), (1, (2, (3,)))) == "ints"
    assert memory.find(("about",), (int("1"), (int("2"), (int("3"),)))) == "ints"
    for other in ((1.0, (2, (3,))), (True, (2, (3,))), (1, (2.0, (3,))), (1, (2, (3.0,)))):
        assert memory.find(("about",), other) is None


@pytest.mark.parametrize("zero", [0.0, -0.0, (1.0, 0.0), (1, (2, -0.0))])
def test_nothing_is_remembered_of_a_zero(zero: Any) -> None:
    memory = Memory()
    memory.keep((), (zero,), "said")
    assert memory.find((), (zero,)) is None


def test_what_cannot_be_a_key_is_asked_about_every_time() -> None:
    memory = Memory()
    memory.keep((), ([1, 2],), "said")
    assert memory.find((), ([1, 2],)) is None


def test_too_many_answers_are_forgotten() -> None:
    memory = Memory()
    for number in range(MOST_REMEMBERED + 1):
        memory.keep((number,), (), number)
    assert memory.find((0,), ()) is None
    assert memory.find((MOST_REMEMBERED,), ()) == MOST_REMEMBERED


def test_a_negative_zero_stays_one() -> None:
    device = NdArray()
    for value in (0.0, -0.0, 0.0):
        filled = burn.Tensor.full((2,), value, device)
        assert math.copysign(1.0, filled.tolist()[0]) == math.copysign(1.0, value)
