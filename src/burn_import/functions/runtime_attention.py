"""Attention as inference runtimes fuse it: packed projections, padding masks of several forms, growing caches.

The names follow the fused operators that optimised graphs contain. All of them end in `transformer.attend`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops import joining
from burn.ops.dispatch import cast_to
from burn.ops.movement import positions
from burn_import.functions.quantized import matmul_to_float
from burn_import.functions.transformer import attend, join_heads, outside, rotary_embedding, share_heads, split_heads

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = [
    "group_query_attention", "multi_head_attention", "packed_attention", "quantized_attention", "rotary_offsets",
]  # fmt: skip


def _padding(mask: Any, batch: int, queries: int, keys: int) -> Any:
    """Which keys padding hides, (batch, 1, 1 or queries, keys), from any of the forms a mask may have."""
    shape = tuple(mask.shape)
    if shape == (batch,):
        ends = mask.reshape((batch, 1, 1, 1))
        return _columns(mask, keys) >= ends
    if shape == (2 * batch,):
        ends, starts = (mask.narrow(0, i * batch, batch).reshape((batch, 1, 1, 1)) for i in (0, 1))
        return (_columns(mask, keys) >= ends) | (_columns(mask, keys) < starts)
    if shape == (3 * batch + 2,):
        return _columns(mask, keys) >= mask.narrow(0, 0, batch).reshape((batch, 1, 1, 1))
    if shape == (batch, keys):
        return (mask == 0).reshape((batch, 1, 1, keys))
    if shape == (batch, queries, keys):
        return (mask == 0).reshape((batch, 1, queries, keys))
    raise ShapeError(
        f"attention: a mask must have the shape ({batch},), ({2 * batch},), ({3 * batch + 2},), ({batch}, {keys}) or "
        f"({batch}, {queries}, {keys}), got {shape}"
    )


def _columns(mask: Any, keys: int) -> Any:
    return positions(keys, mask.device).cast(mask.dtype).reshape((1, 1, 1, keys))


def _combined(
    q: Any, k: Any, v: Any, mask: Any, bias: Any, past: int, causal: bool, scale: Any, filtered: float
) -> Any:
    """Attention under a padding mask that adds `filtered` to what it hides, so that no row is left without keys."""
    hidden = outside(q, k, past, causal)
    if mask is not None:
        padded = _padding(mask, q.shape[0], q.shape[2], k.shape[2])
        shift = cast_to(padded, q.dtype) * filtered
        bias = shift if bias is None else bias + shift
    return join_heads(attend(q, k, v, hidden, bias, scale or None, None)[0])


def packed_attention(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    mask: Tensor[Any] | None = None,
    past: Tensor[Any] | None = None,
    attention_bias: Tensor[Any] | None = None,
    *,
    heads: int,
    sizes: tuple[int, int, int] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    mask_filter: float = -10000.0,
) -> tuple[Tensor[B], Tensor[B]]:
    """Self-attention with one weight (inputs, queries | keys | values); `sizes` are their widths if they differ.

    `past` (2, batch, heads, length, size) comes before the keys and values; all of them are given back so.
    """
    projected: Any = x.matmul(weight)
    projected = projected if bias is None else projected + bias
    return _from_packed(projected, mask, past, attention_bias, heads, sizes, is_causal, scale, mask_filter)


def _from_packed(
    projected: Any, mask: Any, past: Any, bias: Any, heads: int, sizes: Any, causal: bool, scale: Any, filtered: float
) -> tuple[Any, Any]:
    widths = sizes or (projected.shape[-1] // 3,) * 3
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads("packed_attention", projected.narrow(2, start, width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    before = 0
    if past is not None:
        before = past.shape[3]
        k = joining.cat([past.narrow(0, 0, 1).squeeze_dim(0), k], 2)
        v = joining.cat([past.narrow(0, 1, 1).squeeze_dim(0), v], 2)
    y = _combined(q, k, v, mask, bias, before, causal, scale, filtered)
    present = joining.cat([k.unsqueeze_dim(0), v.unsqueeze_dim(0)], 0) if k.shape == v.shape else k
    return y, present


def quantized_attention(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any],
    x_scale: Tensor[Any],
    weight_scale: Tensor[Any],
    mask: Tensor[Any] | None = None,
    x_zero: Tensor[Any] | None = None,
    weight_zero: Tensor[Any] | None = None,
    past: Tensor[Any] | None = None,
    *,
    heads: int,
    is_causal: bool = False,
    scale: float | None = None,
    mask_filter: float = -10000.0,
) -> tuple[Tensor[B], Tensor[B]]:
    """`packed_attention` whose projection is a product of integers."""
    projected = matmul_to_float(x, weight, x_scale, weight_scale, x_zero, weight_zero, bias)
    return _from_packed(projected, mask, past, None, heads, None, is_causal, scale, mask_filter)


def multi_head_attention(
    query: Tensor[B],
    key: Tensor[Any] | None = None,
    value: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    mask: Tensor[Any] | None = None,
    attention_bias: Tensor[Any] | None = None,
    past_key: Tensor[Any] | None = None,
    past_value: Tensor[Any] | None = None,
    *,
    heads: int,
    is_causal: bool = False,
    scale: float | None = None,
    mask_filter: float = -10000.0,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Attention of projected queries, keys and values, with all keys and values given back.

    They are (batch, length, heads * size), or packed: queries as (batch, length, heads, 3, size) with nothing else,
    keys as (batch, length, heads, 2, size). Keys and values of another attention may be (batch, heads, length, size).
    """
    q, k, v = _unpacked(query, key, value, heads)
    if bias is not None:
        q, k, v = _biased(q, k, v, bias, key is not None and len(key.shape) == 4)
    before = 0
    if past_key is not None and past_value is not None:
        before = past_key.shape[2]
        k, v = joining.cat([past_key, k], 2), joining.cat([past_value, v], 2)
    return _combined(q, k, v, mask, attention_bias, before, is_causal, scale, mask_filter), k, v


