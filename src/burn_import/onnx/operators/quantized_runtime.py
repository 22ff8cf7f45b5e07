"""Quantised operators of `com.microsoft`, which files have that ONNX Runtime quantised."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.convolution import padding
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.recurrence import cells
from burn_import.onnx.operators.registry import operator

MS = "com.microsoft"


def _zero(op: Operation, index: int, dtype: ElementType) -> Expression:
    """A zero point, which is 0 where it is left out."""
    return op.tensor(index) if op.has(index) else op.new(0, dtype)


def _operand(op: Operation, start: int) -> tuple[Expression, Expression, Expression]:
    """A quantised tensor with its scale and zero point."""
    return op.tensor(start), op.tensor(start + 1), _zero(op, start + 2, op.dtype(start))


def _target(op: Operation, index: int, like: int = 0) -> tuple[Expression, Expression]:
    """Scale and zero point of the result, which has the type of the first quantised input."""
    return op.tensor(index), _zero(op, index + 1, op.dtype(like))


@operator("QLinearAdd", "QLinearMul", domain=MS)
def arithmetic(op: Operation) -> Expression:
    name = "add" if op.node.op_type == "QLinearAdd" else "mul"
    return written(op, "quantized", name, *_operand(op, 0), *_operand(op, 3), *_target(op, 6))


@operator("QLinearSigmoid", domain=MS)
def sigmoid(op: Operation) -> Expression:
    return written(op, "quantized", "sigmoid", *_operand(op, 0), *_target(op, 3))


@operator("QLinearLeakyRelu", domain=MS)
def leaky_relu(op: Operation) -> Expression:
    return written(op, "quantized", "leaky_relu", *_operand(op, 0), *_target(op, 3), op.attribute("alpha", 0.01))


@operator("QLinearSoftmax", domain=MS)
def softmax(op: Operation) -> Expression:
    """Operators before set 13 took everything from the axis on as one dim."""
    x, scale, zero = _operand(op, 0)
    axis = op.axis(default=-1)
    if op.attribute("opset", 13) >= 13 or axis == op.rank() - 1:
        return written(op, "quantized", "softmax", x, scale, zero, *_target(op, 3), axis)
    x = op.assign("x", x)
    flat = x.method("flatten", axis, -1)
    return written(op, "quantized", "softmax", flat, scale, zero, *_target(op, 3)).method(
        "reshape", x.attribute("shape")
    )


@operator("QLinearGlobalAveragePool", domain=MS)
def global_average_pool(op: Operation) -> Expression:
    return written(op, "quantized", "global_average_pool", *_operand(op, 0), *_target(op, 3), op.flag("channels_last"))


def _floats(op: Operation, start: int) -> Expression:
    return written(op, "quantized", "dequantize_linear", *_operand(op, start))


def _steps(op: Operation, value: Expression, index: int) -> Expression:
    return written(op, "quantized", "quantize_linear", value, *_target(op, index))


@operator("QLinearAveragePool", domain=MS)
def average_pool(op: Operation) -> Expression:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    rank, last = dims + 2, op.flag("channels_last")
    x = _floats(op, 0)
    x = x.method("permute", [0, rank - 1, *range(1, rank - 1)]) if last else x
    strides = list(op.attribute("strides") or (1,) * dims)
    pooled = written(
        op, "module", "avg_pool_padded", x, list(kernel), strides, padding(op, dims), [1] * dims,
        op.flag("count_include_pad"), op.flag("ceil_mode"),
    )  # fmt: skip
    return _steps(op, pooled.method("permute", [0, *range(2, rank), 1]) if last else pooled, 3)


@operator("QLinearReduceMean", domain=MS)
def reduce_mean(op: Operation) -> Expression:
    axes = list(op.attribute("axes") or range(op.rank()))
    mean = _floats(op, 0).method("mean_dims", axes)
    return _steps(op, mean if op.attribute("keepdims", 1) else mean.method("squeeze_dims", axes), 3)


@operator("QLinearConcat", domain=MS)
def concat(op: Operation) -> Expression:
    scale, zero = op.tensor(0), op.tensor(1)
    places = range(2, op.count, 3)
    parts = [written(op, "quantized", "rescale", *_operand(op, index), scale, zero) for index in places]
    return op.named("Tensor.cat")(parts, op.axis(rank=op.rank(2)))


@operator("QLinearWhere", domain=MS)
def where(op: Operation) -> Expression:
    scale, zero = _target(op, 7, like=1)
    taken, otherwise = (written(op, "quantized", "rescale", *_operand(op, index), scale, zero) for index in (1, 4))
    return otherwise.method("mask_where", op.tensor(0), taken)


@operator("QGemm", domain=MS)
def gemm(op: Operation) -> Expression:
    return written(
        op, "quantized", "gemm", *_operand(op, 0), *_operand(op, 3), op.optional(6), op.optional(7), op.optional(8),
        op.attribute("alpha", 1.0), op.flag("transA"), op.flag("transB"),
    )  # fmt: skip


@operator("DynamicQuantizeMatMul", domain=MS)
def dynamic_matmul(op: Operation) -> Expression:
    inputs = (op.x, op.tensor(1), op.tensor(2), op.optional(3), op.optional(4))
    return written(op, "quantized", "dynamic_matmul", *inputs)


@operator("MatMulIntegerToFloat", domain=MS)
def matmul_to_float(op: Operation) -> Expression:
    inputs = (op.x, op.tensor(1), op.tensor(2), op.tensor(3), op.optional(4), op.optional(5), op.optional(6))
    return written(op, "quantized", "matmul_to_float", *inputs)


@operator("MatMulNBits", domain=MS)
def matmul_packed(op: Operation) -> Expression:
    inputs = (op.x, op.tensor(1), op.tensor(2), op.optional(3), op.optional(4), op.optional(5))
    settings: dict[str, Any] = {"inputs": op.attribute("K"), "outputs": op.attribute("N")}
    settings |= {"bits": op.attribute("bits", 4), "block_size": op.attribute("block_size", 32)}
    return written(op, "quantized", "matmul_packed", *inputs, **settings)


@operator("DynamicQuantizeLSTM", domain=MS)
def dynamic_lstm(op: Operation) -> Expression | list[Expression | None]:
    inputs = (op.x, op.tensor(1), op.tensor(2), *(op.optional(index) for index in range(3, 12)))
    tied = op.flag("input_forget")
    return several(op, written(op, "quantized", "dynamic_lstm", *inputs, **cells(op), input_forget=tied), 3)
