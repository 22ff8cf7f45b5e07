"""Attention as exchange formats describe it: caches of keys and values, shared heads, windows, rotary positions.

`attend` is the core all of these share. Tensors are (batch, heads, length, size) unless a function takes the
heads side by side in the last dim, (batch, length, heads * size), and is told how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from burn.dtype import bool_
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, ShapeError
from burn.ops import creation, joining
from burn.ops.activation import silu, wide
from burn.ops.attention import attention as attention_row
from burn.ops.convolution_layers import conv1d
from burn.ops.dispatch import cast_to
from burn.ops.movement import positions

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = ["attention", "causal_conv", "flex_attention", "linear_attention", "rotary_embedding"]


# Heads


def split_heads(operation: str, x: Any, heads: int | None) -> Any:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    if len(x.shape) == 4:
        return x
    if len(x.shape) != 3 or not heads or x.shape[2] % heads:
        raise ShapeError(
            f"{operation}: needs (batch, heads, length, size), or (batch, length, heads * size) and the number of "
            f"heads, got {tuple(x.shape)} and {heads} heads"
        )
    batch, length, width = x.shape
    return x.reshape((batch, length, heads, width // heads)).permute((0, 2, 1, 3))


def join_heads(x: Any) -> Any:
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = x.shape
    return x.permute((0, 2, 1, 3)).reshape((batch, length, heads * size))


def share_heads(x: Any, heads: int) -> Any:
    """Each head repeated for the queries that share it."""
    batch, own, length, size = x.shape
    if own == heads:
        return x
    if not own or heads % own:
        raise ShapeError(f"attention: {heads} heads of queries cannot share {own} heads of keys and values")
    times = heads // own
    wide_shape = (batch, own, times, length, size)
    return x.unsqueeze_dim(2).expand(wide_shape).reshape((batch, heads, length, size))


# The core


def attend(
    query: Any, key: Any, value: Any, hidden: Any, bias: Any, scale: float | None, softcap: float | None,
    softmax_dtype: Any = None, scores: int | None = None, stepwise: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention of equal heads; `hidden` is true where a key is not seen. Gives the scores asked for too.

    Scores are 0: products, 1: bent by the softcap, 2: with bias and mask, 3: after the softmax. `stepwise` rounds
    after each step to the dtype of the query, where a kernel does not take several steps at once.
    """
    key, value = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    if scores is None and softmax_dtype in (None, query.dtype) and not stepwise:
        return attention_row(query, key, value, hidden, bias, scale, softcap or None, False), None
    root = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    if stepwise:
        root = float(np.asarray(root, query.dtype.numpy))
    products = (query * root).matmul((key * root).transpose())
    bent = products if not softcap else (products / softcap).tanh() * softcap
    masked = bent if bias is None else bent + bias
    if hidden is not None:
        masked = masked.mask_fill(hidden, -math.inf)
    if softmax_dtype is not None:
        shares = _softmax(cast_to(masked, as_dtype(softmax_dtype)))
    else:
        shares = _softmax(masked if stepwise else wide(masked))
    shares = cast_to(shares, query.dtype)
    chosen = {0: products, 1: bent, 2: masked, 3: shares}[scores or 0]
    return shares.matmul(value), cast_to(chosen, query.dtype)


def _softmax(x: Any) -> Any:
    """Softmax along the last dim; a row of minus infinities gives zeros."""
    top = x.max_dims((len(x.shape) - 1,))
    powers = (x - top.mask_fill(top == -math.inf, 0.0)).exp()
    total = powers.sum_dims((len(x.shape) - 1,))
    return powers / total.mask_fill(total == 0.0, 1.0)


def either(first: Any, second: Any) -> Any:
    """Hidden by one or the other; None hides nothing."""
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _places(query: Any, key: Any, offset: Any) -> tuple[Any, Any]:
    """Where queries and keys stand, (..., queries, 1) and (1, keys); `offset` may be one for each item."""
    rows = positions(query.shape[-2], query.device).reshape((query.shape[-2], 1))
    columns = positions(key.shape[-2], query.device).reshape((1, key.shape[-2]))
    if hasattr(offset, "device"):
        return rows + offset.reshape((-1, 1, 1, 1)).cast(rows.dtype), columns
    return rows + int(offset), columns


def outside(query: Any, key: Any, offset: Any, is_causal: bool, left: int = -1, right: int = -1) -> Any:
    """Which keys are later than a query, or further away than the window reaches to either side."""
    if not is_causal and left < 0 and right < 0:
        return None
    rows, columns = _places(query, key, offset)
    found = columns > rows if is_causal else None
    if left >= 0:
        found = either(found, columns < rows - left)
    return either(found, columns > rows + right) if right >= 0 else found


