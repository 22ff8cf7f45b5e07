"""Batch strategies: which consecutive items go into one batch.

A strategy collects items until they make a batch. With a fixed size the loader knows beforehand which items go
together; other strategies look at the items first, for example at their lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from burn.errors import ArgumentError


class BatchStrategy(Protocol):
    """Collects items until they make a batch. A loader uses a fresh copy (`new`) for each epoch.

    >>> from burn.data.dataloader import FixBatchStrategy
    >>> strategy = FixBatchStrategy(2)
    >>> for item in "abc":
    ...     strategy.add(item)
    ...     print(strategy.batch(force=False))
    None
    ['a', 'b']
    None
    >>> strategy.batch(force=True)
    ['c']
    """

    def add(self, item: Any) -> None:
        """Take one more item."""
        ...

    def batch(self, force: bool) -> list[Any] | None:
        """The items of a batch that is complete, or with `force` what is there; None if there is none."""
        ...

    def new(self) -> BatchStrategy:
        """An empty one of the same kind."""
        ...

    def batch_size(self) -> int | None:
        """The number of items in each batch but the last, or None if it varies."""
        ...


class FixBatchStrategy:
    """Batches of `size` items: what `DataLoaderBuilder.batch_size` asks for. The last one may be shorter.

    >>> from burn.data.dataloader import DataLoaderBuilder, FixBatchStrategy
    >>> builder = DataLoaderBuilder(lambda items, device: items)
    >>> list(builder.batch_strategy(FixBatchStrategy(2)).build([1, 2, 3, 4, 5]))
    [[1, 2], [3, 4], [5]]
    """

    def __init__(self, size: int) -> None:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ArgumentError(f"dataloader: a batch has 1 item or more, got batch_size {size!r}")
        self.size = size
        self._items: list[Any] = []

    def add(self, item: Any) -> None:
        """Take one more item."""
        self._items.append(item)

    def batch(self, force: bool) -> list[Any] | None:
        """The items, if there are `size` of them, or with `force` what is there."""
        if not self._items or (len(self._items) < self.size and not force):
            return None
        found, self._items = self._items, []
        return found

    def new(self) -> FixBatchStrategy:
        """An empty one of the same size."""
        return FixBatchStrategy(self.size)

    def batch_size(self) -> int | None:
        """The size."""
        return self.size

    def __repr__(self) -> str:
        return f"FixBatchStrategy({self.size})"


class SizedBatchStrategy:
    """Batches of as many items as fit into `limit`, each item counting `size(item)`, usually its length.

    With `padded` every item counts as much as the largest of its batch: the size of the padded tensor. An item
    that is larger than the limit makes a batch of its own.

    >>> from burn.data.dataloader import DataLoaderBuilder, SizedBatchStrategy
    >>> builder = DataLoaderBuilder(lambda items, device: items).batch_strategy(SizedBatchStrategy(6, len, padded=True))
    >>> list(builder.build(["a", "to", "but", "word", "so"]))
    [['a', 'to'], ['but'], ['word'], ['so']]
    """

    def __init__(self, limit: float, size: Callable[[Any], float] = len, *, padded: bool = False) -> None:
        if not limit > 0:
            raise ArgumentError(f"dataloader: the limit of a batch is more than 0, got {limit!r}")
        self.limit, self.size, self.padded = limit, size, padded
        self._items: list[Any] = []
        self._total = self._largest = 0.0
        self._ready: list[Any] | None = None

    def add(self, item: Any) -> None:
        """Take one more item; what was there becomes a batch if it does not fit."""
        size = self.size(item)
        largest = max(self._largest, size)
        total = largest * (len(self._items) + 1) if self.padded else self._total + size
        if self._items and total > self.limit:
            self._ready, self._items = self._items, []
            total, largest = size, size
        self._items.append(item)
        self._total, self._largest = total, largest

    def batch(self, force: bool) -> list[Any] | None:
        """The items that were complete when the last one came, or with `force` what is there."""
        if self._ready is not None:
            found, self._ready = self._ready, None
            return found
        if not force or not self._items:
            return None
        found, self._items = self._items, []
        self._total = self._largest = 0.0
        return found

    def new(self) -> SizedBatchStrategy:
        """An empty one with the same limit."""
        return SizedBatchStrategy(self.limit, self.size, padded=self.padded)

    def batch_size(self) -> int | None:
        """Not known."""
        return None
