"""Operations without a kernel, which NumPy runs between native calls."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from burn.program.program import Constant, Scalar

HOST_CALLS: collections.Counter[str] = collections.Counter()
"""How often this process has run a row on NumPy inside of a plan, for lack of a kernel."""


def operand_of(operand: Any, values: Mapping[int, Any], numbers: Sequence[Any]) -> Any:
    """An operand of a node as a kernel of the host takes it."""
    if isinstance(operand, int):
        return values[operand]
    if isinstance(operand, Scalar):
        return numbers[operand.slot]
    if isinstance(operand, Constant):
        return operand.value
    return [values[number] for number in operand] if isinstance(operand, tuple) else operand


def own_memory(value: Any, operands: Sequence[Any], is_region: bool) -> np.ndarray[Any, Any]:
    """A result of the host in memory of its own, row-major; those of regions have it."""
    held = np.ascontiguousarray(value).reshape(np.shape(value))
    if not is_region and (held.base is not None or any(held is operand for operand in operands)):
        return held.copy()
    return held
