"""Reductions that other frameworks define where the plain ones refuse: extremes of nothing, sums of exponentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import DType, u8
from burn.dtype import dtype as as_dtype
from burn.ops import creation
from burn.ops.activation import wide
from burn.ops.declare import anything, composite, floating, prepared
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.ops.reduce import reduced
from burn.shape import axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

    Dims = int | Sequence[int]


def _rule(op: Op, x: Any, dims: Any) -> Any:
    shape, found = reduced(op, x, dims)
    return shape, x.dtype, (found,)


def _limit(dtype: DType, lowest: bool) -> Any:
    """The number that no extreme can lose against."""
    if dtype.is_bool:
        return not lowest
    if dtype.is_float:
        return -math.inf if lowest else math.inf
    return dtype.iinfo().min if lowest else dtype.iinfo().max


def _extreme(x: Any, dims: tuple[int, ...], lowest: bool) -> Any:
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(x.shape))
    if 0 in (x.shape[dim] for dim in dims):
        return creation.full(_limit(x.dtype, lowest), shape, x.dtype, device=x.device)
    if not dims:
        return x
    values = x.cast(u8) if x.dtype.is_bool else x
    return cast_to(values.max_dims(dims) if lowest else values.min_dims(dims), x.dtype)


def _extreme_reference(lowest: bool) -> Any:
    function: Any = np.max if lowest else np.min

    def reference(x: Any, dims: Any) -> Any:
        over = (dims,) if isinstance(dims, int) else tuple(dims)
        limit = np.asarray(_limit(as_dtype(x.dtype), lowest), x.dtype)
        return function(x, axis=over, keepdims=True, initial=limit)

    return reference


@composite(rule=_rule, prepare=prepared(anything), reference=_extreme_reference(True))
def largest_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Find the largest element along `dims`, kept with size 1: of nothing, the lowest the dtype has.

    >>> burn.tensor([[1, 5], [7, 2]]).largest_dims([0]).tolist()
    [[7, 5]]
    """
    return _extreme(x, dims, True)  # type: ignore[no-any-return, arg-type]


@composite(rule=_rule, prepare=prepared(anything), reference=_extreme_reference(False))
def smallest_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Find the smallest element along `dims`, kept with size 1: of nothing, the highest the dtype has.

    >>> burn.tensor([[1, 5], [7, 2]]).smallest_dims([0]).tolist()
    [[1, 2]]
    """
    return _extreme(x, dims, False)  # type: ignore[no-any-return, arg-type]


def _share(g: Any, x: Any, out: Any) -> Any:
    gone = (out == -math.inf) | (out == math.inf)
    return g * (x - out.mask_fill(gone, 0.0)).exp()


@composite(rule=_rule, prepare=prepared(floating), vjp=dict(x=_share))
def log_sum_exp_dims(x: Tensor[B], dims: Dims) -> Tensor[B]:
    """Take the logarithm of the sum of exponentials along `dims`, kept with size 1, without overflow.

    >>> burn.tensor([1000.0, 1000.0]).log_sum_exp_dims([0]).to_data()
    TensorData([1000.6932], shape=[1], dtype=f32)
    """
    values = wide(x)
    top = _extreme(values, dims, True)  # type: ignore[arg-type]
    top = top.mask_fill((top == -math.inf) | (top == math.inf), 0.0)
    return cast_to((values - top).exp().sum_dims(dims).log() + top, x.dtype)


def _hard_rule(op: Op, x: Any, dim: Any) -> Any:
    return x.shape, x.dtype, (axis(op.name, dim, len(x.shape)),)


@composite(rule=_hard_rule, prepare=prepared(floating))
def hardmax(x: Tensor[B], dim: int) -> Tensor[B]:
    """Give 1 to the largest element along `dim`, the first of equals, and 0 to the others.

    >>> from burn.tensor import activation
    >>> activation.hardmax(burn.tensor([1.0, 3.0, 3.0]), dim=0).tolist()
    [0.0, 1.0, 0.0]
    """
    if not math.prod(x.shape):
        return x
    size = x.shape[dim]
    ends = tuple(size if each == dim else 1 for each in range(len(x.shape)))
    places: Any = creation.arange(0, size, 1, x.device.int_dtype, device=x.device)
    return (places.reshape(ends) == x.argmax(dim)).cast(x.dtype)  # type: ignore[no-any-return]
