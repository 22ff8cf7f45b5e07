"""The batcher: how a list of items becomes one batch of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from burn.device import Device
from burn.errors import ArgumentError

Out = TypeVar("Out", covariant=True)
I = TypeVar("I")  # noqa: E741


@runtime_checkable
class Batcher(Protocol, Generic[I, Out]):
    """Makes batches. It may be called by several threads at once. A plain function of the same form serves as well."""

    def batch(self, items: list[I], device: Device) -> Out:
        """The batch of `items`, its tensors on `device`."""
        ...


BatchFunction = Callable[[list[Any], Device], Any]


def batch_function(batcher: Any) -> BatchFunction:
    """The function that a batcher stands for."""
    method = getattr(batcher, "batch", None)
    if callable(method):
        return method  # type: ignore[no-any-return]
    if callable(batcher):
        return batcher  # type: ignore[no-any-return]
    raise ArgumentError(f"dataloader: a batcher has batch(items, device), and {type(batcher).__name__} has not")
