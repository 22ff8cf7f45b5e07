"""A range of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from burn.data.dataset.dataset import Source, as_dataset
from burn.data.dataset.transform.view import View
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class PartialDataset(View[I]):
    """The items from `start_index` up to `end_index`, which is not among them.

    `split` cuts a `dataset` into parts of equal length, `split_chunks` at whole batches of `batch_size`.

    >>> from burn.data.dataset.transform import PartialDataset
    >>> list(PartialDataset(range(100), 3, 6))
    [3, 4, 5]
    >>> [len(part) for part in PartialDataset.split(range(10), 3)]
    [3, 3, 4]
    """

    def __init__(self, dataset: Source[I], start_index: int, end_index: int) -> None:
        super().__init__(dataset)
        size = self.dataset.len()
        if not 0 <= start_index <= end_index <= size:
            raise ArgumentError(
                f"PartialDataset: needs 0 <= start <= end <= {size}, got start {start_index} and end {end_index}"
            )
        self.start_index, self.end_index = start_index, end_index

    @staticmethod
    def split(dataset: Source[T], parts: int) -> list[PartialDataset[T]]:
        """Consecutive parts of equal length; the last takes the rest."""
        return PartialDataset.split_chunks(dataset, parts, 1)

    @staticmethod
    def split_chunks(dataset: Source[T], parts: int, batch_size: int) -> list[PartialDataset[T]]:
        """Consecutive parts cut at whole batches, so that only the last one has a short batch."""
        if parts < 1 or batch_size < 1:
            raise ArgumentError(
                f"PartialDataset: split needs 1 part or more and batches of 1 or more, got {parts} and {batch_size}"
            )
        values = as_dataset(dataset)
        size = values.len()
        batches = -(-size // batch_size)
        step = batches // parts * batch_size
        ends = [*(step * part for part in range(1, parts)), size]
        return [PartialDataset(values, start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def get(self, index: int) -> I | None:
        """The item of that number in the range."""
        return self.dataset.get(self.start_index + index) if 0 <= index < self.len() else None

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several items at once."""
        size, start = self.len(), self.start_index
        if any(not 0 <= index < size for index in indices):
            return super().get_many(indices)
        return self.dataset.get_many([start + index for index in indices])

    def len(self) -> int:
        """The length of the range."""
        return self.end_index - self.start_index
