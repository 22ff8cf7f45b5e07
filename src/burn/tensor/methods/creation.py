"""Ways to make a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from typing_extensions import TypeVar

from burn.device import Device
from burn.dtype import Kind, from_numpy
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, shown
from burn.ops import creation, dispatch
from burn.shape import Shape
from burn.symbolic import is_size
from burn.tensor.data import TensorData
from burn.tensor.placing import device_of, sized, split, with_gradient
from burn.tensor.signatures import explains

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import ArrayLike

    from burn.dtype import DTypeLike
    from burn.ops.declare import B
    from burn.shape import ShapeLike
    from burn.tensor.tensor import Tensor

    Data: TypeAlias = ArrayLike | TensorData | Tensor
    """What becomes a tensor: numbers, nested sequences of them, arrays, and what can be read as an array."""

D = TypeVar("D", bound=Device, default=Device)


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


@overload
def tensor(data: Data, device: D | None = None, dtype: DTypeLike | None = None) -> Tensor[D]: ...
@overload
def tensor(
    data: Data, device: Device | None = None, dtype: DTypeLike | None = None, *, requires_grad: bool
) -> Tensor: ...
@explains
def tensor(data: Any, device: Any = None, dtype: Any = None, *, requires_grad: bool = False) -> Any:
    """Make a tensor of numbers, nested lists, a NumPy array, `TensorData` or another library's tensor.

    Python numbers take the device's own float or int dtype; `data` that has a dtype keeps it, unless `dtype` is given.
    With `requires_grad` the tensor is on a device that records a graph, and `backward` keeps its gradient.

    >>> burn.tensor([[1.0, 2.0], [3.0, 4.0]]).shape
    Shape([2, 2])
    >>> burn.tensor([1, 2], dtype="f64").tolist(), burn.tensor(np.zeros(2)).dtype
    ([1.0, 2.0], f64)
    """
    device = device_of("tensor", device)
    if requires_grad:
        return tensor(data, device.autodiff(), dtype).require_grad()
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
    """`Tensor.zeros(...)`, `Tensor.from_data(...)` and the like. `device` falls back on the default one.

    A shape is one sequence or numbers: `zeros([2, 3])` and `zeros(2, 3)`; a device and a dtype may follow it, or stand
    by name. With `requires_grad` the tensor is on a device that records a graph.
    """

    __slots__ = ()

    @staticmethod
    def from_data(data: Data, device: D | None = None, dtype: DTypeLike | None = None) -> Tensor[D]:
        """Make a tensor, as `burn.tensor` does: numbers take the device's dtypes, `data` that has a dtype keeps it.

        >>> Tensor.from_data([1.0, 2.0]).dtype, Tensor.from_data(np.zeros(2)).dtype
        (f32, f64)
        """
        made: Tensor[D] = tensor(data, device_of("from_data", device), dtype)
        return made

    @staticmethod
    def from_floats(floats: Data, device: D | None = None) -> Tensor[D]:
        """Make a tensor of the device's float dtype of `floats`: numbers, lists or an array.

        >>> Tensor.from_floats([1, 2]).tolist()
        [1.0, 2.0]
        """
        chosen = device_of("from_floats", device)
        return place(TensorData(floats).convert(chosen.float_dtype), chosen)

    @staticmethod
    def from_ints(ints: Data, device: D | None = None) -> Tensor[D]:
        """Make a tensor of the device's int dtype of `ints`: numbers, lists or an array.

        >>> Tensor.from_ints([1, 2]).tolist()
        [1, 2]
        """
        chosen = device_of("from_ints", device)
        return place(TensorData(ints).convert(chosen.int_dtype), chosen)

    @staticmethod
    def from_bool(bools: Data, device: D | None = None) -> Tensor[D]:
        """Make a bool tensor of `bools`: truth values, lists or an array.

        >>> Tensor.from_bool([True, False]).tolist()
        [True, False]
        """
        chosen = device_of("from_bool", device)
        return place(TensorData(bools).convert("bool"), chosen)

    @overload
    @staticmethod
    def empty(
        shape: ShapeLike, /, device: D | None = None, dtype: DTypeLike | None = None, *, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @overload
    @staticmethod
    def empty(
        *shape: SupportsIndex, device: D | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @staticmethod
    def empty(*shape: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor[Any]:
        """Take memory of a `shape` without writing to it; `requires_grad` as in `zeros`.

        >>> Tensor.empty([2, 3]).shape
        Shape([2, 3])
        """
        sizes, chosen, dtype = sized("empty", shape, device, dtype)
        made = creation.empty(sizes, dtype, device=with_gradient(chosen, requires_grad))
        return made.require_grad() if requires_grad else made

    @staticmethod
    def full(
        shape: ShapeLike,
        fill_value: float,
        device: D | None = None,
        dtype: DTypeLike | None = None,
        requires_grad: bool = False,
    ) -> Tensor[D]:
        """Fill a `shape` with one `fill_value`, which decides the kind when no dtype is given.

        `requires_grad` as in `zeros`.

        >>> Tensor.full((2, 2), 7).tolist()
        [[7, 7], [7, 7]]
        """
        chosen = device_of("full", device)
        _check_number("full", fill_value)
        made = creation.full(fill_value, shape, dtype, device=with_gradient(chosen, requires_grad))
        return made.require_grad() if requires_grad else made

    @overload
    @staticmethod
    def zeros(
        shape: ShapeLike, /, device: D | None = None, dtype: DTypeLike | None = None, *, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @overload
    @staticmethod
    def zeros(
        *shape: SupportsIndex, device: D | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @staticmethod
    def zeros(*shape: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor[Any]:
        """Fill a `shape` with 0: one sequence or numbers, then a device and a dtype, which may stand by name.

        With `requires_grad` the tensor is on a device that records a graph, and `backward` keeps its gradient.

        >>> Tensor.zeros([2, 3]).shape == Tensor.zeros(2, 3).shape
        True
        >>> Tensor.zeros(2, dtype="i32").tolist()
        [0, 0]
        """
        sizes, chosen, dtype = sized("zeros", shape, device, dtype)
        return CreationMethods.full(sizes, 0.0, chosen, dtype, requires_grad)

    @overload
    @staticmethod
    def ones(
        shape: ShapeLike, /, device: D | None = None, dtype: DTypeLike | None = None, *, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @overload
    @staticmethod
    def ones(
        *shape: SupportsIndex, device: D | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @staticmethod
    def ones(*shape: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor[Any]:
        """Fill a `shape` with 1: one sequence or numbers, then a device and a dtype; `requires_grad` as in `zeros`.

        >>> Tensor.ones(2, 2).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
        """
        sizes, chosen, dtype = sized("ones", shape, device, dtype)
        return CreationMethods.full(sizes, 1.0, chosen, dtype, requires_grad)

    def full_like(  # type: ignore[misc]
        self: Tensor[B], fill_value: float, *, device: Device | None = None, dtype: DTypeLike | None = None
    ) -> Tensor[B]:
        """The same shape, and the same dtype and device unless others are given, filled with one `fill_value`.

        >>> burn.tensor([1, 2]).full_like(7).tolist()
        [7, 7]
        """
        where = self.device if device is None else device_of("full_like", device)
        _check_number("full_like", fill_value)
        return creation.full(fill_value, self.shape, self.dtype if dtype is None else dtype, device=where)

    def zeros_like(self: Tensor[B], *, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, and the same dtype and device unless others are given, filled with 0.

        >>> burn.tensor([1, 2]).zeros_like(dtype="f32").tolist()
        [0.0, 0.0]
        """
        return self.full_like(0, device=device, dtype=dtype)

    def ones_like(self: Tensor[B], *, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, and the same dtype and device unless others are given, filled with 1.

        >>> burn.tensor([3, 4]).ones_like().tolist()
        [1, 1]
        """
        return self.full_like(1, device=device, dtype=dtype)

    def empty_like(self: Tensor[B], *, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor[B]:  # type: ignore[misc]
        """The same shape, and the same dtype and device unless others are given, not written to.

        >>> burn.tensor([1, 2]).empty_like().shape
        Shape([2])
        """
        where = self.device if device is None else device_of("empty_like", device)
        return creation.empty(self.shape, self.dtype if dtype is None else dtype, device=where)

    @overload
    @staticmethod
    def arange(interval: range | int, /, device: D | None = None, dtype: DTypeLike | None = None) -> Tensor[D]: ...
    @overload
    @staticmethod
    def arange(
        *interval: float,
        device: D | None = None,
        dtype: DTypeLike | None = None,
        start: float | None = None,
        end: float | None = None,
        step: float | None = None,
        requires_grad: bool = False,
    ) -> Tensor[D]: ...
    @staticmethod
    def arange(
        *interval: Any,
        device: Any = None,
        dtype: Any = None,
        start: Any = None,
        end: Any = None,
        step: Any = None,
        requires_grad: bool = False,
    ) -> Tensor[Any]:
        """Count through an `interval`: a `range`, or `start`, `end` and `step` by place or by name, without the end.

        Ints give the device's int dtype; floats its float dtype. `requires_grad` as in `zeros`.

        >>> Tensor.arange(range(5, 8)).tolist(), Tensor.arange(3).tolist(), Tensor.arange(0.0, 1.0, 0.25).tolist()
        ([5, 6, 7], [0, 1, 2], [0.0, 0.25, 0.5, 0.75])
        """
        interval, device, dtype = split("arange", interval, device, dtype)
        chosen = device_of("arange", device)
        if len(interval) == 1 and isinstance(interval[0], range | slice) and start is end is step is None:
            return CreationMethods._counted("arange", interval[0], None, chosen, dtype)
        first, last, stride = _interval(interval, start, end, step)
        made = creation.arange(first, last, stride, dtype, device=with_gradient(chosen, requires_grad))
        return made.require_grad() if requires_grad else made

    @staticmethod
    def arange_step(
        interval: range | int, step: int, device: D | None = None, dtype: DTypeLike | None = None
    ) -> Tensor[D]:
        """Count through a `range`, the `interval`, in steps of `step`.

        >>> Tensor.arange_step(range(0, 10), 3).tolist()
        [0, 3, 6, 9]
        """
        return CreationMethods._counted("arange_step", interval, step, device_of("arange_step", device), dtype)

    @staticmethod
    def _counted(operation: str, interval: Any, step: int | None, chosen: Any, dtype: Any) -> Tensor[Any]:
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

    @overload
    @staticmethod
    def eye(
        size: int, /, device: D | None = None, dtype: DTypeLike | None = None, *, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @overload
    @staticmethod
    def eye(
        *size: SupportsIndex, device: D | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> Tensor[D]: ...
    @staticmethod
    def eye(*size: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor[Any]:
        """The identity matrix of a `size`; `eye(3, 4)` adds a column of zeros. `requires_grad` as in `zeros`.

        >>> Tensor.eye(2).tolist(), Tensor.eye(1, 2).tolist()
        ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]])
        """
        sizes, chosen, dtype = sized("eye", size, device, dtype)
        if not 1 <= len(sizes) <= 2:
            raise ArgumentError(f"eye: a matrix has rows and columns, got {list(sizes)}; write eye(3) or eye(3, 4)")
        target = chosen.float_dtype if dtype is None else as_dtype(dtype)
        if not target.is_arithmetic:
            raise DTypeError(f"eye: {target} only stores values")
        where = with_gradient(chosen, requires_grad)
        rows: Any = creation.arange(0, sizes[0], 1, chosen.int_dtype, device=where)
        columns: Any = creation.arange(0, sizes[-1], 1, chosen.int_dtype, device=where)
        made = rows.reshape((sizes[0], 1)).equal(columns.reshape((1, sizes[-1]))).cast(target)
        return made.require_grad() if requires_grad else made  # type: ignore[no-any-return]


def _check_number(operation: str, fill_value: Any) -> None:
    if not isinstance(fill_value, dispatch.NUMBERS):
        raise ArgumentError(f"{operation}: fill_value must be a number, got {shown(fill_value)}; write 7.0")


def _interval(given: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Start, end and step of `arange`, by place or by name."""
    names = {1: ("end",), 2: ("start", "end"), 3: ("start", "end", "step")}.get(len(given), ())
    if len(given) == 1 and end is not None:
        names = ("start",)
    found = {"start": start, "end": end, "step": step}
    for name, value in zip(names, given):
        if found[name] is not None:
            raise ArgumentError(f"arange: {name} is given twice, as {value!r} and {found[name]!r}")
        found[name] = value
    if len(given) > 3 or found["end"] is None:
        raise ArgumentError(f"arange: takes start, end and step, got {given!r}; write arange(10) or arange(2, 10, 2)")
    numbers = found["start"] or 0, found["end"], 1 if found["step"] is None else found["step"]
    values = [each.item() if isinstance(each, np.generic) else each for each in numbers]
    for value in values:
        if not (isinstance(value, float) or is_size(value)) or value != value or value in (float("inf"), float("-inf")):
            raise ArgumentError(f"arange: needs numbers or one range, got {shown(value)}; write arange(2, 10)")
    return values[0], values[1], values[2]
