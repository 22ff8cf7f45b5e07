"""Long lists of numbers, as attributes of tree ensembles have them, kept as an array that reads like a tuple."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

LONG = 1024  # numbers; shorter lists are tuples


class Numbers(Sequence[Any]):
    """A read-only sequence of ints or floats. `array` is the memory; items are Python numbers, slices are tuples."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> int | float: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int | float, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        found = self.array[index]
        return tuple(found.tolist()) if isinstance(index, slice) else found.item()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.array if dtype is None else self.array.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            return bool(np.array_equal(self.array, other.array))
        return isinstance(other, tuple | list) and self.array.tolist() == list(other)

    def __hash__(self) -> int:
        return hash((len(self.array), self.array.tobytes()))

    def __repr__(self) -> str:
        return f"Numbers({len(self.array)} of {self.array.dtype})"
