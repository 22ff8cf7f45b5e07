"""What kernels tell of indices outside of their dims: two words for each kernel that looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from burn.ops.indexing_references import out_of_range

NO_FAULT = (0, -1)
"""What a kernel that checks indices leaves alone: the lowest index below 0, the highest beyond the dim."""


class Checked(Protocol):
    """Which operation looked, at which dim, and its size."""

    @property
    def operation(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def size(self) -> Any: ...


def raise_first(status: np.ndarray[Any, Any], checks: Sequence[Checked]) -> None:
    """Raise for the first kernel that met an index outside its dim; the words are as before then."""
    faulty = np.flatnonzero((status != NO_FAULT).any(axis=1))
    if len(faulty):
        check = checks[faulty[0]]
        low, high = status[faulty[0]].tolist()
        status[:] = NO_FAULT
        raise out_of_range(check.operation, low if low < 0 else high, check.dim, check.size)
