"""Elementwise arithmetic, comparisons, logic and mathematical functions."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, Form, binary, first, literal, unary
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

METHODS = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "IsNaN": "is_nan", "Log": "log", "Reciprocal": "recip", "Round": "round", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh", "Not": "bool_not", "BitwiseNot": "bitwise_not",
}  # fmt: skip


@operator(*METHODS)
def function(op: Operation) -> Expression:
    return op.x.method(METHODS[op.node.op_type])


@operator("Identity")
def identity(op: Operation) -> Expression:
    return op.raw(0)


@operator("Neg")
def negate(op: Operation) -> Expression:
    return unary("-", op.x)


def pair(op: Operation) -> tuple[Expression, Expression]:
    """Both operands, at least one of them a tensor."""
    left, right = op.operand(0), op.operand(1)
    return (op.tensor(0), right) if left.form is right.form is Form.number else (left, right)


@operator("Add", "Sub", "Mul", "Div")
def arithmetic(op: Operation) -> Expression:
    left, right = pair(op)
    if op.node.op_type == "Div" and op.dtype(0).is_int:
        # towards zero, as the method has it; the operator `/` would give floats
        return op.tensor(0).method("div", right)
    return binary({"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}[op.node.op_type], left, right)


@operator("Pow")
def power(op: Operation) -> Expression:
    """The result has the type of the base, whatever that of the exponent is."""
    base, dtype = op.tensor(0), op.dtype(0)
    constant = op.constant(1)
    if constant is not None and constant.size == 1 and (constant.ndim == 0 or constant.ndim <= op.rank(0)):
        exponent = constant.reshape(-1)[0].item()
        if dtype.is_float or float(exponent).is_integer():
            number = int(exponent) if dtype.is_int else float(exponent)
            return binary("**", base, literal(number))
    result = base.method("powf" if dtype.is_float or op.dtype(1).is_float else "powi", op.tensor(1))
    return result if op.dtype(1) is dtype or (dtype.is_float and op.dtype(1).is_int) else result.method("cast", dtype)


COMPARISONS = {
    "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "lower",
    "LessOrEqual": "lower_equal",
}  # fmt: skip
MIRRORED = {
    "Equal": "equal", "Greater": "lower", "GreaterOrEqual": "lower_equal", "Less": "greater",
    "LessOrEqual": "greater_equal",
}  # fmt: skip


@operator(*COMPARISONS)
def compare(op: Operation) -> Expression:
    if op.dtype(0) is ElementType.string:
        return op.new(binary("==", op.raw(0), op.raw(1)), ElementType.bool_)
    left, right = pair(op)
    if left.form is Form.number:
        return right.method(MIRRORED[op.node.op_type], left)
    return left.method(COMPARISONS[op.node.op_type], right)


PAIRS = {
    "And": "bool_and", "Or": "bool_or", "Xor": "bool_xor", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}  # fmt: skip


@operator(*PAIRS)
def logic(op: Operation) -> Expression:
    return op.tensor(0).method(PAIRS[op.node.op_type], op.tensor(1))


@operator("BitShift")
def shift(op: Operation) -> Expression:
    name = "bitwise_left_shift" if op.attribute("direction") == "LEFT" else "bitwise_right_shift"
    return op.tensor(0).method(name, op.tensor(1))


@operator("Mod")
def remainder(op: Operation) -> Expression:
    """With fmod the sign is the dividend's, without it the divisor's."""
    name = "fmod" if op.flag("fmod") else "remainder"
    return op.tensor(0).method(name, op.operand(1))


@operator("Max", "Min")
def extreme(op: Operation) -> Expression:
    name = "max_pair" if op.node.op_type == "Max" else "min_pair"
    result = op.tensor(0)
    for index in range(1, op.count):
        result = result.method(name, op.operand(index, 0))
    return result


@operator("Sum", "Mean")
def total(op: Operation) -> Expression:
    result = op.tensor(0)
    for index in range(1, op.count):
        result = binary("+", result, op.tensor(index))
    if op.node.op_type == "Mean" and op.count > 1:
        return binary("/", result, float(op.count))
    return result


@operator("Clip")
def clip(op: Operation) -> Expression:
    """A bound is a number where it is known; absent ones do not bind."""
    result = op.x
    bounds = [op.operand(index, 0) if op.has(index) else None for index in (1, 2)]
    low, high = bounds
    if low is not None and high is not None and low.form is high.form is Form.number:
        return result.method("clamp", low, high)
    for name, bound in (("clamp_min", low), ("clamp_max", high)):
        if bound is not None:
            if bound.form is Form.number:
                result = result.method(name, bound)
            else:
                result = result.method("max_pair" if name == "clamp_min" else "min_pair", bound)
    return result


def _covers(op: Operation, index: int, other: int) -> bool:
    """Whether input `other` surely broadcasts to the shape of input `index`."""
    shape, part = op.shape(index), op.shape(other)
    if shape is None or part is None or len(part) > len(shape):
        return False
    return all(one == 1 or one == size for one, size in zip(reversed(part), reversed(shape)))


@operator("Where")
def where(op: Operation) -> Expression:
    """`mask_where` and `mask_fill` take the second value where the mask is true."""
    mask, taken, otherwise = op.tensor(0), op.value(1), op.value(2)
    constant = taken.constant
    rank, other = taken.tensor.rank, otherwise.tensor.rank
    if (
        constant is not None
        and constant.size == 1
        and rank is not None
        and other is not None
        and rank <= other
        and constant.dtype.burn is not None
        and otherwise.constant is None
        and _covers(op, 2, 0)
    ):
        return op.tensor(2).method("mask_fill", mask, first(constant.array))
    return op.tensor(2).method("mask_where", mask, op.tensor(1))


@operator("Cast")
def cast(op: Operation) -> Expression:
    """Narrow floats saturate where the node says so; floats wrap into narrow ints, through an int that is wide."""
    return converted(op, ElementType(op.attribute("to")))


@operator("CastLike")
def cast_like(op: Operation) -> Expression:
    return converted(op, op.dtype(1))


def converted(op: Operation, target: ElementType) -> Expression:
    source = op.dtype(0)
    text = ElementType.string
    if source is text and target is text:
        return op.raw(0)
    if target is text and source.burn is not None:
        return op.function("text", "write_numbers")(op.x).other()
    if source is text and target.burn is not None:
        return op.new(op.function("text", "read_numbers")(op.raw(0), target), target)
    if target.burn is None or source.burn is None:
        raise op.refuse(f"a cast from {source} to {target}")
    if target is ElementType.f8e8m0:
        return op.x.method("cast_saturating", target, op.attribute("round_mode", "up"))
    if target.is_float and target.bits <= 8 and op.attribute("saturate", 1):
        return op.x.method("cast_saturating", target)
    if target.is_int and target.bits < 8 and source.is_float:
        return op.x.method("cast", ElementType.i32).method("cast", target)
    return op.x.method("cast", target)


@operator("IsInf")
def infinite(op: Operation) -> Expression:
    positive, negative = op.flag("detect_positive"), op.flag("detect_negative")
    x = op.assign("x", op.x)
    if positive and negative:
        return x.method("is_inf")
    if not positive and not negative:
        return x.method("is_inf").method("bool_and", x.method("is_nan"))
    return x.method("equal", float("inf") if positive else float("-inf"))
