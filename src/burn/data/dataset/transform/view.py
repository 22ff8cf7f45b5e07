"""What the views of one dataset share: they keep it, follow its epochs and close it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from burn.data.dataset.dataset import Dataset, as_dataset

I = TypeVar("I")  # noqa: E741


class View(Dataset[I]):
    """A dataset made of another one, `dataset`: the base of views of your own. Write `get` and `len`.

    >>> from burn.data.dataset.transform import View
    >>> class Reversed(View):
    ...     def get(self, index): return self.dataset.get(len(self.dataset) - 1 - index)
    ...     def len(self): return len(self.dataset)
    >>> list(Reversed("abc"))
    ['c', 'b', 'a']
    """

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
