"""Activations with a slope, a gate or a bias, and those of `com.microsoft`; and bits read as another type."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.operators.calling import written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

MS = "com.microsoft"


@operator("Selu")
def selu(op: Operation) -> Expression:
    alpha, gamma = op.attribute("alpha"), op.attribute("gamma")
    if abs(alpha - 1.6732632) < 1e-6 and abs(gamma - 1.050701) < 1e-6:
        return written(op, "activation", "selu", op.x)
    return binary("*", written(op, "activation", "elu", op.x, alpha), gamma)


@operator("Shrink")
def shrink(op: Operation) -> Expression:
    dtype = op.dtype()
    x = op.x if dtype.is_float else op.x.method("float")
    found = written(op, "activation", "shrink", x, op.attribute("lambd"), op.attribute("bias"))
    return found if dtype.is_float else op.cast(found, dtype)


@operator("PRelu")
def prelu(op: Operation) -> Expression:
    """The slope broadcasts as in arithmetic."""
    x = op.assign("x", op.x)
    return x.method("mask_where", binary("<", x, 0), binary("*", x, op.tensor(1)))


@operator("Swish")
def swish(op: Operation) -> Expression:
    if op.attribute("alpha", 1.0) == 1.0:
        return op.x.method("silu")
    return written(op, "activation", "swish", op.x, op.attribute("alpha", 1.0))


@operator("SwiGLU")
def swiglu(op: Operation) -> Expression:
    return binary("*", written(op, "activation", "swish", op.x, op.attribute("alpha", 1.0)), op.tensor(1))


@operator("QuickGelu", domain=MS)
def quick_gelu(op: Operation) -> Expression:
    return written(op, "activation", "swish", op.x, op.attribute("alpha", 1.702))


@operator("Gelu", "BiasGelu", "FastGelu", domain=MS)
def gelu(op: Operation) -> Expression:
    x = binary("+", op.x, op.tensor(1)) if op.has(1) else op.x
    return written(op, "activation", "gelu_approximate" if op.node.op_type == "FastGelu" else "gelu", x)


@operator("BitCast")
def bitcast(op: Operation) -> Expression:
    return op.x.method("bitcast", op.output_dtype())
