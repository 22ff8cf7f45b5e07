"""Numbers that Python calls equal and that are not the same: each keeps its own plan, node and kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray, Tensor
from burn.program.program import Constant

DEVICES = {"NdArray()": NdArray(), "Cpu()": Cpu()}


def signs(tensor: Any) -> list[bool]:
    found: list[bool] = np.signbit(tensor.numpy()).tolist()
    return found


@pytest.mark.parametrize("name", DEVICES)
def test_a_negative_zero_is_not_a_zero(name: str) -> None:
    device: Any = DEVICES[name]
    for number in (0.0, -0.0, 0.0):
        assert signs(Tensor.full([3], number, device)) == [bool(np.signbit(number))] * 3
    both = Tensor.full([2], 0.0, device), Tensor.full([2], -0.0, device)
    assert signs(Tensor.cat(list(both), 0)) == [False, False, True, True]
    zeros = burn.tensor(np.array([0.0, -0.0], np.float32), device=device)
    assert signs(zeros - -0.0) == signs(zeros + 0.0) == [False, False]
    assert signs(zeros - 0.0) == [False, True]


def test_constants_are_equal_where_they_are_the_same() -> None:
    assert Constant(1.5) == Constant(1.5)
    assert hash(Constant(1.5)) == hash(Constant(1.5))
    assert len({Constant(each) for each in (0.0, -0.0, 0, False, 1, True, 1.0)}) == 7
