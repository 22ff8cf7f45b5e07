"""Products and convolutions of `com.microsoft` that carry what stood around them, and what else works on matrices.

Fused operators hold transposes, factors, sums and activations of the nodes that ONNX Runtime took into them.
"""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.calling import written
from burn_import.onnx.operators.convolution import conv
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.quantization import window
from burn_import.onnx.operators.registry import operator

MS = "com.microsoft"
PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softplus": "softplus"}
TUNED = {
    "LeakyRelu": ("leaky_relu", (0.01,)),
    "Elu": ("elu", (1.0,)),
    "ThresholdedRelu": ("thresholded_relu", (1.0,)),
    "HardSigmoid": ("hard_sigmoid", (0.2, 0.5)),
}


def _activated(op: Operation, x: Expression, params: tuple[float | None, ...]) -> Expression:
    """The activation that an attribute names, with its parameters where they are given."""
    name = op.attribute("activation", "") or ""
    if not name:
        return x
    if name in PLAIN:
        return x.method(PLAIN[name])
    if name == "Clip" and None not in params[:2]:
        return x.method("clamp", *params[:2])
    if name not in TUNED:
        raise op.refuse(f"activation {name!r}")
    function, usual = TUNED[name]
    chosen = [usual[i] if i >= len(params) or params[i] is None else params[i] for i in range(len(usual))]
    return op.function("activation", function)(x, *chosen)


@operator("FusedMatMul", "TransposeMatMul", domain=MS)
def matmul(op: Operation) -> Expression:
    sides = []
    for index, letter in enumerate("AB"):
        side, rank = op.tensor(index), op.rank(index)
        if op.flag(f"transBatch{letter}"):
            side = side.method("movedim", 0, rank - 2)
        if op.flag(f"trans{letter}") and rank > 1:
            side = side.method("transpose")
        sides.append(side)
    result, alpha = sides[0].method("matmul", sides[1]), op.attribute("alpha", 1.0)
    return result if alpha == 1.0 else binary("*", result, alpha)


@operator("FusedGemm", domain=MS)
def gemm(op: Operation) -> Expression:
    left = op.tensor(0).method("transpose") if op.flag("transA") else op.tensor(0)
    right = op.tensor(1).method("transpose") if op.flag("transB") else op.tensor(1)
    result, alpha, beta = left.method("matmul", right), op.attribute("alpha", 1.0), op.attribute("beta", 1.0)
    result = result if alpha == 1.0 else binary("*", result, alpha)
    if op.has(2):
        result = binary("+", result, op.tensor(2) if beta == 1.0 else binary("*", op.tensor(2), beta))
    return _activated(op, result, tuple(op.attribute(f"activation_{name}") for name in ("alpha", "beta", "gamma")))


@operator("FusedConv", domain=MS)
def fused_conv(op: Operation) -> Expression:
    found = conv(op)
    assert isinstance(found, Expression)
    result = binary("+", found, op.tensor(3)) if op.has(3) else found
    return _activated(op, result, tuple(op.attribute("activation_params") or ()))


@operator("NhwcConv", domain=MS)
def channels_last_conv(op: Operation) -> Expression:
    rank = op.rank(1)
    x = op.x.method("permute", [0, rank - 1, *range(1, rank - 1)])
    result = written(op, "module", "conv", x, op.tensor(1), **window(op, rank - 2))
    result = result.method("permute", [0, *range(2, rank), 1])
    return binary("+", result, op.tensor(2)) if op.has(2) else result


@operator("GatherBlockQuantized", domain=MS)
def gather_blocks(op: Operation) -> Expression:
    """Rows of a packed table, unpacked after they are taken."""
    rank, bits = op.rank(), op.attribute("bits", 4)
    along = op.axis("quantize_axis", default=1)
    if op.axis("gather_axis", default=0) != 0 or along != rank - 1 or rank != 2:
        raise op.refuse("blocks along another dim than the last one of a matrix, or rows of another dim than the first")
    flat = op.assign("rows", op.tensor(1).method("reshape", [-1]))
    parts = [op.tensor(index).method("select", 0, flat) if op.has(index) else None for index in (0, 2, 3)]
    data, scale, zero = parts
    assert data is not None
    if op.dtype() is ElementType.u8:
        data = written(op, "quantized", "unpack_bits", data, bits)
        if zero is not None:
            zero = written(op, "quantized", "unpack_bits", zero, bits)
        else:
            data = binary("-", op.cast(data, ElementType.i16), 2 ** (bits - 1))
    floats = written(op, "quantized", "dequantize_linear", data, scale, zero, 1, op.attribute("block_size", 128))
    return floats.method("reshape", [*(op.size(1, axis) for axis in range(op.rank(1))), -1])


@operator("Inverse", domain=MS)
def inverse(op: Operation) -> Expression:
    return op.function("linalg", "inverse")(op.x)


@operator("Trilu", domain=MS)
def triangle(op: Operation) -> Expression:
    return op.x.method("triu" if op.attribute("upper", 1) else "tril", op.number(1) if op.has(1) else 0)
