"""Rules of recurrent layers and attention, and of text operators."""

from __future__ import annotations

from burn_import.onnx.ir.types import ElementType, Size
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule


@rule("RNN", "GRU", "LSTM")
def recurrent(op: Inference) -> None:
    directions = 2 if op.attribute("direction", "forward") == "bidirectional" else 1
    hidden: Size = op.attribute("hidden_size") or op.size(2, 2)
    if op.attribute("layout", 0):
        batch, length = op.size(0, 0), op.size(0, 1)
        op.set((batch, length, directions, hidden))
        last: tuple[Size, ...] = (batch, directions, hidden)
    else:
        length, batch = op.size(0, 0), op.size(0, 1)
        op.set((length, directions, batch, hidden))
        last = (directions, batch, hidden)
    op.set(last, index=1)
    op.set(last, index=2)


@rule("Attention")
def attention(op: Inference) -> None:
    """Queries, keys and values of rank 3 (heads side by side) or 4 (batch, heads, length, width)."""
    query, key, value = op.shape(0), op.shape(1), op.shape(2)
    past = op.size(4, 2)
    if query is None:
        return
    if len(query) == 4:
        batch, heads, length = query[0], query[1], query[2]
        width = value[3] if value is not None else None
        op.set((batch, heads, length, width))
        key_heads, key_length, key_width = (key[1], key[2], key[3]) if key is not None else (None, None, None)
        value_width = width
    else:
        batch, length = query[0], query[1]
        heads, key_heads = op.attribute("q_num_heads"), op.attribute("kv_num_heads")
        value_width = sizes.floor_divide(op.size(2, 2), key_heads)
        key_width = sizes.floor_divide(op.size(1, 2), key_heads)
        key_length = op.size(1, 1)
        op.set((batch, length, sizes.calculate(lambda h, w: h * w, heads, value_width)))
    total = sizes.add(key_length, past) if op.has(4) else key_length
    op.set((batch, key_heads, total, key_width), dtype=op.dtype(1), index=1)
    op.set((batch, key_heads, total, value_width), dtype=op.dtype(2), index=2)
    op.set((batch, heads, length, total), dtype=op.dtype(0), index=3)


@rule("CausalConvWithState")
def causal_convolution(op: Inference) -> None:
    op.set(op.shape(0))


@rule("LinearAttention")
def linear_attention(op: Inference) -> None:
    op.set(None)


@rule("SwiGLU")
def gated(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        return
    if op.has(1):
        op.set(shape)
        return
    axis = op.axis(len(shape), default=-1)
    op.set((*shape[:axis], sizes.floor_divide(shape[axis], 2), *shape[axis + 1 :]))


@rule("StringSplit")
def string_split(op: Inference) -> None:
    shape = op.shape(0)
    op.set(None if shape is None else (*shape, None), dtype=ElementType.string)
    op.set(shape, dtype=ElementType.i64, index=1)


@rule("StringNormalizer")
def string_normalizer(op: Inference) -> None:
    shape = op.shape(0)
    op.set(None if shape is None else (*shape[:-1], None), dtype=ElementType.string)
