"""Linear layers in the form that they are written from: no factors beside the weights, the bias a vector."""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.passes.patterns.matching import Found, Pattern, follower, other, vector


class Linear(Pattern):
    """Factors of a Gemm over constants are part of its weights, and the bias behind a product is a vector."""

    name = "linear"
    roots = ("Gemm", "MatMul")

    def match(self, node: Node) -> Found | None:
        return _gemm(node) if node.op_type == "Gemm" else _product(node)


def _gemm(node: Node) -> Found | None:
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    x, weight, bias = node.input(0), node.input(1), node.input(2)
    if (alpha == 1.0 and (beta == 1.0 or bias is None)) or x is None or x.constant is not None:
        return None
    if not _is_learnt(weight) or (bias is not None and not _is_learnt(bias)):
        return None
    inputs: list[Value | None] = [x, _times(node, weight, alpha), None if bias is None else _times(node, bias, beta)]
    kept = {name: value for name, value in node.attributes.items() if name not in ("alpha", "beta")}
    return Found("Gemm", inputs, {**kept, "alpha": 1.0, "beta": 1.0})


def _is_learnt(value: Value | None) -> bool:
    """Whether a constant belongs to one layer alone."""
    return value is not None and value.constant is not None and value.constant.dtype.is_float and len(value.uses) == 1


def _times(node: Node, value: Value | None, factor: float) -> Value | None:
    if factor == 1.0 or value is None or value.constant is None or node.graph is None:
        return value
    constant = value.constant
    made = Constant(
        constant.dtype, constant.shape, lambda: np.multiply(constant.array, constant.dtype.numpy.type(factor))
    )
    return node.graph.add_constant(made, value.name)


def _product(node: Node) -> Found | None:
    """A bias of shape (1, n) behind a product with a weight (m, n) loses the dim that says nothing."""
    weight, x = node.input(1), node.input(0)
    addition = follower(node, "Add")
    if addition is None or weight is None or weight.constant is None or x is None or node.graph is None:
        return None
    bias, rank = other(addition, node.output), x.tensor.rank
    constant = None if bias is None else bias.constant
    if bias is None or constant is None or len(weight.constant.shape) != 2 or len(constant.shape) < 2 or rank is None:
        return None
    made = vector(bias, weight.constant.shape[1])
    if made is None or constant.shape[-1] != made.shape[0] or len(constant.shape) > rank:
        return None
    return Found("Add", [node.output, node.graph.add_constant(made, bias.name)], {}, addition)


class ConvolutionBias(Pattern):
    """What is added to each channel behind a convolution without a bias is its bias."""

    name = "convolution bias"
    roots = ("Conv", "ConvTranspose")

    def match(self, node: Node) -> Found | None:
        weight, addition, rank = node.input(1), follower(node, "Add"), node.output.tensor.rank
        if node.input(2) is not None or weight is None or weight.constant is None or addition is None or rank is None:
            return None
        bias, graph = other(addition, node.output), node.graph
        constant = None if bias is None else bias.constant
        if bias is None or constant is None or graph is None or constant.dtype is not weight.constant.dtype:
            return None
        shape = weight.constant.shape
        channels = shape[0] if node.op_type == "Conv" else shape[1] * int(node.attributes.get("group", 1))
        place = len(constant.shape) - rank + 1
        if place < 0 or place > 1 or constant.shape[place] != channels:
            return None
        made = vector(bias, channels)
        if made is None:
            return None
        inputs = [node.input(0), weight, graph.add_constant(made, bias.name)]
        return Found(node.op_type, inputs, dict(node.attributes), addition)


PATTERNS = (Linear, ConvolutionBias)
