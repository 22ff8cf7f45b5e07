"""Several datasets, one after the other."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

from burn.data.dataset.dataset import Dataset, Source, as_dataset

I = TypeVar("I")  # noqa: E741


class ComposedDataset(Dataset[I]):
    """The items of the first of `datasets`, then those of the second, and so on. Nothing is copied.

    >>> from burn.data.dataset.transform import ComposedDataset
    >>> both = ComposedDataset([["a", "b"], ["c"]])
    >>> len(both), both[2]
    (3, 'c')
    """

    def __init__(self, datasets: Iterable[Source[I]]) -> None:
        self.datasets = [as_dataset(each) for each in datasets]
        self._ends = list(accumulate(each.len() for each in self.datasets))

    def get(self, index: int) -> I | None:
        """The item of that number, counted through all datasets."""
        if not 0 <= index < self.len():
            return None
        which = bisect_right(self._ends, index)
        return self.datasets[which].get(index - (self._ends[which - 1] if which else 0))

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several items: each dataset is asked once."""
        if any(not 0 <= index < self.len() for index in indices):
            return super().get_many(indices)
        places: dict[int, list[int]] = {}
        for place, index in enumerate(indices):
            places.setdefault(bisect_right(self._ends, index), []).append(place)
        found: list[I | None] = [None] * len(indices)
        for which, chosen in places.items():
            start = self._ends[which - 1] if which else 0
            items = self.datasets[which].get_many([indices[place] - start for place in chosen])
            for place, item in zip(chosen, items, strict=True):
                found[place] = item
        return found

    def len(self) -> int:
        """The sum of the lengths."""
        return self._ends[-1] if self._ends else 0

    def epoch(self, number: int) -> Dataset[I]:
        """Every dataset as that epoch sees it."""
        below = [each.epoch(number) for each in self.datasets]
        if all(new is old for new, old in zip(below, self.datasets, strict=True)):
            return self
        other = copy.copy(self)
        other.datasets = below
        return other

    def close(self) -> None:
        """Close every dataset."""
        for each in self.datasets:
            each.close()
