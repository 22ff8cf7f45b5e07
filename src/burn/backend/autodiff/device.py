"""The `Autodiff` device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from burn.backend.autodiff.backward import backward
from burn.backend.autodiff.checkpoint import BalancedCheckpointing, CheckpointStrategy, NoCheckpointing
from burn.backend.autodiff.graph import Leaf, Node, Variable
from burn.backend.autodiff.record import kernel_for
from burn.backend.decorator import Decorator
from burn.device import Device
from burn.errors import AutodiffError
from burn.ops.op import Vjp
from burn.tensor import Tensor

if TYPE_CHECKING:
    import numpy as np

    from burn.backend.autodiff.gradients import Gradients
    from burn.dtype import DType
    from burn.ops.op import Op

I = TypeVar("I", bound=Device, default=Any)  # noqa: E741


class Autodiff(Decorator[I]):
    """A device with gradients: `inner` computes, and what it computed is recorded.

    `Autodiff(Autodiff(device))` gives second order.

    Arguments:
        checkpointing: what the graph keeps: `NoCheckpointing` or `BalancedCheckpointing`.

    >>> device = burn.Autodiff(burn.NdArray())
    >>> x = burn.tensor([2.0, 3.0], device=device).require_grad()
    >>> x.grad((x * x).sum().backward()).tolist()
    [4.0, 6.0]
    >>> device.inner(), device.autodiff() is device
    (NdArray(), True)
    """

    def __init__(self, inner: I, checkpointing: type[CheckpointStrategy] = NoCheckpointing) -> None:
        super().__init__(inner)
        self.checkpointing = checkpointing
        self.recomputes = checkpointing.recomputes
        self.label = f"autodiff<{inner.label}>"

    @classmethod
    def identity(cls, inner: Device, checkpointing: type[CheckpointStrategy] = NoCheckpointing) -> tuple[Any, ...]:
        if not isinstance(inner, Device):
            raise AutodiffError(f"Autodiff: needs a device, got {inner!r}; write Autodiff(NdArray())")
        if not isinstance(checkpointing, type) or not issubclass(checkpointing, CheckpointStrategy):
            raise AutodiffError(
                f"Autodiff: checkpointing is {checkpointing!r}, not a strategy; "
                "write Autodiff(device, BalancedCheckpointing)"
            )
        return inner, checkpointing

    @property
    def is_autodiff(self) -> bool:
        return True

    def autodiff(self) -> Autodiff[I]:  # type: ignore[override]
        return self

    def inner(self) -> I:
        return self.below

    def gradient_checkpointing(self) -> Autodiff[I]:
        """This device with `BalancedCheckpointing`: less memory, some operations computed twice."""
        return Autodiff(self.below, BalancedCheckpointing)

    # Handles

    def resolve(self, op: Op) -> Any:
        return op.registered_kernel(self) or kernel_for(self, op)

    def is_handle(self, value: Any) -> bool:
        return value.__class__ is Variable

    def lift(self, tensor: Tensor[Any]) -> Variable:
        if tensor.device is self.below:
            return Variable(tensor.handle, None)
        if isinstance(tensor.device, Autodiff) and tensor.device.depth == self.depth:
            return tensor.handle  # type: ignore[no-any-return]
        return Variable(self.below.lift(tensor), None)

    def undecorated(self, handle: Variable) -> Any:
        return handle.inner

    def receive(self, tensor: Tensor[Any]) -> Tensor[Any]:
        if tensor.device.hardware == self.hardware and tensor.device.depth <= self.depth:
            return Tensor(self.lift(tensor), self, tensor.dtype, tensor.shape)
        if not isinstance(tensor.device, Autodiff):
            below = self.below.receive(tensor)
            return Tensor(Variable(below.handle, None), self, tensor.dtype, tensor.shape)
        return moved(tensor, self)

    def from_host(self, array: np.ndarray[Any, Any]) -> Variable:
        return Variable(self.below.from_host(array), None)

    def to_host(self, handle: Variable) -> np.ndarray[Any, Any]:
        return self.below.to_host(handle.inner)

    def shape_of(self, handle: Variable) -> tuple[int, ...]:
        return self.below.shape_of(handle.inner)

    def dtype_of(self, handle: Variable) -> DType:
        return self.below.dtype_of(handle.inner)

    # Gradients

    def tracked(self, tensor: Tensor[Any], required: bool) -> Tensor[Any]:
        """`tensor` as a leaf whose gradient is kept, or detached from its graph."""
        variable = tensor.handle
        node: Node | None = None
        if required:
            if not tensor.dtype.is_float:
                raise AutodiffError(f"require_grad: only float tensors have gradients, this one is {tensor.dtype}")
            if variable.node is not None and variable.node.keep:
                return tensor
            node = Leaf(None, () if variable.node is None else (variable.node,))
        return Tensor(Variable(variable.inner, node), self, tensor.dtype, tensor.shape)

    def is_tracked(self, tensor: Tensor[Any]) -> bool:
        node = tensor.handle.node
        return node is not None and node.keep

    def inward(self, tensor: Tensor[Any]) -> Tensor[Any]:
        return Tensor(tensor.handle.inner, self.below, tensor.dtype, tensor.shape)

    def backward(self, tensor: Tensor[Any], retain_graph: bool = False) -> Gradients[I]:
        """Run the graph of `tensor` backward, starting from ones."""
        node = tensor.handle.node
        if node is None:
            raise AutodiffError(
                "backward: nothing this tensor was computed from requires a gradient; "
                "mark the inputs with .require_grad()"
            )
        inner = self.below
        below = Tensor(tensor.handle.inner, inner, tensor.dtype, tensor.shape)
        return backward(node, below.ones_like(), inner, retain_graph)

    def __repr__(self) -> str:
        if self.checkpointing is NoCheckpointing:
            return f"Autodiff({self.below!r})"
        return f"Autodiff({self.below!r}, {self.checkpointing.__name__})"

    def __reduce__(self) -> Any:
        return Autodiff, (self.below, self.checkpointing)


def moved(tensor: Tensor[Any], target: Autodiff[Any]) -> Tensor[Any]:
    """A tensor of one `Autodiff` device on another one, with the gradient flowing back across."""
    source = tensor.device
    below = source.inward(tensor)
    there = below.to_device(target.inner())
    variable = tensor.handle
    node = None
    if variable.node is not None:
        back = Vjp(lambda g: g.to_device(source.inner()), (("g", 0),))
        node = Node({0: back}, (variable.node,), (None, None))
    return Tensor(Variable(there.handle, node), target, tensor.dtype, tensor.shape)


Device.autodiff_factory = Autodiff
