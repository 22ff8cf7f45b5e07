"""What type checkers know of `backward`, `grad` and `grad_remove`, which need a graph.

On a tensor of `Autodiff[I]` they give gradients on `I`. On a device that is known to record nothing they are no
functions, so a call is refused. Where only `Device` is known, as of the result of a model, they may be called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from burn.backend import Cpu, Fusion, LibTorch, NdArray
    from burn.backend.autodiff import Autodiff, Gradients
    from burn.device import Device
    from burn.tensor.tensor import Tensor

    Plain: TypeAlias = "NdArray | Cpu | LibTorch | Fusion[Any]"
    I = TypeVar("I", bound=Device, default=Device)  # noqa: E741
    I_co = TypeVar("I_co", bound=Device, default=Device, covariant=True)

    class DeviceRecordsNoGraph:
        """In the place of a method that needs a graph: make the tensor on `device.autodiff()`."""

    class Backward(Protocol[I_co]):
        """`backward` of a tensor with gradients on `I_co`."""

        def __call__(self, *, retain_graph: bool = False) -> Gradients[I_co]: ...

    class BackwardMethod(Protocol):
        """`backward` in the class of tensors."""

        @overload
        def __get__(self, instance: Tensor[Autodiff[I]], owner: Any) -> Backward[I]: ...
        @overload
        def __get__(self, instance: Tensor[Plain], owner: Any) -> DeviceRecordsNoGraph: ...
        @overload
        def __get__(self, instance: Tensor, owner: Any) -> Backward: ...

    class Grad(Protocol[I_co]):
        """`grad` of a tensor with gradients on `I_co`."""

        def __call__(self, grads: Gradients) -> Tensor[I_co] | None: ...

    class GradMethod(Protocol):
        """`grad` in the class of tensors."""

        @overload
        def __get__(self, instance: Tensor[Autodiff[I]], owner: Any) -> Grad[I]: ...
        @overload
        def __get__(self, instance: Tensor[Plain], owner: Any) -> DeviceRecordsNoGraph: ...
        @overload
        def __get__(self, instance: Tensor, owner: Any) -> Grad: ...


def backward_method(function: Callable[..., Any]) -> BackwardMethod:
    """The function itself, which checkers take for `backward`."""
    return function


def grad_method(function: Callable[..., Any]) -> GradMethod:
    """The function itself, which checkers take for `grad`."""
    return function
