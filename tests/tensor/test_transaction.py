"""A transaction reads many tensors after waiting once for each device."""

from __future__ import annotations

from typing import Any

import pytest

import burn
from burn.backend import NdArray
from burn.errors import ArgumentError
from burn.tensor.data import TensorData
from burn.tensor.transaction import Transaction


def test_values_come_back_in_the_order_of_registration() -> None:
    device = NdArray()
    x, y = burn.tensor([1.0, 2.0], device=device), burn.tensor([[3, 4]], device=device)
    first, second, third = Transaction().register(x).register(y).register(x + 1.0).execute()
    assert first == TensorData([1.0, 2.0])
    assert second.tolist() == [[3, 4]]
    assert third.to_vec() == [2.0, 3.0]


class _Device:
    """Counts how often it is waited for."""

    def __init__(self) -> None:
        self.waits = 0

    def sync(self) -> None:
        self.waits += 1


class _Tensor:
    def __init__(self, device: _Device, value: float) -> None:
        self.device, self.value = device, value

    def to_data(self) -> TensorData:
        assert self.device.waits == 1, "read before its device was waited for"
        return TensorData([self.value])


def test_each_device_is_waited_for_once() -> None:
    devices = [_Device(), _Device()]
    transaction = Transaction()
    for number in range(6):
        tensor: Any = _Tensor(devices[number % 2], number)
        transaction.register(tensor)
    assert len(transaction) == 6
    assert repr(transaction) == "Transaction(6 tensors)"
    assert [data.item() for data in transaction.execute()] == [0, 1, 2, 3, 4, 5]
    assert [device.waits for device in devices] == [1, 1]


def test_an_executed_transaction_is_empty() -> None:
    transaction = Transaction().register(burn.tensor([1.0], device=NdArray()))
    transaction.execute()
    assert len(transaction) == 0
    assert transaction.execute() == []


def test_only_tensors_can_be_registered() -> None:
    with pytest.raises(ArgumentError, match="register: needs a Tensor, got list"):
        Transaction().register([1.0])  # type: ignore[arg-type]
