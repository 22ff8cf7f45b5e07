"""Items computed from other items, each time they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from burn.data.dataset.dataset import Source
from burn.data.dataset.transform.view import View
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741
In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Mapper(Protocol, Generic[In, Out]):
    """How one item becomes another. A plain function serves as well.

    >>> from burn.data.dataset.transform import MapperDataset
    >>> class Scale:
    ...     def __init__(self, factor): self.factor = factor
    ...     def map(self, item): return item * self.factor
    >>> list(MapperDataset([1, 2, 3], Scale(10)))
    [10, 20, 30]
    """

    def map(self, item: In) -> Out:
        """The new item."""
        ...


class MapperDataset(View[O]):
    """`mapper` applied to every item that is read from `dataset`, each time it is read.

    >>> from burn.data.dataset.transform import MapperDataset
    >>> list(MapperDataset(["a", "bc"], len))
    [1, 2]
    """

    def __init__(self, dataset: Source[I], mapper: Mapper[I, O] | Callable[[I], O]) -> None:
        super().__init__(dataset)
        if not callable(getattr(mapper, "map", None)) and not callable(mapper):
            raise ArgumentError(f"MapperDataset: the mapper is a {type(mapper).__name__}, not a function or a Mapper")
        self.mapper = mapper

    def _function(self) -> Callable[[Any], O]:
        return getattr(self.mapper, "map", None) or self.mapper  # type: ignore[return-value]

    def get(self, index: int) -> O | None:
        """The mapped item; None stays None."""
        item = self.dataset.get(index)
        return None if item is None else self._function()(item)

    def get_many(self, indices: Sequence[int]) -> Sequence[O | None]:
        """Several items, read together and mapped one by one."""
        change = self._function()
        return [None if item is None else change(item) for item in self.dataset.get_many(indices)]

    def len(self) -> int:
        """As many as there are below."""
        return self.dataset.len()
