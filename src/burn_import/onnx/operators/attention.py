"""Attention, rotary embeddings, and the recurrent relatives of attention."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import dtype_attribute, several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


@operator("Attention")
def attention(op: Operation) -> Expression | list[Expression | None]:
    inputs = (op.x, op.tensor(1), op.tensor(2), *(op.optional(index) for index in range(3, 7)))
    found = written(
        op, "transformer", "attention", *inputs, heads=op.attribute("q_num_heads"),
        key_heads=op.attribute("kv_num_heads"), scale=op.attribute("scale"), softcap=op.attribute("softcap", 0.0),
        is_causal=op.flag("is_causal"), left_window=op.attribute("left_window_size", -1),
        right_window=op.attribute("right_window_size", -1), softmax_dtype=dtype_attribute(op, "softmax_precision"),
        scores=op.attribute("qk_matmul_output_mode", 0) if op.wanted(3) else None,
    )  # fmt: skip
    return several(op, found, 4)


@operator("RotaryEmbedding")
def rotary(op: Operation) -> Expression:
    return written(
        op, "transformer", "rotary_embedding", op.x, op.tensor(1), op.tensor(2), op.optional(3),
        heads=op.attribute("num_heads", 0) or None, size=op.attribute("rotary_embedding_dim", 0),
        interleaved=op.flag("interleaved"),
    )  # fmt: skip


@operator("LinearAttention")
def linear_attention(op: Operation) -> Expression | list[Expression | None]:
    """Which rule updates the state is told by the inputs that are there."""
    inputs = (op.x, op.tensor(1), op.tensor(2), *(op.optional(index) for index in range(3, 6)))
    heads, key_heads = op.attribute("q_num_heads"), op.attribute("kv_num_heads")
    scale = op.attribute("scale", 0.0)
    found = written(op, "transformer", "linear_attention", *inputs, heads=heads, key_heads=key_heads, scale=scale)
    return several(op, found, 2)


@operator("CausalConvWithState")
def causal_conv(op: Operation) -> Expression | list[Expression | None]:
    inputs = (op.x, op.tensor(1), op.optional(2), op.optional(3), op.attribute("activation", "none"))
    return several(op, written(op, "transformer", "causal_conv", *inputs), 2)


@operator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(op: Operation) -> Expression:
    """Bodies that change scores become functions."""
    changes = [
        op.closure(name, name, ["scores"]) if name in op.node.attributes else None for name in ("score_mod", "prob_mod")
    ]
    dtype = dtype_attribute(op, "softmax_precision")
    inputs = (op.x, op.tensor(1), op.tensor(2), op.attribute("scale"), *changes, dtype)
    return written(op, "transformer", "flex_attention", *inputs)
