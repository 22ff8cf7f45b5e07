"""Quantisation: steps of a scale in and out, and arithmetic of integers."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import dtype_attribute, several, written
from burn_import.onnx.operators.convolution import padding, spatial
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


@operator("QuantizeLinear")
@operator("QuantizeLinear", domain="com.microsoft")
def quantize(op: Operation) -> Expression:
    return written(
        op, "quantized", "quantize_linear", op.x, op.tensor(1), op.optional(2), _dim(op),
        op.attribute("block_size", 0), _stored(op), bool(op.attribute("saturate", 1)), dtype_attribute(op, "precision"),
    )  # fmt: skip


@operator("DequantizeLinear")
@operator("DequantizeLinear", domain="com.microsoft")
def dequantize(op: Operation) -> Expression:
    return written(
        op, "quantized", "dequantize_linear", op.x, op.tensor(1), op.optional(2), _dim(op),
        op.attribute("block_size", 0), dtype_attribute(op, "output_dtype"),
    )  # fmt: skip


def _dim(op: Operation) -> int:
    """The dim along which scales lie; of one scale for everything it does not matter."""
    return 1 if op.known_rank(1) == 0 else op.axis(default=1 if op.node.domain else None)


def _stored(op: Operation) -> Any:
    """The element type of the result where no zero point tells it."""
    return None if op.has(2) else dtype_attribute(op, "output_dtype")


@operator("DynamicQuantizeLinear")
def dynamic(op: Operation) -> Expression | list[Expression | None]:
    return several(op, written(op, "quantized", "dynamic_quantize", op.x), 3)


@operator("MatMulInteger")
def matmul_integer(op: Operation) -> Expression:
    return written(op, "quantized", "matmul_integer", op.x, op.tensor(1), op.optional(2), op.optional(3))


def window(op: Operation, dims: int) -> dict[str, Any]:
    """Stride, padding, dilation and groups of a convolution, where they are not the usual ones."""
    found: dict[str, Any] = {}
    ones = (1,) * dims
    strides, around, dilations = op.attribute("strides") or ones, padding(op, dims), op.attribute("dilations") or ones
    if strides != ones:
        found["stride"] = list(strides)
    if isinstance(around, str) or any(any(pair) for pair in around):
        found["padding"] = around
    if dilations != ones:
        found["dilation"] = list(dilations)
    return found | {"groups": op.attribute("group", 1)}


@operator("ConvInteger")
def conv_integer(op: Operation) -> Expression:
    inputs = (op.x, op.tensor(1), op.optional(2), op.optional(3))
    return written(op, "quantized", "conv_integer", *inputs, **window(op, spatial(op)))


@operator("QLinearMatMul")
def matmul(op: Operation) -> Expression:
    return written(op, "quantized", "matmul", *op.tensors())


@operator("QLinearConv")
@operator("QLinearConv", domain="com.microsoft")
def conv(op: Operation) -> Expression:
    rank = op.rank(3)
    last = bool(op.attribute("channels_last", 0))
    x = op.x.method("permute", [0, rank - 1, *range(1, rank - 1)]) if last else op.x
    rest = [op.optional(index) for index in range(1, 9)]
    result = written(op, "quantized", "conv", x, *rest, **window(op, rank - 2))
    return result.method("permute", [0, *range(2, rank), 1]) if last else result


def _fake(op: Operation) -> Expression:
    """Rounding of quantisation-aware training, with the number of bits as a tensor."""
    inputs = (op.x, op.tensor(1), op.tensor(2), op.tensor(3))
    signed, narrow = bool(op.attribute("signed", 1)), bool(op.attribute("narrow", 0))
    return written(op, "quantized", "fake_quantize", *inputs, signed, narrow, op.attribute("rounding_mode", "ROUND"))


for _domain in ("onnx.brevitas", "qonnx.custom_op.general"):
    operator("Quant", "IntQuant", domain=_domain)(_fake)
