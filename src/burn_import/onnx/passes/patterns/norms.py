"""Norms that exporters take apart into means, squares and roots: layer norm, RMS norm and group norm."""

from __future__ import annotations

from typing import NamedTuple

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.passes.patterns.matching import (
    Found,
    Pattern,
    follower,
    is_last_axis,
    is_number,
    is_step,
    made_by,
    number,
    orders,
    other,
    same_rank,
    same_shape,
    step,
    vector,
)


class Scaled(NamedTuple):
    """`top / sqrt(mean(square of base) + epsilon)`; `steps` of the nodes that use `base`."""

    base: Value
    epsilon: float


def _scaled(node: Node) -> Scaled | None:
    """What a division by a root of a mean square, in one of the forms that are written, is made of."""
    if node.op_type == "Div":
        base, root = node.input(0), step(node.input(1), "Sqrt")
        mean = None if root is None else root.input(0)
        return None if base is None else _of_mean(base, mean)
    for base, inverse in orders(node):
        reciprocal = step(inverse, "Reciprocal")
        quotient = step(inverse, "Div")
        power = step(inverse, "Pow")
        root = None
        if reciprocal is not None:
            root = step(reciprocal.input(0), "Sqrt")
        elif quotient is not None and is_number(quotient.input(0), 1.0):
            root = step(quotient.input(1), "Sqrt")
        if root is not None:
            found = _of_mean(base, root.input(0))
        elif power is not None and is_number(power.input(1), -0.5):
            found = _of_mean(base, power.input(0))
        else:
            found = None
        if found is not None:
            return found
    return None


def _of_mean(base: Value, value: Value | None) -> Scaled | None:
    """`mean(base ** 2) + epsilon` along the last axis."""
    total = step(value, "Add")
    if total is None:
        return None
    for mean_value, small in orders(total):
        mean, epsilon = step(mean_value, "ReduceMean"), number(small)
        if mean is None or epsilon is None or not is_last_axis(mean):
            continue
        square = step(mean.input(0), "Pow", "Mul")
        if square is None or square.input(0) is not base:
            continue
        if square.op_type == "Mul" and square.input(1) is base:
            return Scaled(base, epsilon)
        if square.op_type == "Pow" and is_number(square.input(1), 2.0):
            return Scaled(base, epsilon)
    return None


def _centered(value: Value) -> Value | None:
    """x of `x - mean(x)` along the last axis."""
    node = made_by(value, "Sub")
    mean = None if node is None else made_by(node.input(1), "ReduceMean")
    if node is None or mean is None or mean.input(0) is not node.input(0) or not is_last_axis(mean):
        return None
    return node.input(0) if is_step(mean.output) else None


def _multiplied(node: Node) -> tuple[Node, Value] | None:
    """The product behind a norm with a vector of the size of the last axis, and that vector."""
    product = follower(node, "Mul")
    shape = node.output.tensor.shape
    if product is None or not shape or not isinstance(shape[-1], int):
        return None
    scale = other(product, node.output)
    if scale is None or scale.constant is None or scale.constant.shape != (shape[-1],):
        return None
    return (product, scale) if scale.constant.dtype is node.output.tensor.dtype else None


class LayerNorm(Pattern):
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta` is LayerNormalization."""

    name = "layer norm"
    roots = ("Div", "Mul")

    def match(self, node: Node) -> Found | None:
        scaled = _scaled(node)
        x = None if scaled is None else _centered(scaled.base)
        if scaled is None or x is None or not same_rank(x, node.output):
            return None
        uses = {user for user, _ in scaled.base.uses}
        if scaled.base.is_output or len(uses) > 2:
            return None
        product = _multiplied(node)
        if product is None:
            return None
        inputs, last = [x, product[1]], product[0]
        addition = follower(last, "Add")
        beta = None if addition is None else other(addition, last.output)
        gamma = product[1].constant
        if addition is not None and beta is not None and beta.constant is not None and gamma is not None:
            inputs, last = ([*inputs, beta], addition) if beta.constant.type == gamma.type else (inputs, last)
        return Found("LayerNormalization", inputs, {"axis": -1, "epsilon": scaled.epsilon}, last)


class RmsNorm(Pattern):
    """`x / sqrt(mean(x ** 2) + epsilon) * gamma` is RMSNormalization."""

    name = "rms norm"
    roots = ("Div", "Mul")

    def match(self, node: Node) -> Found | None:
        scaled = _scaled(node)
        if scaled is None or not same_rank(scaled.base, node.output):
            return None
        if _centered(scaled.base) is not None and is_step(scaled.base, 2):
            return None  # a layer norm
        product = _multiplied(node)
        if product is None:
            return None
        return Found("RMSNormalization", [scaled.base, product[1]], {"axis": -1, "epsilon": scaled.epsilon}, product[0])


class GroupNorm(Pattern):
    """An instance norm of groups of channels, reshaped there and back, with a scale and a shift for each channel."""

    name = "group norm"
    roots = ("InstanceNormalization",)

    def match(self, node: Node) -> Found | None:
        folded, back = step(node.input(0), "Reshape"), follower(node, "Reshape")
        x = None if folded is None else folded.input(0)
        if folded is None or back is None or x is None or not same_shape(x, back.output):
            return None
        shape, groups = x.tensor.shape, folded.output.tensor.shape
        if shape is None or groups is None or len(groups) != 3 or len(shape) < 3 or shape[0] != groups[0]:
            return None
        if not isinstance(shape[1], int) or not isinstance(groups[1], int) or not _is_plain(node):
            return None
        product = follower(back, "Mul")
        addition = None if product is None else follower(product, "Add")
        if product is None or addition is None:
            return None
        gamma = _of_channels(other(product, back.output), shape[1], len(shape))
        beta = _of_channels(other(addition, product.output), shape[1], len(shape))
        if gamma is None or beta is None:
            return None
        attributes = {"epsilon": node.attributes.get("epsilon", 1e-5), "num_groups": groups[1]}
        names = other(product, back.output), other(addition, product.output)
        graph = node.graph
        assert graph is not None
        inputs = [
            value if constant is value.constant else graph.add_constant(constant, value.name)
            for constant, value in zip((gamma, beta), names)
            if value is not None
        ]
        return Found("GroupNormalization", [x, *inputs], attributes, addition)


def _is_plain(node: Node) -> bool:
    """Whether the scales of a norm are ones and its shifts zeros."""
    scale, shift = node.input(1), node.input(2)
    if scale is None or shift is None or scale.constant is None or shift.constant is None:
        return False
    return bool((scale.constant.array == 1).all() and (shift.constant.array == 0).all())


def _of_channels(value: Value | None, channels: int, rank: int) -> Constant | None:
    """A constant with one element for each channel, as a vector."""
    constant = None if value is None else value.constant
    if constant is None or len(constant.shape) < rank - 1:
        return None
    place = len(constant.shape) - (rank - 1)
    return vector(value, channels) if constant.shape[place] == channels else None


PATTERNS = (LayerNorm, RmsNorm, GroupNorm)