def beyond(lengths: Any, count: int) -> Any:
    """Which of `count` keys lie beyond the length of each item, (batch, 1, 1, count)."""
    columns = positions(count, lengths.device).reshape((1, 1, 1, count))
    return columns >= lengths.reshape((-1, 1, 1, 1)).cast(columns.dtype)


@overload
def attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    mask: Tensor[Any] | None = None,
    past_key: Tensor[Any] | None = None,
    past_value: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    *,
    heads: int | None = None,
    key_heads: int | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    is_causal: bool = False,
    left_window: int = -1,
    right_window: int = -1,
    softmax_dtype: Any = None,
    scores: None = None,
) -> tuple[Tensor[B], Tensor[B], Tensor[B], None]: ...
@overload
def attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    mask: Tensor[Any] | None = None,
    past_key: Tensor[Any] | None = None,
    past_value: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    *,
    heads: int | None = None,
    key_heads: int | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    is_causal: bool = False,
    left_window: int = -1,
    right_window: int = -1,
    softmax_dtype: Any = None,
    scores: int,
) -> tuple[Tensor[B], Tensor[B], Tensor[B], Tensor[B]]: ...
def attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    mask: Tensor[Any] | None = None,
    past_key: Tensor[Any] | None = None,
    past_value: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    *,
    heads: int | None = None,
    key_heads: int | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    is_causal: bool = False,
    left_window: int = -1,
    right_window: int = -1,
    softmax_dtype: Any = None,
    scores: int | None = None,
) -> tuple[Tensor[B], Tensor[B], Tensor[B], Tensor[B] | None]:
    """Attend to past and new keys. Gives the result, all keys, all values, and the `scores` asked for.

    `mask` is true where a key is seen, or a number added to its score; a mask shorter than the keys hides the
    rest. `lengths` counts the valid keys of each item where the keys are a buffer. Queries follow the past, and
    when causal see nothing later; windows tell how far they see, -1 for all. Scores are 0: products, 1: bent by the
    softcap, 2: masked, 3: after the softmax.
    """
    if (past_key is None) != (past_value is None):
        raise ArgumentError("attention: give both past_key and past_value, or neither")
    if scores not in (None, 0, 1, 2, 3):
        raise ArgumentError(f"attention: scores must be None, 0, 1, 2 or 3, got {scores!r}")
    flat = len(query.shape) == 3
    q = split_heads("attention", query, heads)
    k, v = split_heads("attention", key, key_heads), split_heads("attention", value, key_heads)
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k, v = joining.cat([past_key, k], 2), joining.cat([past_value, v], 2)
    offset: Any = past if lengths is None or past_key is not None else lengths - q.shape[2]
    hidden = outside(q, k, offset, is_causal, left_window, right_window)
    if lengths is not None:
        hidden = either(hidden, beyond(lengths, k.shape[2]))
    bias = None
    if mask is not None:
        seen = mask.shape[-1]
        if mask.dtype is bool_:
            hidden = either(hidden, _extended(mask.bool_not(), k.shape[2], True))
        else:
            bias = cast_to(_extended(mask, k.shape[2], 0.0), q.dtype)
            if seen < k.shape[2]:
                tail = positions(k.shape[2], q.device).reshape((1, k.shape[2])) >= seen
                hidden = either(hidden, tail)
    # The standard's text is a function of which every step has the dtype of the query.
    y, asked = attend(q, k, v, hidden, bias, scale, softcap, softmax_dtype, scores, stepwise=q.dtype.bits == 16)
    return (join_heads(y) if flat else y), k, v, asked


def _extended(mask: Any, count: int, value: Any) -> Any:
    """A mask as long as the keys."""
    missing = count - mask.shape[-1]
    if missing <= 0:
        return mask
    shape = (*mask.shape[:-1], missing)
    tail = creation.full(value, shape, mask.dtype, device=mask.device)
    return joining.cat([mask, tail], -1)


def flex_attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    scale: float | None = None,
    score: Callable[[Any], Any] | None = None,
    share: Callable[[Any], Any] | None = None,
    softmax_dtype: Any = None,
) -> Tensor[B]:
    """Attention whose scores, and whose shares after the softmax, a function of yours may change."""
    root = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    keys, values = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    products: Any = (query * root).matmul((keys * root).transpose())
    products = cast_to(products, as_dtype(softmax_dtype)) if softmax_dtype is not None else wide(products)
    shares = (products if score is None else score(products)).softmax(-1)
    shares = shares if share is None else share(shares)
    return cast_to(shares.matmul(cast_to(values, shares.dtype)), value.dtype)


# Rotary positions


