"""Running sums, products, maxima and minima along a dim. NaN stays once it has appeared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import HALVES, DType, f32, f64, from_numpy
from burn.ops import creation
from burn.ops.declare import composite, numeric, prepared, primitive
from burn.ops.joining import cat
from burn.ops.op import Op
from burn.ops.reduce import places
from burn.shape import axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _along(op: Op, x: Any, dim: Any) -> Any:
    return x.shape, x.dtype, (axis(op.name, dim, len(x.shape)),)


def running_dtype(dtype: DType) -> DType:
    """The dtype of a running sum or product: twice as wide for f32, since its error grows with every step."""
    return f64 if dtype is f32 else f32 if dtype in HALVES else dtype


def _accumulated(function: Any) -> Callable[[Any, int], Any]:
    """A NumPy scan whose running value is wider than its elements."""

    def reference(x: Any, dim: int) -> Any:
        with np.errstate(over="ignore"):
            return function(x, axis=dim, dtype=running_dtype(from_numpy(x.dtype)).numpy).astype(x.dtype, copy=False)

    return reference


def _from_here(x: Any, dim: int) -> Any:
    """The sum of each element and all after it."""
    return x.flip([dim]).cumsum(dim).flip([dim])


def _factor(g: Any, x: Any, out: Any, dim: int) -> Any:
    """The gradient of a running product, in linear time also where there are zeros.

    Before the first zero a product holds `x` itself and can be divided by it. At the first zero the
    products from there on are those in which it is replaced by 1. After it every gradient is 0.
    """
    zero = x.equal(0.0)
    seen = zero.int().cumsum(dim)
    first = zero.bool_and(seen.equal(1))
    before = _from_here(g * out, dim) / x
    at_first = _from_here(g * x.mask_fill(first, 1.0).cumprod(dim), dim)
    return before.mask_where(first, at_first).mask_fill(seen.greater(0).bool_and(first.bool_not()), 0.0)


def _setter(g: Any, x: Any, out: Any, dim: int) -> Any:
    """The gradient of a running maximum or minimum: it goes to the last element that set the value."""
    own = x.equal(out).bool_or(x.is_nan())
    indices = places(dim, x.shape, x.device).mask_fill(own.bool_not(), 0).cummax(dim)
    return g.zeros_like().scatter(dim, indices, g)


@primitive(
    rule=_along,
    reference=_accumulated(np.cumsum),
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, dim: _from_here(g, dim)),
)
def cumsum(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sum the elements up to each place along a dim.

    >>> burn.tensor([[1, 2, 3], [4, 5, 6]]).cumsum(1).tolist()
    [[1, 3, 6], [4, 9, 15]]
    """
    ...


@primitive(rule=_along, reference=_accumulated(np.cumprod), prepare=prepared(numeric), vjp=dict(x=_factor))
def cumprod(x: Tensor[B], dim: int) -> Tensor[B]:
    """Multiply the elements up to each place along a dim.

    >>> burn.tensor([1, 2, 3, 4]).cumprod(0).tolist()
    [1, 2, 6, 24]
    """
    ...


@primitive(
    rule=_along,
    reference=lambda x, dim: np.maximum.accumulate(x, axis=dim),
    prepare=prepared(numeric),
    vjp=dict(x=_setter),
)
def cummax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the largest element up to each place along a dim.

    >>> burn.tensor([1, 3, 2, 4]).cummax(0).tolist()
    [1, 3, 3, 4]
    """
    ...


@primitive(
    rule=_along,
    reference=lambda x, dim: np.minimum.accumulate(x, axis=dim),
    prepare=prepared(numeric),
    vjp=dict(x=_setter),
)
def cummin(x: Tensor[B], dim: int) -> Tensor[B]:
    """Take the smallest element up to each place along a dim.

    >>> burn.tensor([4, 2, 3, 1]).cummin(0).tolist()
    [4, 2, 2, 1]
    """
    ...


# Ends and directions


def _running_rule(op: Op, x: Any, dim: Any, exclusive: Any, reverse: Any) -> Any:
    return x.shape, x.dtype, (axis(op.name, dim, len(x.shape)), bool(exclusive), bool(reverse))


def _shifted(x: Any, dim: int, first: float) -> Any:
    """The elements one place later, `first` at the front."""
    if not x.shape[dim]:
        return x
    front = creation.full(first, x.shape.with_dim(dim, 1), x.dtype, device=x.device)
    return cat([front, x.narrow(dim, 0, x.shape[dim] - 1)], dim)


@composite(rule=_running_rule, prepare=prepared(numeric))
def running_sum(x: Tensor[B], dim: int, exclusive: bool = False, reverse: bool = False) -> Tensor[B]:
    """Sum the elements up to each place along a dim; `exclusive` leaves out its own, `reverse` begins at the end.

    >>> burn.tensor([1, 2, 3]).running_sum(0, exclusive=True).tolist()
    [0, 1, 3]
    """
    values: Any = x.flip([dim]) if reverse else x
    values = (_shifted(values, dim, 0) if exclusive else values).cumsum(dim)
    return values.flip([dim]) if reverse else values  # type: ignore[no-any-return]


@composite(rule=_running_rule, prepare=prepared(numeric))
def running_product(x: Tensor[B], dim: int, exclusive: bool = False, reverse: bool = False) -> Tensor[B]:
    """Multiply the elements up to each place along a dim; `exclusive` and `reverse` as in `running_sum`.

    >>> burn.tensor([2, 3, 4]).running_product(0, reverse=True).tolist()
    [24, 12, 4]
    """
    values: Any = x.flip([dim]) if reverse else x
    values = (_shifted(values, dim, 1) if exclusive else values).cumprod(dim)
    return values.flip([dim]) if reverse else values  # type: ignore[no-any-return]
