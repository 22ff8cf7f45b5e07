"""The dataset: a collection of items of known length, each reached by its number.

A dataset says how to `get` one item and how many there are; everything else follows from that. Nothing is
said about the order in which items are asked for, nor that the same number gives the same item twice.
Datasets are read by several threads at once, so `get` must not change what other calls see.

    class Squares(Dataset[int]):
        def get(self, index: int) -> int | None:
            return index * index if 0 <= index < 10 else None

        def len(self) -> int:
            return 10
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, overload

from burn.errors import ArgumentError, IndexingError

if TYPE_CHECKING:
    from burn.data.dataset.transform.partial import PartialDataset
    from burn.data.dataset.transform.selection import SelectionDataset
    from burn.data.dataset.transform.windows import WindowsDataset

I = TypeVar("I")  # noqa: E741  # the item, as in the texts this follows
I_co = TypeVar("I_co", covariant=True)


class Readable(Protocol[I_co]):
    """A list, an array, a `Dataset`, or another library's: a length, and items by number."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> I_co: ...


class Getting(Protocol[I_co]):
    """A class of one's own with the two methods of a `Dataset`."""

    def get(self, index: int, /) -> I_co | None: ...
    def len(self) -> int: ...


Source: TypeAlias = Readable[I] | Getting[I]
"""What items are read from."""


class Dataset(Generic[I]):
    """Items by number; the counterpart of `torch.utils.data.Dataset`.

    Write `get` (None where there is no item) and `len`; or `__getitem__` and `__len__`, if you prefer those. Items are
    read by several threads at once, so reading must not change what other readers see.

    >>> from burn.data.dataset import Dataset
    >>> class Squares(Dataset[int]):
    ...     def get(self, index):
    ...         return index * index if 0 <= index < 10 else None
    ...     def len(self):
    ...         return 10
    >>> squares = Squares()
    >>> squares[3], squares[-1], list(squares[2:5])
    (9, 81, [4, 9, 16])
    """

    def get(self, index: int) -> I | None:
        """The item at `index`, counted from 0, or None where there is none; `dataset[index]` raises there."""
        if type(self).__getitem__ is Dataset.__getitem__:
            raise NotImplementedError(f"{type(self).__name__}: a dataset needs get(index) and len()")
        if not 0 <= index < self.len():
            return None
        return self[index]

    def len(self) -> int:
        """How many items there are."""
        if type(self).__len__ is Dataset.__len__:
            raise NotImplementedError(f"{type(self).__name__}: a dataset needs get(index) and len()")
        return self.__len__()

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """The items at several `indices`. Override it where reading them together is cheaper."""
        get = self.get
        return [get(index) for index in indices]

    def is_empty(self) -> bool:
        """Whether there are no items."""
        return self.len() == 0

    def iter(self) -> Iterator[I]:
        """The items one after the other. Items that are None, because they were skipped, are left out."""
        for index in range(self.len()):
            item = self.get(index)
            if item is not None:
                yield item

    def windows(self, size: int) -> WindowsDataset[I]:
        """Overlapping windows of `size` consecutive items.

        >>> from burn.data.dataset import InMemDataset
        >>> list(InMemDataset("abcd").windows(3))
        [['a', 'b', 'c'], ['b', 'c', 'd']]
        """
        from burn.data.dataset.transform.windows import WindowsDataset

        return WindowsDataset(self, size)

    def window(self, index: int, size: int) -> list[I] | None:
        """The `size` items that begin at `index`, or None where there are fewer."""
        return self.windows(size).get(index)

    def epoch(self, number: int) -> Dataset[I]:
        """What the epoch of that `number` sees: another dataset where the items are drawn anew each time."""
        return self

    def close(self) -> None:
        """Give back files and connections. Most datasets hold none."""

    def __len__(self) -> int:
        return self.len()

    def __iter__(self) -> Iterator[I]:
        return self.iter()

    @overload
    def __getitem__(self, index: int) -> I: ...
    @overload
    def __getitem__(self, index: slice) -> PartialDataset[I] | SelectionDataset[I]: ...

    def __getitem__(self, index: Any) -> Any:
        """One item, counted from the end where negative; or a view of a slice."""
        if isinstance(index, slice):
            return sliced(self, index)
        size = self.len()
        place = index.__index__()
        if place < 0:
            place += size
        item = self.get(place) if 0 <= place < size else None
        if item is None:
            why = "was skipped" if 0 <= place < size else f"is not there: the dataset has {size} items"
            raise IndexingError(f"{type(self).__name__}: item {index} {why}")
        return item


class SequenceDataset(Dataset[I]):
    """A list, or anything else with a length and items by number, as a dataset."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def get(self, index: int) -> I | None:
        """The item of that number."""
        return self.values[index] if 0 <= index < len(self.values) else None

    def len(self) -> int:
        """How many items there are."""
        return len(self.values)


class ForeignDataset(Dataset[I]):
    """An object with `get` and `len` that does not derive from `Dataset`."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def get(self, index: int) -> I | None:
        """The item of that number."""
        return self.values.get(index)  # type: ignore[no-any-return]

    def len(self) -> int:
        """How many items there are."""
        return self.values.len()  # type: ignore[no-any-return]


def as_dataset(values: Source[I]) -> Dataset[I]:
    """`values` as a dataset: one as it is; a list, an array or another library's dataset wrapped.

    >>> from burn.data.dataset import as_dataset
    >>> as_dataset(["a", "b"]).get(1)
    'b'
    """
    if isinstance(values, Dataset):
        return values
    if callable(getattr(values, "get", None)) and callable(getattr(values, "len", None)):
        return ForeignDataset(values)
    kind = type(values)
    if hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not isinstance(values, dict):
        return SequenceDataset(values)
    advice = "; write InMemDataset(values)" if isinstance(values, Iterable) else ""
    raise ArgumentError(f"dataset: {kind.__name__} has no get(index) and len(){advice}")


def sliced(dataset: Dataset[I], where: slice) -> PartialDataset[I] | SelectionDataset[I]:
    """A view of a slice: a range where the step is 1, else a selection."""
    from burn.data.dataset.transform.partial import PartialDataset
    from burn.data.dataset.transform.selection import SelectionDataset

    chosen = range(dataset.len())[where]
    if chosen.step == 1:
        return PartialDataset(dataset, chosen.start, builtins.max(chosen.start, chosen.stop))
    return SelectionDataset(dataset, list(chosen))