def _unpacked(query: Any, key: Any, value: Any, heads: int) -> tuple[Any, Any, Any]:
    def part(packed: Any, index: int) -> Any:
        return packed.narrow(3, index, 1).squeeze_dim(3).permute((0, 2, 1, 3))

    if len(query.shape) == 5:
        return part(query, 0), part(query, 1), part(query, 2)
    q = split_heads("multi_head_attention", query, heads)
    if key is None:
        raise ArgumentError("multi_head_attention: give keys, or queries packed as (batch, length, heads, 3, size)")
    if len(key.shape) == 5:
        return q, part(key, 0), part(key, 1)
    if value is None:
        raise ArgumentError("multi_head_attention: give values, or keys packed as (batch, length, heads, 2, size)")
    return q, split_heads("multi_head_attention", key, heads), split_heads("multi_head_attention", value, heads)


def _biased(q: Any, k: Any, v: Any, bias: Any, crossed: bool) -> tuple[Any, Any, Any]:
    """Add the biases of the projections; keys and values of another attention have theirs already."""
    start, result = 0, []
    for index, each in enumerate((q, k, v)):
        heads, size = each.shape[1], each.shape[3]
        if index and crossed:
            result.append(each)
        else:
            result.append(each + bias.narrow(0, start, heads * size).reshape((1, heads, 1, size)))
        start += heads * size
    return result[0], result[1], result[2]


def rotary_offsets(offset: Any, batch: int, length: int, device: Any) -> Any:
    """Positions (batch, length) from one first position for all items, or for each."""
    places = positions(length, device).reshape((1, length))
    first = offset.reshape((-1, 1)).cast(places.dtype)
    return (places + first).expand((batch, length))


