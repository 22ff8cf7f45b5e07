"""Who gives memory to the results of frozen plans and counts what they keep: a device, or what stands for one."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Protocol

import numpy as np

from burn.backend.cpu.kept import KeptMemory
from burn.backend.cpu.memory import LARGE, Memory
from burn.dtype import DType

Array = np.ndarray[Any, Any]


class Owner(Protocol):
    """What a runner asks of a `Cpu` device."""

    kept: KeptMemory

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Array: ...


class Alone:
    """Memory for plans that run without a device: where those are not loaded."""

    def __init__(self) -> None:
        self.kept = KeptMemory()
        self._memory = Memory()

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """An array that nobody has written to."""
        size = math.prod(shape) * dtype.size
        return np.empty(shape, dtype.numpy) if size < LARGE else self._memory.array(shape, dtype.numpy, size)

    def __repr__(self) -> str:
        return "Cpu()"


@cache
def alone() -> Alone:
    """The one of this process."""
    return Alone()
