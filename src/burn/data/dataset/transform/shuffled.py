"""A dataset in another order."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from burn.data.dataset.dataset import Source
from burn.data.dataset.transform.selection import SelectionDataset

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class ShuffledDataset(SelectionDataset[I]):
    """The items of `dataset` in an order that is drawn once: by `random`, or by a seed with `with_seed`.

    >>> from burn.data.dataset.transform import ShuffledDataset
    >>> "".join(ShuffledDataset.with_seed("abcdef", 42))
    'dcfeba'
    """

    def __init__(self, dataset: Source[I], random: np.random.Generator | int | None = None) -> None:
        super().__init__(dataset, [])
        # A new generator for None and for a seed, the given one otherwise.
        self._chosen = np.random.default_rng(random).permutation(self.dataset.len())

    @classmethod
    def with_seed(cls, dataset: Source[T], seed: int) -> ShuffledDataset[T]:
        """The order that belongs to a seed."""
        made: Any = cls
        return made(dataset, np.random.default_rng(seed))  # type: ignore[no-any-return]
