"""Overlapping windows of consecutive items, for sequences and time series."""

from __future__ import annotations

from typing import TypeVar

from burn.data.dataset.dataset import Source
from burn.data.dataset.transform.view import View
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741


class WindowsDataset(View[list[I]]):
    """Overlapping windows for sequences: item `i` is the list of the items `i` to `i + size - 1` of `dataset`.

    >>> from burn.data.dataset.transform import WindowsDataset
    >>> list(WindowsDataset([1, 2, 3, 4], 3))
    [[1, 2, 3], [2, 3, 4]]
    """

    def __init__(self, dataset: Source[I], size: int) -> None:
        super().__init__(dataset)
        if size < 1:
            raise ArgumentError(f"WindowsDataset: a window has 1 item or more, got size {size}")
        self.size = size

    def get(self, index: int) -> list[I] | None:
        """The window that begins at that number; None too if an item of it was skipped."""
        if not 0 <= index < self.len():
            return None
        items = self.dataset.get_many(range(index, index + self.size))
        return None if any(item is None for item in items) else list(items)  # type: ignore[arg-type]

    def len(self) -> int:
        """How many whole windows there are."""
        return max(0, self.dataset.len() - self.size + 1)
