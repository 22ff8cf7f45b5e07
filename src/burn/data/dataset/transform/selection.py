"""A choice of items, in any order and as often as wished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from burn.data.dataset.dataset import Source
from burn.data.dataset.transform.view import View
from burn.errors import ArgumentError, IndexingError

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class SelectionDataset(View[I]):
    """A choice of items, in any order and as often as wished: item `i` is item `indices[i]` of `dataset`.

    `shuffle` draws another order from a seed.

    >>> from burn.data.dataset.transform import SelectionDataset
    >>> list(SelectionDataset("abcd", [3, 0, 0]))
    ['d', 'a', 'a']
    """

    def __init__(self, dataset: Source[I], indices: Sequence[int] | np.ndarray[Any, Any]) -> None:
        super().__init__(dataset)
        chosen = np.asarray(indices)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ArgumentError(
                f"SelectionDataset: indices must be a list of ints, got shape {chosen.shape} of {chosen.dtype}"
            )
        size = self.dataset.len()
        wrong = chosen[(chosen < 0) | (chosen >= size)]
        if wrong.size:
            shown = ", ".join(str(each) for each in wrong[:5]) + (", ..." if wrong.size > 5 else "")
            raise IndexingError(f"SelectionDataset: {wrong.size} indices are outside of {size} items: {shown}")
        self._chosen = chosen.astype(np.int64)

    @classmethod
    def from_indices_unchecked(cls, dataset: Source[T], indices: np.ndarray[Any, Any]) -> SelectionDataset[T]:
        """Without looking at the indices: for those that are known to fit."""
        made: Any = cls.__new__(cls)
        View.__init__(made, dataset)
        made._chosen = np.asarray(indices, np.int64)
        return made  # type: ignore[no-any-return]

    @property
    def indices(self) -> list[int]:
        """Which item of the dataset below each item is."""
        return self._chosen.tolist()  # type: ignore[no-any-return]

    def get(self, index: int) -> I | None:
        """The item that was chosen for that number."""
        return self.dataset.get(int(self._chosen[index])) if 0 <= index < len(self._chosen) else None

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several items at once."""
        if any(not 0 <= index < len(self._chosen) for index in indices):
            return super().get_many(indices)
        return self.dataset.get_many(self._chosen[np.asarray(indices, np.int64)].tolist())

    def len(self) -> int:
        """How many items were chosen."""
        return len(self._chosen)

    def shuffle(self, seed: int) -> SelectionDataset[I]:
        """The same items in another order."""
        order = np.random.default_rng(seed).permutation(len(self._chosen))
        return SelectionDataset.from_indices_unchecked(self.dataset, self._chosen[order])

    def slice(self, start: int, end: int) -> SelectionDataset[I]:
        """The items from `start` up to `end`."""
        if not 0 <= start <= end <= len(self._chosen):
            raise ArgumentError(
                f"SelectionDataset: slice needs 0 <= start <= end <= {len(self._chosen)}, got {start} and {end}"
            )
        return SelectionDataset.from_indices_unchecked(self.dataset, self._chosen[start:end])

    def split(self, parts: int) -> list[SelectionDataset[I]]:
        """Consecutive parts of equal length; the last takes the rest."""
        if parts < 1:
            raise ArgumentError(f"SelectionDataset: split needs 1 part or more, got {parts}")
        size, step = len(self._chosen), len(self._chosen) // parts
        ends = [*(step * part for part in range(1, parts)), size]
        return [self.slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
