"""Attention: each query takes a weighted mean of the values, weighted by how well it meets the keys."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.dtype import bool_
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.activation import number
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.movement import positions
from burn.ops.op import Op
from burn.ops.softmax import softmax
from burn.shape import Shape, broadcast, broadcast_all

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _rule(
    op: Op, query: Any, key: Any, value: Any, mask: Any, bias: Any, scale: Any, softcap: Any, is_causal: Any
) -> Any:
    shapes = [each.shape for each in (query, key, value)]
    shown = f"query {tuple(shapes[0])}, key {tuple(shapes[1])} and value {tuple(shapes[2])}"
    if min(map(len, shapes)) < 2:
        raise ShapeError(f"{op.name}: {shown} need at least the dims (length, size)")
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(f"{op.name}: {shown}: a query and a key must have the same size")
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"{op.name}: {shown}: there must be one value for each key")
    batch = broadcast_all(op.name, [Shape(shape[:-2]) for shape in shapes])
    scores = Shape((*batch, query.shape[-2], key.shape[-2]))
    if mask is not None and mask.dtype is not bool_:
        raise DTypeError(f"{op.name}: mask must be a bool tensor, got {mask.dtype}; True hides a key from a query")
    for name, each in (("mask", mask), ("bias", bias)):
        if each is not None and broadcast(op.name, each.shape, scores) != scores:
            raise ShapeError(f"{op.name}: {name} {tuple(each.shape)} must broadcast to {tuple(scores)}")
    factor = max(query.shape[-1], 1) ** -0.5 if scale is None else number(op, "scale", scale)
    cap = None if softcap is None else number(op, "softcap", softcap)
    if cap is not None and cap <= 0:
        raise ArgumentError(f"{op.name}: softcap must be positive, got {softcap!r}")
    return Shape((*scores[:-1], value.shape[-1])), query.dtype, (factor, cap, bool(is_causal))


@composite(rule=_rule, prepare=prepared(only_floats, "query", "key", "value", "bias"), bound="compute")
def attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    mask: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    is_causal: bool = False,
) -> Tensor[B]:
    """Compute `softmax(query @ keyᵀ * scale + bias) @ value` over the last two dims (length, size).

    `scale` is 1/sqrt(size) unless given; `softcap` bends the scores into -softcap..softcap before the bias.
    A key is hidden where `mask` is true and, when causal, where it lies after the query, both sequences
    ending together. A query that sees no key gives zeros.
    """
    assert scale is not None  # the rule gave it
    scores: Any = query.matmul(key.transpose()) * scale
    if softcap is not None:
        scores = (scores * (1.0 / softcap)).tanh() * softcap
    hidden = [] if mask is None else [mask]
    if is_causal:
        hidden.append(_later(scores.shape[-2], scores.shape[-1], scores.device))
    if bias is not None:
        scores = scores + bias
        hidden.append(bias == -math.inf)
    if not hidden:
        return softmax(scores, -1).matmul(value)
    unseen: Any = hidden[0]
    for each in hidden[1:]:
        unseen = unseen | each
    scores = scores.mask_fill(unseen, scores.dtype.finfo().min)
    return softmax(scores, -1).mask_fill(unseen, 0.0).matmul(value)


def _later(queries: int, keys: int, device: Any) -> Any:
    """Which keys come after each query, when the last query and the last key meet."""
    rows = positions(queries, device).reshape((queries, 1)) + (keys - queries)
    return positions(keys, device).reshape((1, keys)) > rows
