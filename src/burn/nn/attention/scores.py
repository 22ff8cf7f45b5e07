"""From queries and keys to weights: the part that all attention modules share."""

from __future__ import annotations

from collections.abc import Sequence

from burn.errors import DTypeError, ShapeError
from burn.ops.softmax import quiet_softmax as quiet
from burn.ops.softmax import softmax
from burn.tensor import Tensor


def attention_weights(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    scale: float,
    min_float: float,
    quiet_softmax: bool,
) -> Tensor:
    """`softmax(query keyᵀ * scale)` over the keys, with the scores of hidden keys set to `min_float` before."""
    scores: Tensor = query.matmul(key.transpose()) * scale
    if mask is not None:
        scores = scores.mask_fill(mask, min_float)
    return quiet(scores, -1) if quiet_softmax else softmax(scores, -1)


def checked_mask(module: str, name: str, mask: Tensor, sizes: Sequence[int], meaning: str) -> Tensor:
    """A mask of bools whose dims have the given sizes, or 1."""
    if not mask.dtype.is_bool:
        raise DTypeError(f"{module}: {name} must be a bool tensor, got {mask.dtype}; true hides a key from a query")
    fits = len(mask.shape) == len(sizes) and all(have in (want, 1) for have, want in zip(mask.shape, sizes))
    if not fits:
        raise ShapeError(f"{module}: {name} must have the shape {meaning} = {tuple(sizes)}, got {tuple(mask.shape)}")
    return mask


def either(masks: Sequence[Tensor]) -> Tensor | None:
    """Where any of the masks is true; None without masks."""
    found: Tensor | None = None
    for mask in masks:
        found = mask if found is None else found | mask
    return found


def in_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    batch, length, width = x.shape
    return x.reshape((batch, length, heads, width // heads)).swap_dims(1, 2)


def out_of_heads(x: Tensor) -> Tensor:
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = x.shape
    return x.swap_dims(1, 2).reshape((batch, length, heads * size))
