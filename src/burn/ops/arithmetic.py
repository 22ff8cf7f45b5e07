"""Arithmetic and other functions of two numbers, which broadcast."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import FLOATS
from burn.ops import elements, elementwise, logic
from burn.ops import references as reference
from burn.ops.declare import anything, binary, composite, floating, numeric

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


@binary(
    dtype=anything, element=elements.by_kind("add", "bit_or"), reference=np.add, vjp=dict(x=lambda g: g, y=lambda g: g)
)
def add(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Add elementwise, broadcasting.

    >>> (burn.tensor([[1], [2]]) + burn.tensor([10, 20])).tolist()
    [[11, 21], [12, 22]]
    """
    ...


@binary(
    dtype=numeric, element=lambda b, x, y: b.sub(x, y), reference=np.subtract, vjp=dict(x=lambda g: g, y=lambda g: -g)
)
def sub(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Subtract elementwise, broadcasting.

    >>> (burn.tensor([5, 7]) - 1).tolist()
    [4, 6]
    """
    ...


@binary(
    dtype=anything,
    element=elements.by_kind("mul", "bit_and"),
    reference=np.multiply,
    vjp=dict(x=lambda g, y: g * y, y=lambda g, x: g * x),
)
def mul(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Multiply elementwise, broadcasting.

    >>> (burn.tensor([1, 2]) * 1.5).tolist()
    [1.5, 3.0]
    """
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.div(x, y),
    reference=reference.div,
    vjp=dict(x=lambda g, y: g / y, y=lambda g, y, out: -g * out / y),
)
def div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide elementwise. Integers are truncated towards zero, and anything over 0 is 0.

    >>> burn.tensor([7, -7]).div(2).tolist(), (burn.tensor([7, -7]) / 2).tolist()
    ([3, -3], [3.5, -3.5])
    """
    ...


@binary(
    dtype=floating,
    element=lambda b, x, y: b.div(x, y),
    reference=np.true_divide,
    vjp=dict(x=lambda g, y: g / y, y=lambda g, y, out: -g * out / y),
)
def true_div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide elementwise with a float result: the operator `/`."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.floor_div(x, y),
    reference=reference.floor_div,
    vjp=dict(x=lambda g: g.zeros_like(), y=lambda g: g.zeros_like()),
)
def floor_div(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Divide and round down: the operator `//`. An integer over 0 gives 0."""
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.floor_rem(x, y),
    costly=True,
    reference=reference.rem,
    vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * floor_div(x, y)),
)
def rem(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the remainder, which takes the sign of the divisor. An integer modulo 0 gives 0.

    >>> (burn.tensor([7, -7]) % 3).tolist()
    [1, 2]
    """
    ...


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.rem(x, y),
    costly=True,
    reference=reference.fmod,
    vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * elementwise.trunc(true_div(x, y))),
)
def fmod(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the remainder, which takes the sign of the dividend.

    >>> burn.tensor([7, -7]).fmod(3).tolist()
    [1, -1]
    """
    ...


def _power_base(g: Any, x: Any, y: Any) -> Any:
    if not hasattr(y, "device"):
        return g.zeros_like() if y == 0 else g * (pow(x, y - 1) * y)
    return (g * (y * pow(x, y - 1.0))).mask_fill(y == 0.0, 0.0)


def _power_exponent(g: Any, x: Any, y: Any, out: Any) -> Any:
    if not hasattr(x, "device"):
        return g * out * math.log(x) if x > 0 else (g * out).zeros_like() * (0.0 if x == 0 else math.nan)
    safe = (x == 0.0) & (y >= 0.0)
    return (g * out * x.log()).mask_fill(safe, 0.0)


@binary(
    dtype=numeric,
    element=lambda b, x, y: b.pow(x, y),
    costly=True,
    element_dtypes=FLOATS,
    reference=reference.power,
    vjp=dict(x=_power_base, y=_power_exponent),
)
def pow(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Raise `x` to the power `y`. Negative integer powers of integers truncate to -1, 0 or 1.

    >>> (burn.tensor([2.0, 3.0]) ** burn.tensor([3.0, -1.0])).to_data()
    TensorData([8.0, 0.33333334], shape=[2], dtype=f32)
    """
    ...


@binary(
    dtype=floating,
    element=lambda b, x, y: b.atan2(x, y),
    costly=True,
    reference=np.arctan2,
    vjp=dict(x=lambda g, x, y: g * y / (x * x + y * y), y=lambda g, x, y: -g * x / (x * x + y * y)),
)
def atan2(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute the angle of the point `(y, x)`: `atan(x / y)` in the right quadrant.

    >>> burn.tensor([1.0, 1.0]).atan2(burn.tensor([1.0, -1.0])).to_data()
    TensorData([0.7853981, 2.3561945], shape=[2], dtype=f32)
    """
    ...


@binary(
    dtype=floating,
    element=elements.hypot,
    costly=True,
    reference=np.hypot,
    vjp=dict(x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out)),
)
def hypot(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Compute `sqrt(x² + y²)` without overflow.

    >>> burn.tensor([3.0, 6.0]).hypot(burn.tensor([4.0, 8.0])).tolist()
    [5.0, 10.0]
    """
    ...


def _chosen(g: Any, winner: Any, loser_or_equal: Any) -> Any:
    """The gradient of the larger (or smaller) operand; ties share it."""
    return g * (winner.cast(g.dtype) + loser_or_equal.cast(g.dtype) * 0.5)


@binary(
    dtype=anything,
    element=elements.by_kind("max", "bit_or"),
    reference=np.maximum,
    vjp=dict(
        x=lambda g, x, y: _chosen(g, logic.greater(x, y), logic.equal(x, y)),
        y=lambda g, x, y: _chosen(g, logic.greater(y, x), logic.equal(x, y)),
    ),
)
def max_pair(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Take the larger of two elements; NaN if either is NaN.

    >>> burn.tensor([1, 5]).max_pair(burn.tensor([3, 4])).tolist()
    [3, 5]
    """
    ...


@binary(
    dtype=anything,
    element=elements.by_kind("min", "bit_and"),
    reference=np.minimum,
    vjp=dict(
        x=lambda g, x, y: _chosen(g, logic.greater(y, x), logic.equal(x, y)),
        y=lambda g, x, y: _chosen(g, logic.greater(x, y), logic.equal(x, y)),
    ),
)
def min_pair(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Take the smaller of two elements; NaN if either is NaN.

    >>> burn.tensor([1, 5]).min_pair(burn.tensor([3, 4])).tolist()
    [1, 4]
    """
    ...


@binary(
    dtype=numeric,
    element=elements.bounded("max", "gt"),
    reference=np.maximum,
    vjp=dict(
        x=lambda g, x, y: g.mask_fill(logic.lower(x, y), 0.0),
        y=lambda g, x, y: g.mask_fill(logic.bool_not(logic.lower(x, y)), 0.0),
    ),
)
def clamp_min(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Raise every element below `y` to `y`.

    >>> burn.tensor([-2, 0, 3]).clamp_min(0).tolist()
    [0, 0, 3]
    """
    ...


@binary(
    dtype=numeric,
    element=elements.bounded("min", "lt"),
    reference=np.minimum,
    vjp=dict(
        x=lambda g, x, y: g.mask_fill(logic.greater(x, y), 0.0),
        y=lambda g, x, y: g.mask_fill(logic.bool_not(logic.greater(x, y)), 0.0),
    ),
)
def clamp_max(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Lower every element above `y` to `y`.

    >>> burn.tensor([-2, 0, 3]).clamp_max(1).tolist()
    [-2, 0, 1]
    """
    ...


@composite()
def clamp(x: Tensor[B], min: float | Tensor[Any], max: float | Tensor[Any]) -> Tensor[B]:
    """Bring every element into the range from `min` to `max`.

    >>> burn.tensor([-2, 0, 3]).clamp(-1, 1).tolist()
    [-1, 0, 1]
    """
    return x.clamp_min(min).clamp_max(max)
