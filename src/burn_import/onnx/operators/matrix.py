"""Products of matrices; with constant weights they are linear layers."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.code.fields import Source, Weight
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator
from burn_import.onnx.operators.tying import is_tied


def linear(op: Operation, weight: Weight, sizes: tuple[int, int], bias: Value | None) -> Expression:
    """A linear layer from `sizes[0]` to `sizes[1]` features over the first input."""
    weights: dict[str, Source] = {"weight": weight}
    if bias is not None:
        weights["bias"] = Weight(bias, lambda array: array.reshape(-1))
        return op.layer("Linear", *sizes, weights=weights)(op.x)
    return op.layer("Linear", *sizes, bias=False, weights=weights)(op.x)


def _sizes(value: Value) -> tuple[int, int] | None:
    constant = value.constant
    if constant is None or len(constant.shape) != 2 or not constant.dtype.is_float or 0 in constant.shape:
        return None
    return constant.shape[0], constant.shape[1]


@operator("MatMul")
def matmul(op: Operation) -> Expression:
    """`x @ W` is a linear layer when W is a constant, and takes the bias added behind it."""
    sizes = _sizes(op.value(1))
    if sizes is None or op.value(0).constant is not None or (op.known_rank(0) or 0) < 2 or is_tied(op, 1):
        return binary("@", op.tensor(0), op.tensor(1))
    bias: Value | None = None
    addition = op.followed_by("Add")
    if addition is not None:
        other = addition.inputs[0] if addition.inputs[1] is op.node.output else addition.inputs[1]
        constant = None if other is None else other.constant
        if constant is not None and constant.shape == (sizes[1],):
            bias = other
            op.absorb(addition)
    return linear(op, op.weight(1), sizes, bias)


@operator("Gemm")
def gemm(op: Operation) -> Expression:
    """`alpha * A @ B + beta * C`, each of A and B transposed or not."""
    alpha, beta = op.attribute("alpha"), op.attribute("beta")
    left, right = op.flag("transA"), op.flag("transB")
    sizes = _sizes(op.value(1))
    bias = op.node.input(2)
    fits = bias is None or (
        bias.constant is not None
        and sizes is not None
        and bias.constant.shape in ((sizes[0 if right else 1],), (1, sizes[0 if right else 1]))
    )
    plain = alpha == 1.0 and (beta == 1.0 or bias is None) and not left and op.value(0).constant is None
    if sizes is not None and fits and plain and not is_tied(op, 1):
        weight = op.weight(1, (lambda array: array.T) if right else None)
        return linear(op, weight, sizes[::-1] if right else sizes, bias)
    one = op.tensor(0).method("transpose") if left else op.tensor(0)
    other = op.tensor(1).method("transpose") if right else op.tensor(1)
    result = binary("@", one, other)
    if alpha != 1.0:
        result = binary("*", result, int(alpha) if op.dtype(0).is_int else alpha)
    if bias is not None:
        added = op.tensor(2)
        if beta != 1.0:
            added = binary("*", added, int(beta) if op.dtype(0).is_int else beta)
        result = binary("+", result, added)
    return result
