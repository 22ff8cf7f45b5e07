"""How far it is from a read to the kernel: every frame between them is time that each small operation pays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from burn.backend.cpu.runner import StepArray

MOST_HOPS = 7


def hops(call: Callable[[], Any]) -> list[list[str]]:
    """The functions between `call` and each launch of kernels, from the outside in."""
    found: list[list[str]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is StepArray.run.__code__:
            names: list[str] = []
            at: FrameType | None = frame
            while at is not None and at.f_code is not call.__code__:
                names.append(at.f_code.co_qualname)
                at = at.f_back
            found.append(names[::-1])

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("read", [Tensor.numpy, Tensor.tolist], ids=["numpy", "tolist"])
@pytest.mark.parametrize("size", [8, 2048], ids=["one thread", "the team"])
def test_a_warm_read_reaches_the_kernel_in_seven_frames(read: Callable[[Any], Any], size: int) -> None:
    x = burn.tensor(np.ones((size, 16), np.float32), device=Cpu())

    def call() -> None:
        read(x.exp())

    for _ in range(3):
        call()
    launches = hops(call)
    assert len(launches) == 1
    assert len(launches[0]) <= MOST_HOPS, launches[0]


def test_an_operation_is_recorded_in_three_frames() -> None:
    x = burn.tensor(np.ones((8, 16), np.float32), device=Cpu())
    deepest = 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        depth, at = 0, frame
        while at.f_code is not call.__code__ and at.f_back is not None:
            depth, at = depth + 1, at.f_back
        deepest = max(deepest, depth) if event == "call" else deepest

    def call() -> Any:
        return x.exp()

    kept = call()
    sys.setprofile(look)
    try:
        kept = call()
    finally:
        sys.setprofile(None)
    assert kept.shape == (8, 16)
    assert deepest <= 3  # the dispatcher, the recorder, and what makes a handle
