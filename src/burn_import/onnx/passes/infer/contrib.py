"""Rules of operators outside the standard, as far as real models use them: `com.microsoft` and fake quantisation.

Files that ONNX Runtime optimised or quantised have `com.microsoft` operators in place of several standard nodes.
"""

from __future__ import annotations

from burn_import.onnx.ir.types import ElementType, Size
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule
from burn_import.onnx.passes.infer.reductions import matmul_shape
from burn_import.onnx.passes.infer.windows import convolution, window_sizes

MS = "com.microsoft"


@rule("Gelu", "FastGelu", "BiasGelu", "QuickGelu", "BiasSplitGelu", "Rfft", "GroupNorm", "RotaryEmbedding",
      "GemmaRotaryEmbedding", "Inverse", "Trilu", domain=MS)  # fmt: skip
def same(op: Inference) -> None:
    op.set(op.shape(1) if op.node.op_type == "RotaryEmbedding" and op.rank(0) == 0 else op.shape(0), dtype=op.dtype(0))


@rule("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=MS)
def quantised_unary(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(0))


@rule("QLinearAdd", "QLinearMul", domain=MS)
def quantised_binary(op: Inference) -> None:
    op.set(sizes.broadcast([op.shape(0), op.shape(3)]), dtype=op.dtype(0))


@rule("QLinearConcat", domain=MS)
def quantised_concat(op: Inference) -> None:
    places = range(2, len(op.node.inputs), 3)
    shapes = [op.shape(index) for index in places]
    dtype = op.dtype(1)
    if any(shape is None for shape in shapes) or not shapes:
        op.set(None, dtype=dtype)
        return
    first = shapes[0]
    assert first is not None
    axis = op.axis(len(first))
    total = sizes.add(*(shape[axis] for shape in shapes if shape is not None))
    op.set((*first[:axis], total, *first[axis + 1 :]), dtype=dtype)


@rule("QLinearGlobalAveragePool", domain=MS)
def quantised_global_pool(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        op.set(None, dtype=op.dtype(0))
    elif op.attribute("channels_last", 0):
        op.set((shape[0], *([1] * (len(shape) - 2)), shape[-1]), dtype=op.dtype(0))
    else:
        op.set((*shape[:2], *([1] * (len(shape) - 2))), dtype=op.dtype(0))


@rule("QLinearAveragePool", domain=MS)
def quantised_pool(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        op.set(None, dtype=op.dtype(0))
        return
    last = bool(op.attribute("channels_last", 0))
    spatial = shape[1:-1] if last else shape[2:]
    found = window_sizes(op, spatial, op.attribute("kernel_shape"))
    op.set((shape[0], *found, shape[-1]) if last else (*shape[:2], *found), dtype=op.dtype(0))


@rule("FusedConv", domain=MS)
def fused_convolution(op: Inference) -> None:
    convolution(op)


@rule("QLinearConv", domain=MS)
def quantised_convolution(op: Inference) -> None:
    if op.attribute("channels_last", 0):
        shape, filters = op.shape(0), op.shape(3)
        if shape is None or filters is None:
            op.set(None, dtype=op.dtype(7))
            return
        found = window_sizes(op, shape[1:-1], op.attribute("kernel_shape") or filters[2:])
        op.set((shape[0], *found, filters[0]), dtype=op.dtype(7))
    else:
        convolution(op)


@rule("FusedMatMul", "TransposeMatMul", domain=MS)
def fused_matmul(op: Inference) -> None:
    left, right = op.shape(0), op.shape(1)
    if left is not None and op.attribute("transA", 0) and len(left) > 1:
        left = (*left[:-2], left[-1], left[-2])
    if right is not None and op.attribute("transB", 0) and len(right) > 1:
        right = (*right[:-2], right[-1], right[-2])
    op.set(matmul_shape(left, right), dtype=op.dtype(0))


@rule("DynamicQuantizeMatMul", "MatMulIntegerToFloat", domain=MS)
def matmul_to_float(op: Inference) -> None:
    op.set(matmul_shape(op.shape(0), op.shape(1)), dtype=ElementType.f32)


@rule("FusedGemm", domain=MS)
def fused_gemm(op: Inference) -> None:
    rows = op.size(0, 1 if op.attribute("transA", 0) else 0)
    op.set((rows, op.size(1, 0 if op.attribute("transB", 0) else 1)), dtype=op.dtype(0))


@rule("QGemm", domain=MS)
def quantised_gemm(op: Inference) -> None:
    rows = op.size(0, 1 if op.attribute("transA", 0) else 0)
    columns = op.size(3, 0 if op.attribute("transB", 0) else 1)
    op.set((rows, columns), dtype=op.dtype(8) if op.has(8) else ElementType.f32)


@rule("MatMulNBits", "MatMulBnb4", "MatMulFpQ4", domain=MS)
def packed_matmul(op: Inference) -> None:
    shape = op.shape(0)
    op.set(None if shape is None else (*shape[:-1], op.attribute("N")), dtype=op.dtype(0))


@rule("QuantizeLinear", domain=MS)
def quantize(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(2) if op.has(2) else ElementType.u8)


@rule("DequantizeLinear", domain=MS)
def dequantize(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(1))


@rule("DynamicQuantizeLSTM", domain=MS)
def quantised_lstm(op: Inference) -> None:
    directions = 2 if op.attribute("direction", "forward") == "bidirectional" else 1
    hidden: Size = op.attribute("hidden_size")
    length, batch = op.size(0, 0), op.size(0, 1)
    op.set((length, directions, batch, hidden), dtype=op.dtype(0))
    for index in (1, 2):
        op.set((directions, batch, hidden), dtype=op.dtype(0), index=index)


@rule("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MS)
def skip_normalization(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(0))
    op.set(op.shape(0), dtype=op.dtype(0), index=3)


@rule("SimplifiedLayerNormalization", domain="")
def simplified_normalization(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(0))


@rule("EmbedLayerNormalization", domain=MS)
def embedding(op: Inference) -> None:
    batch, length = op.size(0, 0), op.size(0, 1)
    width = op.size(2, 1)
    op.set((batch, length, width), dtype=op.dtype(2))
    op.set((batch,), dtype=ElementType.i32, index=1)
    op.set((batch, length, width), dtype=op.dtype(2), index=2)


@rule("Attention", "QAttention", domain=MS)
def attention(op: Inference) -> None:
    batch, length = op.size(0, 0), op.size(0, 1)
    widths = op.attribute("qkv_hidden_sizes")
    width: Size = widths[2] if widths else sizes.floor_divide(op.size(1, 1), 3)
    op.set((batch, length, width), dtype=op.dtype(0) if op.node.op_type == "Attention" else ElementType.f32)


@rule("MultiHeadAttention", domain=MS)
def multi_head_attention(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        op.set(None, dtype=op.dtype(0))
    elif len(shape) == 5:
        op.set((shape[0], shape[1], sizes.calculate(lambda h, w: h * w, shape[2], shape[4])), dtype=op.dtype(0))
    else:
        width = op.size(2, 2) if op.rank(2) == 3 else shape[-1]
        op.set((*shape[:2], width), dtype=op.dtype(0))
    for index in (1, 2):
        op.set((None,) * 4, dtype=op.dtype(0), index=index)


@rule("GroupQueryAttention", domain=MS)
def group_query_attention(op: Inference) -> None:
    shape = op.shape(0)
    if shape is not None and not op.has(1):
        heads, key_heads = op.attribute("num_heads"), op.attribute("kv_num_heads")
        width = sizes.floor_divide(shape[2], heads + 2 * key_heads)
        shape = (*shape[:2], sizes.calculate(lambda w: w * heads, width))
    op.set(shape, dtype=op.dtype(0))
    for index in (1, 2):
        past = op.shape(2 + index)
        op.set(None if past is None else (past[0], past[1], None, past[3]), dtype=op.dtype(0), index=index)


def _fake_quantisation(op: Inference) -> None:
    """Operators of quantisation-aware training: rounding that keeps shape and type."""
    op.set(op.shape(0), dtype=op.dtype(0))


for _domain in ("onnx.brevitas", "qonnx.custom_op.general"):
    rule("Quant", "IntQuant", "FloatQuant", "BipolarQuant", "Trunc", domain=_domain)(_fake_quantisation)
