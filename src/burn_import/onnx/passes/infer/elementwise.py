"""Rules of operators that work element by element: the shape stays, or the shapes broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn import dim as dims
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.infer import content, sizes
from burn_import.onnx.passes.infer.context import Inference, rule


@rule(
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "Bernoulli", "BitwiseNot", "Celu", "Cos",
    "Cosh", "CumProd", "CumSum", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Hardmax",
    "InstanceNormalization", "GroupNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu", "Log", "LogSoftmax",
    "LpNormalization", "MeanVarianceNormalization", "Mish", "PRelu", "RMSNormalization", "Reciprocal", "Relu",
    "ReverseSequence", "RotaryEmbedding", "Round", "ScatterElements", "ScatterND", "Selu", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Swish", "Tan", "Tanh", "TensorScatter",
    "ThresholdedRelu", "Trilu",
)  # fmt: skip
def same_shape(op: Inference) -> None:
    op.set(op.shape(0))
    if op.node.op_type == "BatchNormalization":
        op.set(op.shape(3), dtype=op.dtype(3), index=1)
        op.set(op.shape(4), dtype=op.dtype(4), index=2)
    elif op.node.op_type == "ScatterElements":
        _scatter_content(op)


def _scatter_content(op: Inference) -> None:
    """A shape in which some sizes are replaced."""
    data, indices, updates = op.content(0), op.ints(1), op.elements(2)
    if data is None or data.ndim != 1 or indices is None or updates is None or op.attribute("reduction") != "none":
        return
    result = data.copy()
    for index, update in zip(indices, updates):
        result[index] = update
    op.set_content(result)


@rule("Dropout")
def dropout(op: Inference) -> None:
    op.set(op.shape(0))
    op.set(op.shape(0), dtype=ElementType.bool_, index=1)


_UNARY: dict[str, Callable[..., Any]] = {
    "Neg": lambda x: -x,
    "Abs": lambda x: x if isinstance(x, dims.Dim) and dims.is_at_least(x, 0) else abs(x),
    "Floor": content.round_down,
    "Ceil": content.round_up,
    "Not": lambda x: not x,
    "Sqrt": lambda x: x**0.5,
}


@rule(*_UNARY)
def unary(op: Inference) -> None:
    op.set(op.shape(0))
    function = _UNARY[op.node.op_type]
    op.set_content(content.round_to(content.elementwise(function, op.content(0)), op.dtype(0)))


@rule("Identity")
def identity(op: Inference) -> None:
    op.set_type(op.type(0))
    op.set_content(op.content(0))


_BINARY: dict[str, Callable[..., Any]] = {
    "Add": content.add,
    "Sub": content.subtract,
    "Mul": content.multiply,
    "Equal": content.equal,
    "Less": content.less,
    "Greater": lambda x, y: content.less(y, x),
    "LessOrEqual": lambda x, y: _not(content.less(y, x)),
    "GreaterOrEqual": lambda x, y: _not(content.less(x, y)),
    "And": lambda x, y: x and y,
    "Or": lambda x, y: x or y,
    "Xor": lambda x, y: x != y,
}


def _not(x: Any) -> Any:
    return None if x is None else not x


@rule(*_BINARY, "Div", "Mod", "Pow", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "StringConcat")
def binary(op: Inference) -> None:
    op.set(sizes.broadcast([op.shape(0), op.shape(1)]))
    name, dtype = op.node.op_type, op.dtype(0)
    if dtype is ElementType.string:
        return
    is_whole = dtype is not None and dtype.is_int
    function = _BINARY.get(name)
    if name == "Div" and dtype is not None:
        function = content.divide_ints if is_whole else content.divide_floats
    elif name == "Mod" and is_whole and not op.attribute("fmod", 0):
        function = content.modulo
    elif name == "Pow" and is_whole:
        function = _power
    if function is None:
        return
    left, right = op.content(0), op.content(1)
    result = content.elementwise(function, left, right)
    arithmetic = name in ("Add", "Sub", "Mul", "Div", "Mod", "Pow")
    op.set_content(content.round_to(result, dtype) if arithmetic else result)


def _power(x: Any, y: Any) -> Any:
    if not isinstance(y, int) or not 0 <= y <= 8:
        return None
    result: Any = 1
    for _ in range(y):
        result = result * x
    return result


@rule("Max", "Min", "Sum", "Mean")
def variadic(op: Inference) -> None:
    count = len(op.node.inputs)
    op.set(sizes.broadcast([op.shape(index) for index in range(count)]))
    function = {"Max": content.larger, "Min": content.smaller, "Sum": content.add}.get(op.node.op_type)
    result = op.content(0)
    if function is not None:
        for index in range(1, count):
            result = content.elementwise(function, result, op.content(index))
        op.set_content(result)


@rule("Clip")
def clip(op: Inference) -> None:
    op.set(op.shape(0))
    result = op.content(0)
    if op.has(1):
        result = content.elementwise(content.larger, result, op.content(1))
    if op.has(2):
        result = content.elementwise(content.smaller, result, op.content(2))
    op.set_content(result)


@rule("Where")
def where(op: Inference) -> None:
    op.set(sizes.broadcast([op.shape(0), op.shape(1), op.shape(2)]))
    op.set_content(content.elementwise(content.choose, op.content(0), op.content(1), op.content(2)))


@rule("Cast", "BitCast")
def cast(op: Inference) -> None:
    target = ElementType(op.attribute("to"))
    op.set(op.shape(0), dtype=target)
    if op.node.op_type == "Cast":
        op.set_content(content.cast(op.content(0), op.dtype(0), target))


@rule("CastLike")
def cast_like(op: Inference) -> None:
    op.set(op.shape(0), dtype=op.dtype(1))
    op.set_content(content.cast(op.content(0), op.dtype(0), op.dtype(1)))


@rule("QuantizeLinear")
def quantize(op: Inference) -> None:
    chosen = op.attribute("output_dtype", 0)
    dtype = op.dtype(2) if op.has(2) else (ElementType(chosen) if chosen else ElementType.u8)
    op.set(op.shape(0), dtype=dtype)


@rule("DequantizeLinear")
def dequantize(op: Inference) -> None:
    chosen = op.attribute("output_dtype", 0)
    op.set(op.shape(0), dtype=ElementType(chosen) if chosen else op.dtype(1))


@rule("DynamicQuantizeLinear")
def dynamic_quantize(op: Inference) -> None:
    op.set(op.shape(0), dtype=ElementType.u8)
    op.set((), dtype=ElementType.f32, index=1)
    op.set((), dtype=ElementType.u8, index=2)


@rule("LayerNormalization")
def layer_normalization(op: Inference) -> None:
    shape = op.shape(0)
    op.set(shape)
    if shape is not None:
        axis = op.axis(len(shape), default=-1)
        reduced = (*shape[:axis], *([1] * (len(shape) - axis)))
        op.set(reduced, dtype=ElementType.f32, index=1)
        op.set(reduced, dtype=ElementType.f32, index=2)


@rule("RandomNormalLike", "RandomUniformLike", "EyeLike")
def random_like(op: Inference) -> None:
    code = op.attribute("dtype")
    op.set(op.shape(0), dtype=ElementType(code) if code else op.dtype(0))


@rule("RandomNormal", "RandomUniform")
def random(op: Inference) -> None:
    op.set(op.attribute("shape"), dtype=ElementType(op.attribute("dtype", 1)))


@rule("Multinomial")
def multinomial(op: Inference) -> None:
    op.set((op.size(0, 0), op.attribute("sample_size", 1)), dtype=ElementType(op.attribute("dtype", 6)))


@rule("RegexFullMatch")
def regex(op: Inference) -> None:
    op.set(op.shape(0), dtype=ElementType.bool_)
