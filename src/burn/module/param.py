"""Parameters: tensors with an id that a module learns and saves.

    weight = Param(Tensor.zeros([784, 10], device))
    y = x @ weight                      # a Param is a Tensor; results are plain tensors

A parameter made by an initialiser is lazy: its shape, dtype and device are known, its values are
computed when somebody reads them. Loading a record right after `init` therefore draws nothing.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import TypeVar

from burn.device import Device
from burn.dtype import DType
from burn.errors import ArgumentError, ShapeError
from burn.module.identity import ParamId
from burn.shape import as_shape
from burn.tensor import Tensor, TensorData
from burn.tensor.quantization import QuantizedTensor
from burn.tensor.tensor import missing

B = TypeVar("B", bound=Device, default=Device, covariant=True)
Source = Callable[[], Tensor[Any]]

_FILLING = threading.RLock()


class Param(Tensor[B]):
    """A tensor with an `id`; `torch.nn.Parameter`. Optimizers change it, records keep it.

    A Param is a Tensor, and what is computed from it is a plain tensor. With `require_grad=False` it is frozen:
    recorded, but not trained.

    >>> weight = burn.Param(Tensor.ones([2, 3]))
    >>> weight.shape, len(weight.id), weight.trainable
    (Shape([2, 3]), 13, True)
    >>> (weight * 2).sum().item()
    12.0
    """

    __slots__ = ("_source", "id", "trainable")

    _source: Source | None
    id: ParamId
    trainable: bool
    """Whether optimizers change it. Kept on devices without autodiff too."""

    def __new__(cls, tensor: Any = None, *args: Any, **kwargs: Any) -> Param[Any]:
        """A parameter; one of integers and scales if that is what the tensor is."""
        if isinstance(tensor, QuantizedTensor | QuantizedParam) and not issubclass(cls, QuantizedParam):
            return super().__new__(QuantizedParam)
        return super().__new__(cls)

    def __init__(self, tensor: Tensor[B], id: ParamId | str | None = None, require_grad: bool = True) -> None:
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"Param: needs a Tensor, got {type(tensor).__name__}; write Param(burn.tensor(...))")
        self.id = ParamId() if id is None else ParamId(id)
        self.device, self.dtype, self.shape = tensor.device, tensor.dtype, tensor.shape
        self.trainable = require_grad and tensor.dtype.is_float
        self._source = None
        if isinstance(tensor, Param):
            tensor = tensor.val()
        self.handle = _owned(tensor.device.tracked(tensor, self.trainable).handle, self.id)

    @classmethod
    def uninitialized(
        cls,
        id: ParamId | str | None,
        source: Source,
        shape: Any,
        device: Device,
        dtype: DType | None = None,
        require_grad: bool = True,
    ) -> Param[Any]:
        """A parameter whose values `source()` computes at the first read, on the device without autodiff.

        `id` None draws one; `shape` and `dtype` are known before; `require_grad=False` makes it frozen.

        >>> weight = burn.Param.uninitialized(None, lambda: Tensor.ones([2]), [2], burn.default_device())
        >>> weight.is_initialized, weight.shape, weight.sum().item(), weight.is_initialized
        (False, Shape([2]), 2.0, True)
        """
        made: Param[Any] = cls.__new__(cls)
        made.id = ParamId() if id is None else ParamId(id)
        made.device, made.shape = device, as_shape("Param", shape)
        made.dtype = device.float_dtype if dtype is None else dtype
        made.trainable = require_grad and made.dtype.is_float
        made._source = source
        return made

    @classmethod
    def initialized(cls, id: ParamId | str, tensor: Tensor[Any]) -> Param[Any]:
        """A parameter with an id of choice and the values of `tensor`.

        >>> from burn.module import ParamId
        >>> id = ParamId()
        >>> burn.Param.initialized(id, Tensor.ones([2])).id == id
        True
        """
        return cls(tensor, id)

    @classmethod
    def from_tensor(cls, tensor: Tensor[Any]) -> Param[Any]:
        """A new parameter with the values of `tensor`.

        >>> burn.Param.from_tensor(burn.tensor([1.0, 2.0])).trainable
        True
        """
        return cls(tensor)

    @classmethod
    def from_data(cls, data: Any, device: Any = None, dtype: Any = None) -> Param[Any]:
        """A new parameter with the numbers of `data`: nested lists, an array, `TensorData`.

        >>> print(burn.Param.from_data([[1.0, 2.0]]).to_data())
        [[1.0, 2.0]]
        """
        return Param(Tensor.from_data(data, device, dtype))

    # Values

    if not TYPE_CHECKING:  # checkers know the attributes, and find those that are not there

        def __getattr__(self, name: str) -> Any:
            if name != "handle":
                raise missing(self, name)
            return self._fill()

    def _fill(self) -> Any:
        with _FILLING:
            source = self._source
            if source is None:
                return object.__getattribute__(self, "handle")
            tensor = source()
            if tensor.shape != self.shape:
                raise ShapeError(
                    f"Param: the initialiser gave shape {tuple(tensor.shape)} for a parameter of {tuple(self.shape)}"
                )
            tensor = tensor.cast(self.dtype).detach().to_device(self.device)
            self.handle = handle = _owned(self.device.tracked(tensor, self.trainable).handle, self.id)
            self._source = None
            return handle

    @property
    def is_initialized(self) -> bool:
        """Whether the values are there, so that reading them computes nothing."""
        return self._source is None

    def val(self) -> Tensor[B]:
        """The values as a plain tensor, of the same graph.

        >>> type(burn.Param.from_data([1.0]).val()).__name__
        'Tensor'
        """
        return Tensor(self.handle, self.device, self.dtype, self.shape)

    into_value = val

    def dequantize(self) -> Tensor[Any]:
        """The floats, if the values are kept quantised; else `val()`.

        >>> print(burn.Param.from_data([1.0, 2.0]).dequantize().to_data())
        [1.0, 2.0]
        """
        return self.val().dequantize()

    @property
    def learns(self) -> builtins.bool:
        """Whether optimizers change it, or would if its values were not quantised."""
        return self.trainable

    # New parameters with the same id

    def with_value(self, tensor: Tensor[Any]) -> Param[Any]:
        """This parameter with the values of `tensor`: the same id, and frozen if this one is.

        >>> weight = burn.Param.from_data([1.0, 2.0])
        >>> weight.with_value(weight * 2).id == weight.id
        True
        """
        return Param(tensor, self.id, self.learns)

    def map(self, function: Callable[[Tensor[B]], Tensor[Any]]) -> Param[Any]:
        """This parameter with `function` applied to its values.

        >>> print(burn.Param.from_data([1.0, -2.0]).map(lambda tensor: tensor.abs()).to_data())
        [1.0, 2.0]
        """
        return self.with_value(function(self.val()))

    def set_require_grad(self, require_grad: builtins.bool) -> Self:
        """This parameter, trained by optimizers or (with `require_grad` False) not.

        >>> burn.Param.from_data([1.0]).set_require_grad(False).trainable
        False
        """
        if require_grad == self.learns:
            return self
        if not self.is_initialized:
            source = self._source
            assert source is not None
            return self.uninitialized(self.id, _Shared(self), self.shape, self.device, self.dtype, require_grad)  # type: ignore[return-value]
        return Param(self.val().detach(), self.id, require_grad)  # type: ignore[return-value]

    def require_grad(self) -> Self:
        """This parameter, trained by optimizers.

        >>> burn.Param.from_data([1.0]).set_require_grad(False).require_grad().trainable
        True
        """
        return self.set_require_grad(True)

    def moved(self, device: Device) -> Param[Any]:
        """This parameter on another device, with a graph of its own.

        >>> burn.Param.from_data([1.0]).moved(burn.NdArray().autodiff()).device
        Autodiff(NdArray())
        """
        if device is self.device:
            return self
        if not self.is_initialized:
            return self.uninitialized(self.id, _Shared(self), self.shape, device, self.dtype, self.trainable)
        value: Tensor[Any] = self.val()
        if isinstance(value, QuantizedTensor):
            return Param(value.to_device(device), self.id, self.learns)
        value = value.no_grad()
        below: Any = device
        while below.is_autodiff:
            below = below.inner()
        return Param(value.to_device(below).to_device(device), self.id, self.trainable)

    def loaded(self, data: TensorData, id: str | None = None) -> Param[Any]:
        """This parameter with the `data` (and the `id`) of a record, in its own dtype, on its own device.

        >>> weight = burn.Param.from_data([1.0, 2.0])
        >>> print(weight.loaded(burn.tensor([3.0, 4.0]).to_data()).to_data())
        [3.0, 4.0]
        """
        return Param(placed(data, self.device, self.dtype), id or self.id, self.learns)

    # Trees, pickling

    @property
    def __tree_token__(self) -> tuple[str, bool]:
        return (self.id, self.trainable)

    @classmethod
    def __untree__(cls, token: tuple[str, bool], children: Sequence[Any]) -> Param[Any]:
        made = cls.__new__(cls)
        made.id, made.trainable = ParamId(token[0]), token[1]
        (tensor,) = children
        made.device, made.dtype, made.shape = tensor.device, tensor.dtype, tensor.shape
        made._source = None
        made.handle = _owned(tensor.device.tracked(tensor, token[1]).handle, made.id)
        return made

    def __reduce__(self) -> Any:
        return Param, (self.val(), str(self.id), self.learns)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class QuantizedParam(Param[B]):
    """A parameter kept as integers and scales: `Param(quantised_tensor)` makes one.

    Every read computes the floats anew, and optimizers leave it alone. With float values again
    (`model.map(Dequantize())`) it is a plain parameter, trained unless it was frozen before.
    """

    __slots__ = ("_learns", "_tensor")
    __tree_leaf__ = False

    _learns: bool
    _tensor: QuantizedTensor

    def __init__(self, tensor: Tensor[B], id: ParamId | str | None = None, require_grad: bool = True) -> None:
        value = tensor.val() if isinstance(tensor, Param) else tensor
        if not isinstance(value, QuantizedTensor):
            raise ArgumentError("QuantizedParam: needs a QuantizedTensor; write Param(tensor) for any other")
        self.id = ParamId() if id is None else ParamId(id)
        self.device, self.dtype, self.shape = value.device, value.dtype, value.shape
        self.trainable, self._source = False, None
        self._tensor, self._learns = value, require_grad

    def _fill(self) -> Any:
        return self._tensor.handle

    def val(self) -> QuantizedTensor:
        """The quantised values."""
        return self._tensor

    into_value = val

    @property
    def learns(self) -> builtins.bool:
        return self._learns

    def __format__(self, spec: str) -> str:
        return format(self._tensor, spec)

    # Trees: its parts are the leaves, so that a captured function receives the integers

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        children, token = self._tensor.__tree__()
        return children, (str(self.id), self._learns, token)

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> Param[Any]:
        return cls(QuantizedTensor.__untree__(token[2], children), token[0], token[1])


def placed(data: TensorData, device: Device, dtype: DType) -> Tensor[Any]:
    """Values of a record in a dtype, converted once: floats round, ints that do not fit are refused."""
    if dtype.is_int and data.dtype is not dtype:
        data = data.try_cast(dtype)
    return Tensor.from_data(data, device, dtype)


class _Shared:
    """The values of another parameter that is not initialised yet, so that both get the same numbers."""

    __slots__ = ("other",)

    def __init__(self, other: Param[Any]) -> None:
        self.other = other

    def __call__(self) -> Tensor[Any]:
        return self.other.val().no_grad()


def _owned(handle: Any, id: ParamId) -> Any:
    """Mark the leaf of a graph with the parameter it belongs to, so that stale gradients are recognised."""
    node = getattr(handle, "node", None)
    if node is not None:
        node.owner = id
    return handle
