"""Transactions: many tensors read at once.

Reading a tensor waits for its device. A transaction collects the tensors first, waits once per device
and then reads them all.

    loss, accuracy = Transaction().register(loss).register(accuracy).execute()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError

if TYPE_CHECKING:
    from burn.tensor.data import TensorData
    from burn.tensor.tensor import Tensor


class Transaction:
    """Tensors waiting to be read together.

    >>> from burn.tensor import Transaction
    >>> loss, count = Transaction().register(burn.tensor([0.5])).register(burn.tensor([3])).execute()
    >>> loss.item(), count.item()
    (0.5, 3)
    """

    __slots__ = ("_tensors",)

    def __init__(self) -> None:
        self._tensors: list[Tensor[Any]] = []

    def register(self, tensor: Tensor[Any]) -> Transaction:
        """Add a tensor to be read; returns the transaction."""
        if not (hasattr(tensor, "to_data") and hasattr(tensor, "device")):
            raise ArgumentError(f"register: needs a Tensor, got {type(tensor).__name__}")
        self._tensors.append(tensor)
        return self

    def execute(self) -> list[TensorData]:
        """Read every registered tensor, in the order of registration; the transaction is empty afterwards."""
        tensors, self._tensors = self._tensors, []
        for device in dict.fromkeys(tensor.device for tensor in tensors):
            device.sync()
        return [tensor.to_data() for tensor in tensors]

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"Transaction({len(self._tensors)} tensors)"
