"""Operations of your own, in your own file.

    @operation(bound="compute", vjp=dict(x=lambda g, out: g * out))
    def my_exp(x: Tensor) -> Tensor:
        return x.exp()                      # the body: every device has it at once

    @kernel(my_exp, NdArray)
    def my_exp_ndarray(device, x):          # a kernel for one backend, on its handles
        return np.exp(x)

    @backward(my_exp, LibTorch)             # another gradient where the hardware is LibTorch
    def my_exp_backward():
        return dict(x=lambda g, out: g * out)

An operation behaves like the built-in ones: gradients flow through it (by its `vjp`, or through its
body when it has none), and without tracked operands nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from burn.backend.autodiff.reduce import reduce_to_shape
from burn.device import Device
from burn.errors import ArgumentError
from burn.ops.declare import composite
from burn.ops.op import Bound, Op

F = TypeVar("F", bound=Callable[..., Any])


def operation(
    *,
    vjp: Mapping[str, Callable[..., Any]] | None = None,
    bound: Bound = "memory",
    reference: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Declare an operation by its body, written with other operations.

    `vjp` gives the gradient of each operand; its parameters name what they need (`g`, operands, `out`,
    attributes, `x_shape`). `bound` says whether checkpointing keeps the result ("compute") or may
    compute it again ("memory").
    """
    return composite(reference=reference, vjp=vjp, bound=bound)


def kernel(function: Callable[..., Any], device: type[Device]) -> Callable[[F], F]:
    """Register a kernel `(device, *operands, *attributes)` that replaces the body on one kind of device."""
    op = operation_of(function)

    def register(implementation: F) -> F:
        op.register_kernel(device, implementation)
        return implementation

    return register


def backward(function: Callable[..., Any], device: type[Device]) -> Callable[[F], F]:
    """Register backward rules for one kind of hardware: a function that returns them, as in `vjp`."""
    op = operation_of(function)

    def register(rules: F) -> F:
        op.register_vjp(device, rules())
        return rules

    return register


def operation_of(function: Callable[..., Any]) -> Op:
    """The row behind a public function."""
    op = getattr(function, "op", None)
    if not isinstance(op, Op):
        raise ArgumentError(f"{getattr(function, '__name__', function)!r} is no operation: declare it with @operation")
    return op


__all__ = ["Op", "backward", "kernel", "operation", "operation_of", "reduce_to_shape"]
