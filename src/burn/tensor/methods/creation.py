"""Ways to make a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from burn.device import Device, current_device
from burn.dtype import Kind, from_numpy
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError
from burn.ops import creation, dispatch
from burn.shape import Shape
from burn.tensor.data import TensorData

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device)


def place(data: TensorData, device: Device) -> Tensor[Any]:
    """A tensor holding a copy of `data` in its own dtype (or the data themselves, if they were given away)."""
    from burn.tensor.tensor import Tensor

    return Tensor(device.from_host(data.taken()), device, data.dtype, Shape(data.shape))


def _converted(data: TensorData, dtype: Any) -> TensorData:
    """`data` in a dtype, itself where it has it: `place` copies anyway."""
    return data if as_dtype(dtype) is data.dtype else data.convert(dtype)


def native_dtype(data: TensorData, device: Device) -> Any:
    """The dtype in which `device` keeps the kind of `data`."""
    kind = data.dtype.kind
    if kind is Kind.Bool:
        return data.dtype
    return device.float_dtype if kind is Kind.Float else device.int_dtype


def tensor(data: Any, *, device: Any = None, dtype: Any = None) -> Tensor[Any]:
    """Make a tensor of numbers, nested lists, a NumPy array, `TensorData` or another library's tensor.

    Python numbers take the device's own float or int dtype; arrays keep theirs, unless `dtype` is given.
    """
    device = current_device() if device is None else device
    if data.__class__ is np.ndarray and dtype is None and data.dtype.isnative:
        found = from_numpy(data.dtype)
        make = dispatch.Tensor  # type: ignore[attr-defined]  # known without the import below, which takes a while
        return make(device.from_host(np.array(data, order="C")), device, found, Shape(data.shape))
    from burn.tensor.tensor import Tensor

    if isinstance(data, Tensor):
        return data.to(device) if dtype is None else data.to(device).cast(dtype)
    known = isinstance(data, TensorData | np.ndarray | np.generic) or hasattr(data, "__array__")
    values = data if isinstance(data, TensorData) else TensorData(data)
    target = values.dtype if known else native_dtype(values, device)
    return place(_converted(values, target if dtype is None else dtype), device)


class CreationMethods:
    """`Tensor.zeros(...)`, `Tensor.from_data(...)` and the like. `device` falls back on the default one."""

    __slots__ = ()

    @staticmethod
    def from_data(data: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Make a tensor in the device's own float or int dtype, unless `dtype` is given."""
        chosen = current_device() if device is None else device
        values = data if isinstance(data, TensorData) else TensorData(data)
        return place(_converted(values, native_dtype(values, chosen) if dtype is None else dtype), chosen)

    @staticmethod
    def from_floats(floats: Any, device: D | None = None) -> Tensor[D]:
        """Make a float tensor."""
        chosen = current_device() if device is None else device
        return place(TensorData(floats).convert(chosen.float_dtype), chosen)

    @staticmethod
    def from_ints(ints: Any, device: D | None = None) -> Tensor[D]:
        """Make an int tensor."""
        chosen = current_device() if device is None else device
        return place(TensorData(ints).convert(chosen.int_dtype), chosen)

    @staticmethod
    def from_bool(bools: Any, device: D | None = None) -> Tensor[D]:
        """Make a bool tensor."""
        chosen = current_device() if device is None else device
        return place(TensorData(bools).convert("bool"), chosen)

    @staticmethod
    def empty(shape: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Take memory without writing to it."""
        return creation.empty(shape, dtype, device=current_device() if device is None else device)

    @staticmethod
    def full(shape: Any, fill_value: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Fill a shape with one value, which decides the kind when no dtype is given."""
        return creation.full(fill_value, shape, dtype, device=current_device() if device is None else device)

    @staticmethod
    def zeros(shape: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Fill a shape with 0."""
        return CreationMethods.full(shape, 0.0, device, dtype)

    @staticmethod
    def ones(shape: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Fill a shape with 1."""
        return CreationMethods.full(shape, 1.0, device, dtype)

    def full_like(self: Tensor[B], fill_value: Any) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, dtype and device, filled with one value."""
        return creation.full(fill_value, self.shape, self.dtype, device=self.device)

    def zeros_like(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, dtype and device, filled with 0."""
        return self.full_like(0)

    def ones_like(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, dtype and device, filled with 1."""
        return self.full_like(1)

    def empty_like(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, dtype and device, not written to."""
        return creation.empty(self.shape, self.dtype, device=self.device)

    @staticmethod
    def arange(interval: Any, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Count through a `range`: `Tensor.arange(range(5, 10), device)`. An int `n` means `range(n)`."""
        return CreationMethods._counted("arange", interval, None, device, dtype)

    @staticmethod
    def arange_step(interval: Any, step: int, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """Count through a `range` in steps."""
        return CreationMethods._counted("arange_step", interval, step, device, dtype)

    @staticmethod
    def _counted(operation: str, interval: Any, step: int | None, device: Any, dtype: Any) -> Tensor[Any]:
        chosen = current_device() if device is None else device
        if isinstance(interval, int):
            interval = range(interval)
        if isinstance(interval, slice):
            interval = range(interval.start or 0, interval.stop, interval.step or 1)
        if not isinstance(interval, range):
            raise ArgumentError(f"{operation}: needs a range, got {interval!r}; write range(0, 10)")
        if step is not None and step <= 0:
            raise ArgumentError(f"{operation}: step must be 1 or more, got {step}")
        if dtype is None:
            dtype = chosen.int_dtype
        stride = interval.step if step is None else step * interval.step
        return creation.arange(interval.start, interval.stop, stride, dtype, device=chosen)

    @staticmethod
    def eye(size: int, device: D | None = None, dtype: Any = None) -> Tensor[D]:
        """The identity matrix."""
        chosen = current_device() if device is None else device
        target = chosen.float_dtype if dtype is None else as_dtype(dtype)
        if not target.is_arithmetic:
            raise DTypeError(f"eye: {target} only stores values")
        index: Any = CreationMethods.arange(range(size), chosen)
        return index.reshape((size, 1)).equal(index.reshape((1, size))).cast(target)  # type: ignore[no-any-return]
