"""The batcher: how a list of items becomes one batch of tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from burn.device import Device
from burn.errors import ArgumentError

Out = TypeVar("Out", covariant=True)
I = TypeVar("I")  # noqa: E741


@runtime_checkable
class Batcher(Protocol, Generic[I, Out]):
    """Makes one batch of a list of items. A plain function of the same form serves as well.

    A batcher may be called by several threads at once.

    >>> import burn
    >>> from burn.data.dataloader import DataLoaderBuilder
    >>> class Pairs:
    ...     def batch(self, items, device):
    ...         return burn.tensor(items, device=device)
    >>> for batch in DataLoaderBuilder(Pairs()).batch_size(2).build([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]):
    ...     print(batch.shape)
    [2, 2]
    [1, 2]
    """

    def batch(self, items: list[I], device: Device) -> Out:
        """The batch of `items`, its tensors on `device`."""
        ...


BatchFunction = Callable[[list[Any], Device], Any]


def batch_function(batcher: Any) -> BatchFunction:
    """The function that a batcher stands for."""
    method = getattr(batcher, "batch", None)
    function = method if callable(method) else batcher
    if callable(function):
        try:
            inspect.signature(function).bind([], None)
        except TypeError as error:
            raise ArgumentError(
                f"dataloader: a batcher is called with the items and the device, and this one does not fit: {error}; "
                "write def batcher(items, device)"
            ) from None
        except ValueError:  # a function of C may not tell
            pass
        return function  # type: ignore[no-any-return]
    raise ArgumentError(f"dataloader: a batcher has batch(items, device), and {type(batcher).__name__} has not")
