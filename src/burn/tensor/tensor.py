"""The `Tensor`: a handle, the device it lives on, its dtype and its shape.

Operations are rows of the op table, listed in the class body under Burn's names. Nothing changes a
tensor in place; a device reuses a buffer when nobody can see it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np
from typing_extensions import TypeVar

from burn.device import Device, current_device
from burn.dtype import DType, Kind
from burn.errors import ArgumentError, AutodiffError, CallError, DataError, DTypeError, shown
from burn.guesses import not_a_device
from burn.ops import dispatch
from burn.shape import Shape
from burn.tensor.data import TensorData
from burn.tensor.graph_types import backward_method, grad_method
from burn.tensor.methods.activation import ActivationMethods
from burn.tensor.methods.creation import CreationMethods, place
from burn.tensor.methods.elementwise import ElementwiseMethods
from burn.tensor.methods.familiar import FamiliarMethods
from burn.tensor.methods.indexing import IndexingMethods
from burn.tensor.methods.linalg import LinalgMethods
from burn.tensor.methods.movement import MovementMethods
from burn.tensor.methods.quantization import QuantizationMethods
from burn.tensor.methods.random import RandomMethods
from burn.tensor.methods.reduce import ReduceMethods
from burn.tensor.methods.sort import SortMethods
from burn.tensor.methods.spatial import SpatialMethods
from burn.tensor.printing import format_tensor, format_values, parse_format_spec
from burn.tensor.signatures import explain_calls

if TYPE_CHECKING:
    from burn.backend.autodiff import Autodiff, Gradients
    from burn.dtype import DTypeLike

B = TypeVar("B", bound=Device, default=Device, covariant=True)
D = TypeVar("D", bound=Device, default=Device)
I = TypeVar("I", bound=Device)  # noqa: E741

_OF_NUMBERS = frozenset("feEgG%d")
"""How formats of numbers end; a tensor of one element is shown as that number then."""

NO_SHAPE: Any = ...


class Tensor(
    ActivationMethods,
    CreationMethods,
    ElementwiseMethods,
    FamiliarMethods,
    IndexingMethods,
    LinalgMethods,
    MovementMethods,
    QuantizationMethods,
    RandomMethods,
    ReduceMethods,
    SortMethods,
    SpatialMethods,
    Generic[B],
):
    """An array of numbers on a device, which never changes.

    Make one with `burn.tensor(...)`, `Tensor.from_data(...)`, `Tensor.zeros(...)` and the like. The
    parameter names the device for type checkers; a bare `Tensor` means any device.

    Arguments:
        handle: what the kernels of `device` compute with.
        dtype, shape: those of the handle.

    >>> burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=burn.NdArray()) * 10.0
    Tensor {
      data:
      [[10.0, 20.0],
       [30.0, 40.0]],
      shape: [2, 2],
      device: Cpu,
      backend: "ndarray",
      kind: "Float",
      dtype: "f32",
    }
    """

    __slots__ = ("handle", "device", "dtype", "shape", "__weakref__")

    handle: Any
    device: B
    dtype: DType
    shape: Shape

    __array_priority__ = 1000.0
    __tree_leaf__ = True

    def __init__(self, handle: object, device: B = NO_SHAPE, dtype: DType = NO_SHAPE, shape: Shape = NO_SHAPE) -> None:
        if shape is NO_SHAPE:
            raise DTypeError("Tensor: make one with burn.tensor(data, device=...) or Tensor.from_data(data, device)")
        self.handle = handle
        self.device = device
        self.dtype = dtype
        self.shape = shape

    # What it is

    @property
    def kind(self) -> Kind:
        """`Float`, `Int` or `Bool`."""
        return self.dtype.kind

    @property
    def rank(self) -> builtins.int:
        """The number of dimensions."""
        return len(self.shape)

    def dims(self) -> tuple[builtins.int, ...]:
        """The sizes as a plain tuple.

        >>> Tensor.zeros([2, 3]).dims()
        (2, 3)
        """
        return tuple(self.shape)

    def num_elements(self) -> builtins.int:
        """The number of elements.

        >>> Tensor.zeros([2, 3]).num_elements()
        6
        """
        return self.shape.num_elements()

    # Reading

    def to_data(self) -> TensorData:
        """The values on the host.

        >>> burn.tensor([1.0, 2.0]).to_data()
        TensorData([1.0, 2.0], shape=[2], dtype=f32)
        """
        return TensorData.adopt(self.device.to_host(self.handle), self.dtype)

    into_data = try_into_data = to_data

    def to_data_as(self, dtype: DTypeLike) -> TensorData:
        """The values on the host, in another dtype.

        >>> burn.tensor([1.5, 2.5]).to_data_as("i32")
        TensorData([1, 2], shape=[2], dtype=i32)
        """
        return self.to_data().convert(dtype)

    async def to_data_async(self) -> TensorData:
        """The values on the host, for programs that wait on several things at once.

        >>> import asyncio
        >>> asyncio.run(burn.tensor([1, 2]).to_data_async()).tolist()
        [1, 2]
        """
        return self.to_data()

    into_data_async = to_data_async

    def into_scalar(self) -> builtins.float:
        """The value of a tensor of one element, as a Python number.

        >>> burn.tensor([1, 2]).sum().into_scalar()
        3
        """
        if self.shape.num_elements() != 1:
            raise DataError(
                f"into_scalar: a tensor of shape {tuple(self.shape)} has {self.shape.num_elements()} elements, not one"
            )
        return self.device.to_host(self.handle).reshape(()).item()  # type: ignore[no-any-return]

    item = try_into_scalar = into_scalar

    async def into_scalar_async(self) -> builtins.float:
        """The value of a tensor of one element, for programs that wait on several things at once.

        >>> import asyncio
        >>> asyncio.run(burn.tensor([7]).into_scalar_async())
        7
        """
        return self.into_scalar()

    def numpy(self) -> np.ndarray[tuple[builtins.int, ...], np.dtype[Any]]:
        """The values as a read-only NumPy array; on the host it shares the tensor's memory.

        >>> burn.tensor([1, 2]).numpy()
        array([1, 2])
        """
        array = self.device.to_host(self.handle).view()
        array.flags.writeable = False
        return array

    to_numpy = numpy

    def tolist(self) -> Any:
        """The values as nested Python lists.

        >>> burn.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.device.to_host(self.handle).tolist()

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise DataError(f"__array__: {self.dtype} does not become {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from burn.tensor.numpy_protocol import array_ufunc

        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from burn.tensor.numpy_protocol import array_function

        return array_function(function, types, args, kwargs)

    def __dlpack__(self, **options: Any) -> Any:
        return self.device.base.to_dlpack(self._bottom(), **options)

    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]:
        return self.device.base.dlpack_device(self._bottom())

    @staticmethod
    def from_dlpack(other: Any, device: D | None = None, copy: builtins.bool = True) -> Tensor[D]:
        """A tensor over the memory of another library.

        Arguments:
            copy: False shares the memory, and then nobody may write to it.

        >>> Tensor.from_dlpack(np.array([1.0, 2.0], np.float32)).tolist()
        [1.0, 2.0]
        """
        target = current_device() if device is None else device
        handle = target.base.from_dlpack(other, copy)
        base = dispatch.wrap(target.base, handle)
        return Tensor(target.lift(base), target, base.dtype, base.shape)

    def _bottom(self) -> Any:
        """The handle of the hardware, below every decorator."""
        handle, device = self.handle, self.device
        while device.below is not None:
            handle, device = device.undecorated(handle), device.below  # type: ignore[assignment]
        return handle

    # Moving

    def to_device(self, device: D) -> Tensor[D]:
        """This tensor on another device. A gradient flows back across.

        >>> burn.tensor([1, 2]).to_device(burn.NdArray().autodiff()).device
        Autodiff(NdArray())
        """
        if device is self.device:
            return self  # type: ignore[return-value]
        if not isinstance(device, Device):
            raise not_a_device("to_device", device, "NdArray()")
        return device.receive(self)

    def into_primitive(self) -> Any:
        """The handle that the device's kernels work on.

        >>> burn.tensor([1, 2], device=burn.NdArray()).into_primitive()
        array([1, 2])
        """
        return self.handle

    @staticmethod
    def from_primitive(primitive: Any, device: D | None = None) -> Tensor[D]:
        """A tensor around a handle of `device`, the `primitive`.

        >>> Tensor.from_primitive(np.array([1, 2]), burn.NdArray()).tolist()
        [1, 2]
        """
        target = current_device() if device is None else device
        return dispatch.wrap(target, primitive)

    def clone(self) -> Tensor[B]:
        """This tensor: nothing can change it, so it needs no copy.

        >>> x = burn.tensor([1, 2])
        >>> x.clone() is x
        True
        """
        return self

    def can_mut(self) -> builtins.bool:
        """Whether the device may overwrite the buffer: never, as far as the user can see.

        >>> burn.tensor([1, 2]).can_mut()
        False
        """
        return False

    # Gradients

    @backward_method
    def backward(self, *, retain_graph: builtins.bool = False) -> Gradients:
        """Compute the gradients of everything this tensor depends on, starting from ones.

        The graph is released as it is used; `retain_graph` keeps it for another call.

        >>> x = burn.tensor([2.0, 3.0], device=burn.NdArray().autodiff()).require_grad()
        >>> grads = (x * x).sum().backward()
        >>> x.grad(grads).tolist()
        [4.0, 6.0]
        """
        return self.device.backward(self, retain_graph)  # type: ignore[no-any-return]

    @grad_method
    def grad(self, grads: Gradients) -> Tensor | None:
        """The gradient of this tensor among `grads`, on the inner device; None if none reached it.

        >>> x = burn.tensor([2.0], device=burn.NdArray().autodiff()).require_grad()
        >>> x.grad((x * 3.0).backward()).tolist()
        [3.0]
        """
        self._check_gradients("grad")
        return grads.get(self)

    @grad_method
    def grad_remove(self, grads: Gradients) -> Tensor | None:
        """Take the gradient of this tensor out of `grads`.

        >>> x = burn.tensor([2.0], device=burn.NdArray().autodiff()).require_grad()
        >>> grads = (x * 3.0).backward()
        >>> x.grad_remove(grads).tolist(), x.grad(grads)
        ([3.0], None)
        """
        self._check_gradients("grad_remove")
        return grads.remove(self)

    def grad_replace(self, grads: Gradients, gradient: Tensor) -> None:
        """Put another `gradient` in the place of this tensor's among `grads`.

        >>> x = burn.tensor([2.0], device=burn.NdArray().autodiff()).require_grad()
        >>> grads = (x * 3.0).backward()
        >>> x.grad_replace(grads, burn.tensor([1.0], device=burn.NdArray()))
        >>> x.grad(grads).tolist()
        [1.0]
        """
        self._check_gradients("grad_replace")
        grads.replace(self, gradient)

    def _check_gradients(self, operation: str) -> None:
        if not self.device.is_autodiff:
            raise AutodiffError(
                f"{operation}: this tensor lives on {self.device!r}, which records no graph; "
                f"create it on {self.device!r}.autodiff()"
            )

    def require_grad(self) -> Tensor[B]:
        """This tensor with its gradient kept by `backward`. Without autodiff, itself.

        >>> burn.tensor([2.0], device=burn.NdArray().autodiff()).require_grad().is_require_grad()
        True
        """
        return self.set_require_grad(True)

    def set_require_grad(self, require_grad: builtins.bool) -> Tensor[B]:
        """This tensor with its gradient kept or not, as `require_grad` says. Without autodiff, itself.

        >>> x = burn.tensor([2.0], device=burn.NdArray().autodiff())
        >>> x.set_require_grad(True).is_require_grad(), x.set_require_grad(False).is_require_grad()
        (True, False)
        """
        return self.device.tracked(self, require_grad)

    def is_require_grad(self) -> builtins.bool:
        """Whether `backward` keeps the gradient of this tensor.

        >>> burn.tensor([2.0]).is_require_grad()
        False
        """
        return self.device.is_tracked(self)

    def detach(self) -> Tensor[B]:
        """This tensor cut off from its graph. Without autodiff, itself.

        >>> x = burn.tensor([2.0], device=burn.NdArray().autodiff()).require_grad()
        >>> x.grad((x * x.detach()).backward()).tolist()
        [2.0]
        """
        return self.device.tracked(self, False)

    @overload
    def inner(self: Tensor[Autodiff[I]]) -> Tensor[I]: ...
    @overload
    def inner(self) -> Tensor[B]: ...
    def inner(self) -> Tensor[Any]:
        """This tensor on the device below one `Autodiff`; itself where there is none.

        >>> burn.tensor([2.0], device=burn.NdArray().autodiff()).inner().device
        NdArray()
        """
        return self.device.inward(self)

    def no_grad(self) -> Tensor[Any]:
        """This tensor below every `Autodiff`.

        >>> burn.tensor([2.0], device=burn.NdArray().autodiff()).no_grad().device
        NdArray()
        """
        tensor: Tensor[Any] = self
        while tensor.device.is_autodiff:
            tensor = tensor.inner()
        return tensor

    @staticmethod
    def from_inner(tensor: Tensor[D]) -> Tensor[Autodiff[D]]:
        """`tensor` on `Autodiff` of its device, as a constant.

        >>> Tensor.from_inner(burn.tensor([2.0], device=burn.NdArray())).device
        Autodiff(NdArray())
        """
        device = tensor.device.autodiff() if not tensor.device.is_autodiff else Device.autodiff_factory(tensor.device)  # type: ignore[misc]
        return Tensor(device.lift(tensor), device, tensor.dtype, tensor.shape)

    # Python

    if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

    def __len__(self) -> builtins.int:
        if not self.shape:
            raise CallError("len: a 0-d tensor has no length; write x.item()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor[B]]:
        if not self.shape:
            raise CallError("iter: a 0-d tensor cannot be iterated over; write x.item()")
        return (self[index] for index in range(self.shape[0]))

    def __contains__(self, value: Any) -> builtins.bool:
        if not isinstance(value, (Tensor, np.ndarray, *dispatch.NUMBERS)):
            raise DTypeError(f"in: needs a number or a tensor, got {shown(value)}")
        same: Any = self == value
        return builtins.bool(same.any())

    def __bool__(self) -> builtins.bool:
        if self.shape.num_elements() != 1:
            raise ArgumentError(
                f"bool: a tensor of shape {tuple(self.shape)} is neither true nor false; use .any() or .all()"
            )
        return builtins.bool(self.into_scalar())

    def __float__(self) -> builtins.float:
        return builtins.float(self.into_scalar())

    def __int__(self) -> builtins.int:
        return builtins.int(self.into_scalar())

    def __index__(self) -> builtins.int:
        if not self.dtype.is_int:
            raise TypeError(f"only an int tensor of one element can be an index, this one is {self.dtype}")
        return builtins.int(self.into_scalar())

    def __str__(self) -> str:
        return format(self, "")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: what the tensor is, and its values."""
        from burn import html

        facts = f"shape {list(self.shape)} · {self.dtype.name} · {self.device!r}"
        values = format_values(self.device.to_host(self.handle), self.dtype)
        return html.box(type(self).__name__, facts, html.preformatted(values))

    def __format__(self, spec: str) -> str:
        if spec[-1:] in _OF_NUMBERS and self.shape.num_elements() == 1:
            return format(self.item(), spec)  # a loss, say: f"{loss:.3f}"
        return format_tensor(
            self.device.to_host(self.handle),
            place=self.device.place,
            label=self.device.label,
            kind=self.kind.value,
            dtype=self.dtype,
            precision=parse_format_spec(spec),
        )

    def __reduce__(self) -> Any:
        return _restore, (self.to_data().to_wire(), self.device)

    def __copy__(self) -> Tensor[B]:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor[B]:
        return self


def missing(tensor: Any, name: str) -> AttributeError:
    """The error for an attribute that a tensor does not have: what to write."""
    title = type(tensor).__name__
    if name.startswith("_") or name in Tensor.__slots__:
        return AttributeError(f"{title} has no attribute {name!r}")
    from burn.tensor.guesses import of_tensor

    known = [each for each in dir(type(tensor)) if not each.startswith("_")]
    if name in known:
        return AttributeError(f"{title}: {name} could not be read")
    return AttributeError(f"{title} has no attribute {name!r}{of_tensor(name, known)}")


class _Gradient:
    """`x.grad`: the method, which says so to those who take it for the gradient itself."""

    __slots__ = ("_method", "__weakref__")

    def __init__(self, method: Any) -> None:
        self._method = method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"grad is a method, without an attribute {name!r}: gradients are values; "
            "write grads = loss.backward(), then x.grad(grads)"
        )

    def __repr__(self) -> str:
        return "<method grad: write grads = loss.backward(), then x.grad(grads)>"


class _Grad:
    """Gives `_Gradient` in the place of a bound method."""

    def __init__(self, function: Any) -> None:
        self.__wrapped__ = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.__wrapped__ if instance is None else _Gradient(self.__wrapped__.__get__(instance))


explain_calls(Tensor, *(each for each in Tensor.__mro__ if each.__module__.startswith("burn.tensor.methods.")))
setattr(Tensor, "grad", _Grad(vars(Tensor)["grad"]))  # noqa: B010


def _restore(wire: Any, device: Device) -> Tensor[Any]:
    """A pickled tensor on the device it came from."""
    return place(TensorData.from_wire(wire), device)
