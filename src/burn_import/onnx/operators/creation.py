"""Operators that make tensors: constants, fills, ranges."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, first
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


@operator("Constant")
def constant(op: Operation) -> Expression:
    value = op.attribute("value")
    if value is None or value.dtype is ElementType.string or value.dtype.burn is None:
        raise op.refuse("a constant that is no tensor of numbers")
    return op.table("constant", value.array)


@operator("ConstantOfShape")
def constant_of_shape(op: Operation) -> Expression:
    value = op.attribute("value")
    if value is None:
        return op.full(op.numbers(0), 0.0, ElementType.f32)
    return op.full(op.numbers(0), first(value.array), value.dtype)


@operator("Range")
def range_(op: Operation) -> Expression:
    dtype = op.dtype(0)
    arange = op.imported("burn.ops.constants", "arange")
    return arange(op.number(0), op.number(1), op.number(2), dtype, op.device)


@operator("EyeLike")
def eye_like(op: Operation) -> Expression:
    dtype = op.attribute("dtype")
    return op.x.method("eye_like", op.attribute("k", 0), None if dtype is None else ElementType(dtype))


@operator("OneHot")
def one_hot(op: Operation) -> Expression:
    depth = op.number(1)
    return op.x.method("one_hot_values", op.tensor(2), op.named("int")(depth), op.attribute("axis"))
