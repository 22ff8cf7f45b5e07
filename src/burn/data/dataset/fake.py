"""Made-up items for trying things out: always the same for the same number and seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from burn.data.dataset.dataset import Dataset
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741


class FakeDataset(Dataset[I]):
    """Made-up items for trying things out: `size` of them, each made by `make(random)` with a generator of its own.

    They are always the same for the same `seed`.

    >>> from burn.data.dataset import FakeDataset
    >>> dice = FakeDataset(5, lambda random: int(random.integers(1, 7)), seed=1)
    >>> list(dice), list(dice)
    ([3, 4, 4, 3, 4], [3, 4, 4, 3, 4])
    """

    def __init__(self, size: int, make: Callable[[np.random.Generator], I], seed: int = 0) -> None:
        if size < 0:
            raise ArgumentError(f"FakeDataset: size must be 0 or more, got {size}")
        self.size, self.make, self.seed = size, make, seed

    def get(self, index: int) -> I | None:
        """The item of that number."""
        if not 0 <= index < self.size:
            return None
        return self.make(np.random.default_rng([self.seed, index]))

    def len(self) -> int:
        """How many items there are."""
        return self.size
