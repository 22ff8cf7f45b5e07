"""Single steps of optimizers as exchange formats define them: `optimisation.adam(rate, time, x, g, v, h)`.

`burn.optim` has the optimizers one trains with; these are for graphs that contain the step itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.ops import arithmetic
from burn.ops.dispatch import cast_to

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = ["adagrad", "adam", "gradients", "momentum"]


def _like(value: Any, x: Any) -> Any:
    """A rate, or the number of steps taken, without dims and in the dtype of `x`."""
    return cast_to(value, x.dtype).reshape(())


def adagrad(
    rate: Tensor[Any],
    time: Tensor[Any],
    x: Tensor[B],
    gradient: Tensor[Any],
    squares: Tensor[Any],
    *,
    decay: float = 0.0,
    eps: float = 1e-6,
    regularization: float = 0.0,
) -> tuple[Tensor[B], Tensor[B]]:
    """Step by the gradient over the root of the sum of its squares. Gives the new `x` and `squares`."""
    now = _like(rate, x) / (_like(time, x) * decay + 1.0)
    slope = x * regularization + gradient
    total = squares + slope * slope
    return x - now * slope / (total.sqrt() + eps), total


def momentum(
    rate: Tensor[Any],
    time: Tensor[Any],
    x: Tensor[B],
    gradient: Tensor[Any],
    velocity: Tensor[Any],
    *,
    alpha: float,
    beta: float,
    nesterov: bool = False,
    regularization: float = 0.0,
) -> tuple[Tensor[B], Tensor[B]]:
    """Step by a velocity that keeps `alpha` of itself and takes `beta` of the gradient, all of it at time 0."""
    slope = x * regularization + gradient
    first: Any = (_like(time, x) > 0.0).bool_not()
    share = (_like(time, x) * 0.0 + beta).mask_fill(first, 1.0)
    moved = velocity * alpha + share * slope
    step = slope + moved * alpha if nesterov else moved
    return x - _like(rate, x) * step, moved


def adam(
    rate: Tensor[Any],
    time: Tensor[Any],
    x: Tensor[B],
    gradient: Tensor[Any],
    velocity: Tensor[Any],
    squares: Tensor[Any],
    *,
    alpha: float = 0.9,
    beta: float = 0.999,
    eps: float = 1e-6,
    regularization: float = 0.0,
    decay: float = 0.0,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Step by the running mean of the gradient over the root of that of its squares, freed of their start at 0."""
    slope = x * regularization + gradient
    moved = velocity * alpha + slope * (1.0 - alpha)
    total = squares * beta + slope * slope * (1.0 - beta)
    count: Any = _like(time, x)
    started = count > 0.0
    safe = count.mask_fill(started.bool_not(), 1.0)
    correction = (1.0 - _power(beta, safe)).sqrt() / (1.0 - _power(alpha, safe))
    now = _like(rate, x) * correction.mask_fill(started.bool_not(), 1.0)
    return (x - now * (moved / (total.sqrt() + eps))) * (1.0 - decay), moved, total


def _power(base: float, exponent: Any) -> Any:
    return arithmetic.pow(base, exponent)


def gradients(function: Callable[..., Tensor[Any]], *inputs: Tensor[B]) -> list[Tensor[B]]:
    """The gradients of the sum of `function(*inputs)`, one for each input, on the inputs' own device.

    An input that the result does not depend on has zeros.
    """
    tracked: list[Any] = [type(each).from_inner(each).require_grad() for each in inputs]
    result: Any = function(*tracked)
    if not result.device.is_autodiff:
        return [each.zeros_like() for each in inputs]
    found = result.sum().backward()
    given = [each.grad(found) for each in tracked]
    return [x.zeros_like() if gradient is None else gradient for x, gradient in zip(inputs, given)]
