"""Choice by a mask, and conversion of dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import bool_
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError
from burn.ops import elements
from burn.ops import references as reference
from burn.ops.declare import primitive
from burn.ops.dispatch import broadcast_rule, filling, promoted
from burn.ops.op import Op

if TYPE_CHECKING:
    from burn.dtype import DTypeLike
    from burn.ops.declare import B, Operand
    from burn.tensor import Tensor


def _cast_rule(op: Op, x: Any, dtype: Any) -> Any:
    target = as_dtype(dtype)
    return x.shape, target, (target,)


@primitive(
    rule=_cast_rule, element=elements.cast, reference=reference.cast, vjp=dict(x=lambda g, x_dtype: g.cast(x_dtype))
)
def cast(x: Tensor[B], dtype: DTypeLike) -> Tensor[B]:
    """Convert to another dtype. Floats saturate into ints, and NaN becomes 0.

    >>> burn.tensor([1.9, -1.9, np.nan]).cast("i32").tolist()
    [1, -1, 0]
    """
    ...


def _where_rule(op: Op, x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {mask.dtype}; write mask.bool()")
    return broadcast_rule(op, x, mask, value)


@primitive(
    rule=_where_rule,
    reference=lambda x, mask, value: np.where(mask, value, x),
    prepare=promoted("x", "value"),
    vjp=dict(x=lambda g, mask: g.mask_fill(mask, 0.0), value=lambda g, mask: g.mask_fill(mask.bool_not(), 0.0)),
    element=elements.where,
)
def mask_where(x: Tensor[B], mask: Tensor[Any], value: Tensor[Any]) -> Tensor[B]:
    """Take `value` where the mask is true and `x` elsewhere, broadcasting.

    >>> x = burn.tensor([1, 2, 3])
    >>> x.mask_where(x > 1, x * 10).tolist()
    [1, 20, 30]
    """
    ...


def _fill_rule(op: Op, x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {mask.dtype}; write mask.bool()")
    return broadcast_rule(op, x, mask)


@primitive(
    rule=_fill_rule,
    reference=reference.mask_fill,
    vjp=dict(x=lambda g, mask: g.mask_fill(mask, 0.0)),
    element=elements.where,
    prepare=filling("value"),
)
def mask_fill(x: Tensor[B], mask: Tensor[Any], value: Operand) -> Tensor[B]:
    """Take the number `value` where the mask is true and `x` elsewhere, broadcasting.

    >>> x = burn.tensor([-1, 2, -3])
    >>> x.mask_fill(x < 0, 0).tolist()
    [0, 2, 0]
    """
    ...
