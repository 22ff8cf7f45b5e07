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

    Arguments:
        vjp: the gradient of each operand, a function whose parameters name what it needs: `g`, operands, `out`,
            attributes, `x_shape`. Without it, gradients flow through the body.
        bound: whether checkpointing keeps the result ("compute") or may compute it again ("memory").
        reference: the meaning in NumPy, for tests.

    >>> from burn.extension import operation
    >>> @operation(vjp=dict(x=lambda g, x: g * 3.0 * x * x))
    ... def example_cube(x: Tensor) -> Tensor:
    ...     return x * x * x
    >>> example_cube(burn.tensor([2.0, 3.0])).tolist()
    [8.0, 27.0]
    """
    return composite(reference=reference, vjp=vjp, bound=bound)


def kernel(function: Callable[..., Any], device: type[Device]) -> Callable[[F], F]:
    """Register a kernel `(device, *operands, *attributes)` that replaces the body on one kind of device.

    Arguments:
        function: the operation.
        device: the class of the devices.

    >>> from burn.extension import kernel, operation
    >>> @operation()
    ... def example_halve(x: Tensor) -> Tensor:
    ...     return x * 0.5
    >>> @kernel(example_halve, burn.NdArray)
    ... def example_halve_ndarray(device, x):
    ...     return np.multiply(x, 0.5)
    >>> example_halve(burn.tensor([3.0], device=burn.NdArray())).tolist()
    [1.5]
    """
    op = operation_of(function)

    def register(implementation: F) -> F:
        op.register_kernel(device, implementation)
        return implementation

    return register


def backward(function: Callable[..., Any], device: type[Device]) -> Callable[[F], F]:
    """Register backward rules of `function` for one kind of hardware: a function that returns them, as in `vjp`.

    >>> from burn.extension import backward, operation
    >>> @operation()
    ... def example_round(x: Tensor) -> Tensor:
    ...     return x.round()
    >>> @backward(example_round, burn.NdArray)
    ... def example_round_backward():
    ...     return dict(x=lambda g: g)
    >>> x = burn.tensor([2.7], device=burn.NdArray().autodiff()).require_grad()
    >>> x.grad(example_round(x).backward()).tolist()
    [1.0]
    """
    op = operation_of(function)

    def register(rules: F) -> F:
        op.register_vjp(device, rules())
        return rules

    return register


def operation_of(function: Callable[..., Any]) -> Op:
    """The row behind a public `function`.

    >>> from burn.extension import operation_of
    >>> operation_of(Tensor.exp)
    <primitive exp(x)>
    """
    op = getattr(function, "op", None)
    if not isinstance(op, Op):
        raise ArgumentError(f"{getattr(function, '__name__', function)!r} is no operation: declare it with @operation")
    return op


__all__ = ["Op", "backward", "kernel", "operation", "operation_of", "reduce_to_shape"]
