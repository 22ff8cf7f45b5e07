"""Attention of `com.microsoft`, which files have that ONNX Runtime optimised or that were exported for it."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

MS = "com.microsoft"


def _scores(op: Operation) -> dict[str, Any]:
    """How scores are made, as three of the operators say it."""
    return {
        "heads": op.attribute("num_heads"),
        "is_causal": op.flag("unidirectional"),
        "scale": op.attribute("scale") or None,
        "mask_filter": op.attribute("mask_filter_value", -10000.0),
    }


@operator("Attention", domain=MS)
def packed(op: Operation) -> Expression | list[Expression | None]:
    if op.flag("do_rotary") or op.flag("past_present_share_buffer"):
        raise op.refuse("rotary embeddings or shared buffers inside of it")
    sizes = op.attribute("qkv_hidden_sizes")
    inputs = (op.x, op.tensor(1), *(op.optional(index) for index in range(2, 6)))
    return several(op, written(op, "runtime_attention", "packed_attention", *inputs, sizes=sizes, **_scores(op)), 2)


@operator("QAttention", domain=MS)
def quantized(op: Operation) -> Expression | list[Expression | None]:
    if op.flag("do_rotary"):
        raise op.refuse("rotary embeddings inside of it")
    inputs = (*(op.tensor(index) for index in range(5)), *(op.optional(index) for index in range(5, 9)))
    return several(op, written(op, "runtime_attention", "quantized_attention", *inputs, **_scores(op)), 2)


@operator("MultiHeadAttention", domain=MS)
def multi_head(op: Operation) -> Expression | list[Expression | None]:
    if op.has(8) or op.has(9):
        raise op.refuse("a past in buffers of fixed length, or indirections of beams")
    if op.wanted(3):
        raise op.refuse("scores as a result")
    inputs = (op.x, *(op.optional(index) for index in range(1, 8)))
    return several(op, written(op, "runtime_attention", "multi_head_attention", *inputs, **_scores(op)), 3)


@operator("GroupQueryAttention", domain=MS)
def group_query(op: Operation) -> Expression | list[Expression | None]:
    if str(op.attribute("k_quant_type", "NONE")) != "NONE" or str(op.attribute("v_quant_type", "NONE")) != "NONE":
        raise op.refuse("quantised caches")
    if op.wanted(3):
        raise op.refuse("scores as a result")
    inputs = (op.x, *(op.optional(index) for index in range(1, 5)), op.tensor(5), op.number(6))
    rest = tuple(op.optional(index) for index in range(7, 12))
    found = written(
        op, "runtime_attention", "group_query_attention", *inputs, *rest, heads=op.attribute("num_heads"),
        key_heads=op.attribute("kv_num_heads"), scale=op.attribute("scale") or None,
        softcap=op.attribute("softcap", 0.0), window=op.attribute("local_window_size", -1),
        rotary=op.flag("do_rotary"), interleaved=op.flag("rotary_interleaved"), smooth=op.flag("smooth_softmax"),
    )  # fmt: skip
    return several(op, found, 3)


@operator("RotaryEmbedding", domain=MS)
def rotary(op: Operation) -> Expression:
    """One position is where all items begin."""
    if op.flag("is_packed_batching"):
        raise op.refuse("packed batches")
    places = op.tensor(1)
    x = op.assign("x", op.x)
    if op.rank(1) == 1:
        places = op.function("runtime_attention", "rotary_offsets")(places, op.size(0, 0), op.size(0, -2), op.device)
    scale = op.attribute("scale", 1.0)
    if scale != 1.0:
        raise op.refuse(f"a scale of {scale}")
    return written(
        op, "transformer", "rotary_embedding", x, op.tensor(2), op.tensor(3), places,
        heads=op.attribute("num_heads", 0) or None, size=op.attribute("rotary_embedding_dim", 0),
        interleaved=op.flag("interleaved"),
    )  # fmt: skip
