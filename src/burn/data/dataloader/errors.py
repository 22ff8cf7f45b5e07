"""What goes wrong while batches are made: which item, in which worker, and where in the code."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

from burn.errors import BurnError


class LoadingError(BurnError, RuntimeError):
    """An item or a batch that could not be made. `index` is the item's number, `__cause__` the error itself.

    The message ends with the traceback of the worker, also where it ran in another process.

    >>> from burn.data.dataloader import DataLoaderBuilder, LoadingError
    >>> from burn.data.dataset.transform import MapperDataset
    >>> words = MapperDataset(["1", "two"], int)
    >>> try:
    ...     list(DataLoaderBuilder(lambda items, device: items).build(words))
    ... except LoadingError as error:
    ...     print(error.index, repr(error.__cause__))
    1 ValueError("invalid literal for int() with base 10: 'two'")
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return LoadingError, (str(self), self.index)


def described(error: BaseException) -> str:
    """The type and message of an error on one line."""
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[0]


def item_error(index: int, worker: str, error: BaseException) -> LoadingError:
    """The error for an item that its dataset could not give."""
    text = "".join(traceback.format_exception(error)).rstrip()
    made = LoadingError(f"dataloader: item {index} failed in {worker}: {described(error)}\n{text}", index)
    made.__cause__ = error
    return made


def batch_error(indices: Sequence[int] | None, worker: str, error: BaseException) -> LoadingError:
    """The error for a batch that the batcher could not make."""
    if indices is None:
        which = "a batch"
    else:
        shown = ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")
        which = f"the batch of the items {shown}"
    text = "".join(traceback.format_exception(error)).rstrip()
    first = indices[0] if indices is not None and len(indices) == 1 else None
    made = LoadingError(f"dataloader: {which} failed in {worker}: {described(error)}\n{text}", first)
    made.__cause__ = error
    return made