def group_query_attention(
    query: Tensor[B],
    key: Tensor[Any] | None,
    value: Tensor[Any] | None,
    past_key: Tensor[Any] | None,
    past_value: Tensor[Any] | None,
    last: Tensor[Any],
    total: int | Tensor[Any],
    cosines: Tensor[Any] | None = None,
    sines: Tensor[Any] | None = None,
    places: Tensor[Any] | None = None,
    attention_bias: Tensor[Any] | None = None,
    sinks: Tensor[Any] | None = None,
    *,
    heads: int,
    key_heads: int,
    scale: float | None = None,
    softcap: float = 0.0,
    window: int = -1,
    rotary: bool = False,
    interleaved: bool = False,
    smooth: bool = False,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Causal attention over caches whose items may differ in length; queries share heads of keys.

    `last` (batch,) is the place of each item's last key, `total` the length of the longest. New keys follow each
    item's own past; caches keep their size where they are longer than `total`. `sinks` (heads,), or 0 when
    `smooth`, is a score that takes its share of the softmax and gives nothing. A `window` is how many keys a
    query sees, itself included.
    """
    if key is None or value is None:
        widths = (heads, key_heads, key_heads)
        size = query.shape[2] // sum(widths)
        starts = (0, heads * size, (heads + key_heads) * size)
        query, key, value = (query.narrow(2, s, n * size) for s, n in zip(starts, widths, strict=True))
    q: Any = split_heads("group_query_attention", query, heads)
    k: Any = split_heads("group_query_attention", key, key_heads)
    v: Any = split_heads("group_query_attention", value, key_heads)
    batch, _, new, _ = q.shape
    longest = total if isinstance(total, int) else int(total.reshape(()).into_scalar())
    ints = q.device.int_dtype
    before: Any = (last.reshape((batch,)).cast(ints) + (1 - new)).clamp_min(0)
    if new == longest:
        before = before * 0  # the first piece: items shorter than it are padded at their end
    if rotary:
        if cosines is None or sines is None:
            raise ArgumentError("group_query_attention: rotary=True needs the tables cosines and sines")
        spots = rotary_offsets(before, batch, new, q.device) if places is None else places
        turned = 2 * cosines.shape[1]
        q = rotary_embedding(q, cosines, sines, spots, size=turned, interleaved=interleaved)
        k = rotary_embedding(k, cosines, sines, spots, size=turned, interleaved=interleaved)
    keys = _grown(past_key, k, before, longest)
    values = _grown(past_value, v, before, longest)
    seen_keys, seen_values = (each.narrow(2, 0, longest) for each in (keys, values))
    hidden = outside(q, seen_keys, before, True, window - 1 if window > 0 else -1)
    bias = None if attention_bias is None else attention_bias.narrow(3, 0, longest)
    if sinks is None and not smooth:
        y = attend(q, seen_keys, seen_values, hidden, bias, scale or None, softcap or None)[0]
    else:
        y = _with_sinks(q, seen_keys, seen_values, hidden, bias, scale, softcap, sinks)
    return join_heads(y), keys, values


def _grown(past: Any, new: Any, before: Any, longest: int) -> Any:
    """A cache with the new entries after each item's own past, and zeros beyond them."""
    if past is None or not past.shape[2]:
        missing = longest - new.shape[2]
        return new if missing <= 0 else joining.cat([new, new.narrow(2, 0, 1).expand(
            (*new.shape[:2], missing, new.shape[3])).mul(0.0)], 2)  # fmt: skip
    batch, heads, old, size = past.shape
    count = max(old, longest)
    columns = positions(count, past.device).reshape((1, count))
    first = before.reshape((batch, 1))
    inside = (columns >= first) & (columns < first + new.shape[2])
    source = columns.clamp_max(old - 1).expand((batch, count)).mask_where(inside, columns - first + old)
    everything = joining.cat([past, new], 2)
    index = source.reshape((batch, 1, count, 1)).expand((batch, heads, count, size))
    found: Any = everything.gather(2, index)
    empty = columns >= first + new.shape[2]
    return found.mask_fill(empty.reshape((batch, 1, count, 1)), 0.0)


def _with_sinks(q: Any, k: Any, v: Any, hidden: Any, bias: Any, scale: Any, softcap: float, sinks: Any) -> Any:
    k, v = share_heads(k, q.shape[1]), share_heads(v, q.shape[1])
    scores = q.matmul(k.transpose()) * (scale or q.shape[3] ** -0.5)
    scores = (scores / softcap).tanh() * softcap if softcap else scores
    scores = scores if bias is None else scores + bias
    scores = scores if hidden is None else scores.mask_fill(hidden, -math.inf)
    column = scores.narrow(3, 0, 1).zeros_like()
    if sinks is not None:
        column = column + sinks.reshape((1, q.shape[1], 1, 1))
    shares = joining.cat([scores, column], 3).softmax(-1)
    return shares.narrow(3, 0, scores.shape[3]).matmul(v)