def rotary_embedding(
    x: Tensor[B],
    cosines: Tensor[Any],
    sines: Tensor[Any],
    places: Tensor[Any] | None = None,
    *,
    heads: int | None = None,
    size: int = 0,
    interleaved: bool = False,
) -> Tensor[B]:
    """Turn pairs of features by angles that depend on the position.

    The tables are (positions, half) with `places` (batch, length), or (batch, length, half) without. `size`
    features of each head turn (0: all); pairs are the two halves, or neighbours when `interleaved`.
    """
    flat = len(x.shape) == 3
    values = split_heads("rotary_embedding", x, heads)
    batch, count, length, width = values.shape
    turned = size or width
    half = turned // 2
    cosine, sine = (_at(table, places, batch, length, half) for table in (cosines, sines))
    moving = values if turned == width else values.narrow(3, 0, turned)
    if interleaved:
        pairs = moving.reshape((batch, count, length, half, 2))
        first, second = (pairs.narrow(4, i, 1).squeeze_dim(4) for i in (0, 1))
    else:
        first, second = moving.narrow(3, 0, half), moving.narrow(3, half, half)
    real, imaginary = cosine * first - sine * second, sine * first + cosine * second
    if interleaved:
        parts = joining.cat([real.unsqueeze_dim(4), imaginary.unsqueeze_dim(4)], 4)
        out: Any = parts.reshape((batch, count, length, turned))
    else:
        out = joining.cat([real, imaginary], 3)
    if turned != width:
        out = joining.cat([out, values.narrow(3, turned, width - turned)], 3)
    out = cast_to(out, x.dtype)
    return join_heads(out) if flat else out  # type: ignore[no-any-return]


def _at(table: Any, places: Any, batch: int, length: int, half: int) -> Any:
    """The rows of a table for each position, (batch or 1, 1, length, half)."""
    if table.shape[-1] != half:
        raise ShapeError(f"rotary_embedding: the tables must have {half} columns, got {tuple(table.shape)}")
    if places is not None:
        table = table.select(0, places.reshape((-1,))).reshape((*places.shape, half))
    return table.reshape((-1, 1, length, half))


# States instead of caches


def linear_attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    state: Tensor[Any] | None = None,
    decay: Tensor[Any] | None = None,
    rate: Tensor[Any] | None = None,
    *,
    heads: int,
    key_heads: int,
    scale: float = 0.0,
) -> tuple[Tensor[B], Tensor[B]]:
    """Attention through a state (batch, key heads, size, value size) that each step writes to and reads.

    The state fades by `exp(decay)` for each head or each of its features; with a `rate`, what it holds for the key
    already is taken from the value before it is written.
    """
    q, k, v = (split_heads("linear_attention", wide(each), count) for each, count in
               ((query, heads), (key, key_heads), (value, key_heads)))  # fmt: skip
    batch, _, length, size = q.shape
    factor = scale or size**-0.5
    fade = None if decay is None else split_heads("linear_attention", wide(decay), key_heads).exp()
    pace = None if rate is None else wide(rate).permute((0, 2, 1)).unsqueeze_dim(3)
    kept = None if state is None else state.dtype
    shape = (batch, key_heads, size, v.shape[3])
    held: Any = creation.full(0.0, shape, q.dtype, device=q.device) if state is None else wide(state)
    outputs = []
    for place in range(length):
        now_q, now_k, now_v = (each.narrow(2, place, 1) for each in (q, k, v))
        if fade is not None:
            held = held * fade.narrow(2, place, 1).transpose()
        if pace is not None:
            now_v = pace.narrow(2, place, 1) * (now_v - now_k.matmul(held))
        held = held + now_k.transpose().matmul(now_v)
        outputs.append(now_q.matmul(share_heads(held, heads)) * factor)
    y = join_heads(joining.cat(outputs, 2))
    return cast_to(y, query.dtype), cast_to(held, kept or query.dtype)


def causal_conv(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    state: Tensor[Any] | None = None,
    activation: str = "none",
) -> tuple[Tensor[B], Tensor[B]]:
    """Convolve each channel of `x` (batch, channels, length) with what came before; `state` holds that.

    Gives the result, through a silu if asked for, and the state for the next piece.
    """
    if activation not in ("none", "silu", "swish"):
        raise ArgumentError(f"causal_conv: activation must be none, silu or swish, got {activation!r}")
    before = weight.shape[2] - 1
    if state is None:
        shape = (x.shape[0], x.shape[1], before)
        state = creation.full(0.0, shape, x.dtype, device=x.device)
    whole: Any = joining.cat([state, x], 2)
    y = conv1d(whole, weight, bias, 1, 0, 1, x.shape[1])
    return (y if activation == "none" else silu(y)), whole.narrow(2, whole.shape[2] - before, before)
