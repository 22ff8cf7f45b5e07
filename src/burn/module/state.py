"""State cells: what a module remembers between calls without learning it.

A batch norm's running statistics live in a `State`: one slot that holds an immutable tensor without
a graph. `forward` in training is its only writer. Every operation on module trees gives the new tree
cells of its own with the same tensors, so a model kept aside stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.device import Device, given_device
from burn.dtype import DType
from burn.errors import ShapeError
from burn.module.identity import ParamId
from burn.module.param import placed
from burn.shape import Shape
from burn.tensor import Tensor, TensorData


class State:
    """A cell with one tensor, for what a module remembers without learning it; PyTorch: a buffer.

    `value` reads it, `update` replaces it; records keep it like a parameter, under its `id`. `forward` in training is
    its only writer, and every operation on modules gives the new one cells of its own.

    >>> from burn.module import RunningState
    >>> mean = RunningState(Tensor.zeros([2]))
    >>> mean.update(burn.tensor([1.0, 2.0]))
    >>> print(mean.value.to_data())
    [1.0, 2.0]
    """

    __slots__ = ("_source", "_value", "device", "dtype", "id", "shape", "__weakref__")

    def __init__(self, tensor: Tensor[Any], id: ParamId | str | None = None) -> None:
        tensor = tensor.no_grad()
        self.id = ParamId() if id is None else ParamId(id)
        self._value: Tensor[Any] | None = Tensor(tensor.handle, tensor.device, tensor.dtype, tensor.shape)
        self._source: Callable[[], Tensor[Any]] | None = None
        self.device: Device = tensor.device
        self.dtype: DType = tensor.dtype
        self.shape: Shape = tensor.shape

    @classmethod
    def full(cls, shape: Sequence[int], number: float, device: Device | None = None) -> State:
        """A cell of this `shape`, full of one number, made when it is first read."""
        device = given_device("State.full", device)
        while device.is_autodiff:
            device = device.inner()
        made = cls.__new__(cls)
        made.id, made._value = ParamId(), None
        made._source = lambda: Tensor.full(made.shape, number, made.device)
        made.device, made.dtype, made.shape = device, device.float_dtype, Shape(shape)
        return made

    @property
    def value(self) -> Tensor[Any]:
        """The tensor of this moment, on the device without autodiff."""
        if self._value is None:
            assert self._source is not None
            self._value = self._source()
        return self._value

    value_sync = value

    def update(self, tensor: Tensor[Any]) -> None:
        """Remember another tensor of the same shape."""
        if tensor.shape != self.shape:
            raise ShapeError(f"State: holds shape {tuple(self.shape)}, got {tuple(tensor.shape)}")
        tensor, before = tensor.no_grad(), self._value
        self._value = tensor if tensor.dtype is self.dtype else tensor.cast(self.dtype)
        if before is not None and before.device is self._value.device:
            self._value.device.fall_back(self._value.handle, before.handle)  # a forward that fails leaves no trace

    # New cells

    def fork(self) -> State:
        """Another cell with the same id and the same tensor."""
        made = State.__new__(State)
        made.id, made._value, made._source = self.id, self._value, self._source
        made.device, made.dtype, made.shape = self.device, self.dtype, self.shape
        return made

    def moved(self, device: Device) -> State:
        """A cell on another device."""
        while device.is_autodiff:
            device = device.inner()
        if device is self.device:
            return self.fork()
        if self._value is None:
            source = self._source
            assert source is not None
            made = self.fork()
            made.device, made._source = device, lambda: source().to_device(device)
            return made
        return State(self.value.to_device(device), self.id)

    def with_value(self, tensor: Tensor[Any]) -> State:
        """A cell of the same id with another tensor."""
        return State(tensor, self.id)

    def loaded(self, data: TensorData, id: str | None = None) -> State:
        """A cell with the `data` (and the id) of a record."""
        return State(placed(data, self.device, self.dtype), id or self.id)

    # Trees

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        return [self.value], self.id

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> State:
        return cls(children[0], token)

    def __tree_update__(self, token: Any, children: Sequence[Any]) -> None:
        self._value = children[0]

    def __reduce__(self) -> Any:
        return State, (self.value, str(self.id))

    def __repr__(self) -> str:
        return f"State(shape={list(self.shape)}, dtype={self.dtype})"


RunningState = State
