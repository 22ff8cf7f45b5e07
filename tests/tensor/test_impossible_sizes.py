"""Shapes that no memory holds are refused by their operation, before a kernel multiplies their sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import burn
from burn import Cpu, LibTorch, NdArray, Tensor
from burn.errors import ShapeError

HUGE = 2**31
CASES: dict[str, Callable[[Any], Any]] = {
    "repeat": lambda d: Tensor.ones([3, 4], d).repeat([HUGE, HUGE]),
    "full": lambda d: Tensor.zeros([2**62, 0], d),
    "expand": lambda d: Tensor.ones([1], d).expand([2**62]),
    "cat": lambda d: Tensor.cat([Tensor.ones([1], d).expand([2**45])] * 4, 0),  # one byte more than fits, four times
    "one_hot": lambda d: Tensor.from_data([1, 2], d).one_hot(2**61),
    "matmul": lambda d: Tensor.ones([2**24, 1], d).matmul(Tensor.ones([1, 2**24], d)),
    "mul": lambda d: Tensor.ones([2**25, 1], d) * Tensor.ones([1, 2**25], d),
}


@pytest.mark.parametrize("device", [NdArray(), Cpu(), LibTorch(), Cpu().autodiff()], ids=repr)
@pytest.mark.parametrize("operation", CASES)
def test_a_shape_that_no_memory_holds_is_refused(operation: str, device: burn.Device) -> None:
    with pytest.raises(ShapeError, match=f"^{operation}: .* can exist"):
        CASES[operation](device)
