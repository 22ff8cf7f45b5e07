"""Activations that exporters write as arithmetic: gelu in its two forms, silu and its relatives, hard-swish, mish."""

from __future__ import annotations

import math
from collections.abc import Sequence

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.patterns.matching import (
    Found,
    Pattern,
    factors,
    is_close,
    is_number,
    is_step,
    orders,
    same_rank,
    step,
)


class Gelu(Pattern):
    """`x * (1 + erf(x / sqrt 2)) / 2`, and the form with a tanh, are Gelu."""

    name = "gelu"
    roots = ("Mul", "Div")

    def match(self, node: Node) -> Found | None:
        coefficient, parts = factors(node.output)
        if len(parts) != 2 or not is_close(coefficient, 0.5, node.output.tensor.dtype):
            return None
        for x, bent in (parts, parts[::-1]):
            inner = _added(bent, 1.0)
            if inner is None or not same_rank(x, node.output):
                continue
            if _is_error_function(inner, x):
                return Found("Gelu", [x], {"approximate": "none"})
            if _is_bent(inner, x):
                return Found("Gelu", [x], {"approximate": "tanh"})
        return None


def _added(value: Value, wanted: float) -> Value | None:
    """y of `y + wanted`."""
    node = step(value, "Add")
    if node is not None:
        for one, two in orders(node):
            if is_number(two, wanted):
                return one
    return None


def _is_error_function(value: Value, x: Value) -> bool:
    node = step(value, "Erf")
    if node is None or node.input(0) is None:
        return False
    coefficient, parts = factors(node.inputs[0])  # type: ignore[arg-type]
    return parts == [x] and is_close(coefficient, math.sqrt(0.5), x.tensor.dtype)


def _is_bent(value: Value, x: Value) -> bool:
    """tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), or with x in front of the sum."""
    node = step(value, "Tanh")
    if node is None or node.input(0) is None:
        return False
    coefficient, parts = factors(node.inputs[0])  # type: ignore[arg-type]
    if not is_close(coefficient, math.sqrt(2 / math.pi), x.tensor.dtype):
        return False
    if len(parts) == 1:
        total = step(parts[0], "Add")
        return total is not None and any(one is x and _is_power(two, x, 3) for one, two in orders(total))
    if len(parts) == 2 and x in parts:
        rest = parts[0] if parts[1] is x else parts[1]
        inner = _added(rest, 1.0)
        return inner is not None and _is_power(inner, x, 2)
    return False


def _is_power(value: Value, x: Value, exponent: int) -> bool:
    if not is_step(value):
        return False
    coefficient, parts = factors(value)
    return parts == [x] * exponent and is_close(coefficient, 0.044715, x.tensor.dtype)


class Swish(Pattern):
    """`x * sigmoid(a * x)` is Swish: silu for a = 1."""

    name = "swish"
    roots = ("Mul",)

    def match(self, node: Node) -> Found | None:
        for x, gate in orders(node):
            inner = step(gate, "Sigmoid")
            if inner is None or inner.input(0) is None or not same_rank(x, node.output):
                continue
            if inner.input(0) is x:
                return Found("Swish", [x], {"alpha": 1.0})
            coefficient, parts = factors(inner.inputs[0])  # type: ignore[arg-type]
            if parts == [x] and is_step(inner.input(0)):
                return Found("Swish", [x], {"alpha": coefficient})
        return None


class HardSigmoid(Pattern):
    """`clip(x + 3, 0, 6) / 6` is HardSigmoid."""

    name = "hard sigmoid"
    roots = ("Div", "Mul")

    def match(self, node: Node) -> Found | None:
        coefficient, parts = factors(node.output)
        if len(parts) != 1 or not is_close(coefficient, 1 / 6, node.output.tensor.dtype):
            return None
        x = _clipped(parts[0])
        if x is None or not same_rank(x, node.output):
            return None
        return Found("HardSigmoid", [x], {"alpha": 1 / 6, "beta": 0.5})


def _clipped(value: Value) -> Value | None:
    """x of `clip(x + 3, 0, 6)`."""
    node = step(value, "Clip")
    if node is None or not is_number(node.input(1), 0.0) or not is_number(node.input(2), 6.0):
        return None
    inner = node.input(0)
    return None if inner is None else _added(inner, 3.0)


class HardSwish(Pattern):
    """`x * hard_sigmoid(x)`, and `x * clip(x + 3, 0, 6) / 6`, are HardSwish."""

    name = "hard swish"
    roots = ("Mul", "Div")

    def match(self, node: Node) -> Found | None:
        coefficient, parts = factors(node.output)
        if len(parts) != 2:
            return None
        for x, gate in (parts, parts[::-1]):
            if not same_rank(x, node.output):
                continue
            if is_close(coefficient, 1.0) and _is_usual_gate(gate, x):
                return Found("HardSwish", [x])
            if is_close(coefficient, 1 / 6, x.tensor.dtype) and _clipped(gate) is x:
                return Found("HardSwish", [x])
        return None


def _is_usual_gate(gate: Value, x: Value) -> bool:
    node = step(gate, "HardSigmoid")
    if node is None or node.input(0) is not x:
        return False
    alpha, beta = node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)
    return is_close(alpha, 1 / 6, ElementType.f32) and is_close(beta, 0.5)


class Mish(Pattern):
    """`x * tanh(softplus(x))` is Mish."""

    name = "mish"
    roots = ("Mul",)

    def match(self, node: Node) -> Found | None:
        for x, gate in orders(node):
            outer = step(gate, "Tanh")
            inner = None if outer is None else step(outer.input(0), "Softplus")
            if inner is not None and inner.input(0) is x and same_rank(x, node.output):
                return Found("Mish", [x])
        return None


PATTERNS: Sequence[type[Pattern]] = (Gelu, Swish, HardSigmoid, HardSwish, Mish)
