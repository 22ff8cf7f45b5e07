"""What the views of one dataset share: they keep it, follow its epochs and close it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from burn.data.dataset.dataset import Dataset, as_dataset

I = TypeVar("I")  # noqa: E741


class View(Dataset[I]):
    """A dataset made of another one, `dataset`."""

    dataset: Dataset[Any]

    def __init__(self, dataset: Any) -> None:
        self.dataset = as_dataset(dataset)

    def epoch(self, number: int) -> Dataset[I]:
        """The same view of what the dataset below gives for that epoch."""
        below = self.dataset.epoch(number)
        if below is self.dataset:
            return self
        other = copy.copy(self)
        other.dataset = below
        return other

    def close(self) -> None:
        """Close the dataset below."""
        self.dataset.close()
