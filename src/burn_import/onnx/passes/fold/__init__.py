"""Constant folding: nodes whose inputs are known become constants.

Two kinds of knowledge count: inputs that are constants, evaluated in NumPy, and contents that inference found to be
all numbers, such as the sizes of an input whose shape the file fixes. A result that is much larger than what it is
made of (a mask spread out, a tensor of zeros) stays computed: folding may not blow up the file. Quantised weights
stay quantised, random operators stay random, and a weight that is used in two forms (an embedding that is also the
head, turned) stays one weight. Zeros that only fill the place of a bias are no weight, and go.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import TensorType
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.fold.evaluator import EVALUATORS, evaluate, evaluates
from burn_import.onnx.passes.infer import content

__all__ = ["EVALUATORS", "Fold", "evaluate", "evaluates"]

SMALL = 1 << 16  # bytes that a folded result may always have
RESHAPED = frozenset({"Cast", "CastLike", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
FILLING = frozenset({"ConstantOfShape", "Expand"})
BIASED = frozenset({"Conv", "ConvTranspose", "Gemm"})
INPUT_LIMIT = 1 << 28  # bytes that are read to fold one node


class Fold(Pass):
    """No node is left whose outputs are known and small enough to be constants."""

    name = "fold"
    requires = frozenset({"sorted", "lifted", "typed"})

    def run(self, model: Model) -> bool:
        changed = False
        for graph in list(model.graphs()):
            for node in graph:
                changed = self._fold(graph, node) or changed
        return changed

    def _fold(self, graph: Graph, node: Node) -> bool:
        if node.subgraphs or not node.outputs:
            return False
        source = node.input(0)
        alike = _alike(node, source) if node.op_type in RESHAPED and source is not None else []
        if alike is None:
            return False
        constants = [_known(value) for value in node.outputs]
        if any(constant is None for constant in constants):
            if node.op_type not in EVALUATORS or node.domain:
                return False
            computed = _compute(node)
            if computed is None:
                return False
            constants = computed
        made: Value | None = None
        for value, constant in zip(node.outputs, constants):
            assert constant is not None
            if node.op_type in FILLING:
                _drop_biases(value, constant)
            made = graph.make_constant(value, constant)
        node.remove()
        for other in alike:
            if made is not None and not other.output.is_output:
                other.output.replace_by(made)
        if node.op_type in RESHAPED and source is not None and source in graph.constants and made is not None:
            _inherit_name(graph, source, made)
        return True


def _alike(node: Node, source: Value) -> list[Node] | None:
    """The other nodes that do the same to a weight, which are to share the result; None if it is used otherwise too."""
    if source.constant is None or not source.constant.dtype.is_float or source.constant.size < 2:
        return []
    others: list[Node] = []
    for user, _ in source.uses:
        if user is node:
            continue
        if not isinstance(user, Node) or user.graph is not node.graph or not _same(user, node):
            return None
        others.append(user)
    return others


def _same(one: Node, other: Node) -> bool:
    """Whether two nodes compute the same."""
    return (one.domain, one.op_type, one.inputs, one.attributes) == (
        other.domain, other.op_type, other.inputs, other.attributes
    )  # fmt: skip


def _drop_biases(value: Value, constant: Constant) -> None:
    """An exporter that must write a bias writes zeros in its place; a bias of the file stays, zeros or not."""
    if constant.array.any():
        return
    for user, place in value.uses:
        if isinstance(user, Node) and place == 2 and user.op_type in BIASED and not user.domain:
            user.set_inputs(user.inputs[:2])


def _inherit_name(graph: Graph, source: Value, made: Value) -> None:
    """A weight that was only turned or reshaped keeps the name people know it by."""
    if not source.is_used and source not in graph.overridable:
        graph.remove_constant(source)
        made.name = source.name


def _known(value: Value) -> Constant | None:
    """What inference knows about all elements of a value, as a constant."""
    type_ = value.type
    if not value.is_used and value.content is None and isinstance(type_, TensorType) and type_.dtype is not None:
        return None
    if value.content is None or not isinstance(type_, TensorType) or type_.dtype is None:
        return None
    if not content.is_complete(value.content) or type_.dtype.numpy.kind not in "biuf":
        return None
    return Constant.of(value.content.astype(type_.dtype.numpy))


def _compute(node: Node) -> list[Constant | None] | None:
    arrays: list[Any] = []
    size = 0
    for value in node.inputs:
        if value is None:
            arrays.append(None)
            continue
        if value.constant is None:
            return None
        size += value.constant.nbytes
    if size > INPUT_LIMIT or _result_size(node) > max(SMALL, size):
        return None
    arrays = [None if value is None or value.constant is None else value.constant.array for value in node.inputs]
    try:
        results = evaluate(node, arrays)
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, np.exceptions.AxisError):
        return None  # a node that fails when it runs fails then, with its name
    if results is None or len(results) < len(node.outputs):
        return None
    made: list[Constant | None] = []
    for value, result in zip(node.outputs, results):
        expected = value.tensor.dtype
        if expected is not None and result.dtype != expected.numpy:
            return None
        made.append(Constant.of(np.ascontiguousarray(result).reshape(result.shape)))
    return made


def _result_size(node: Node) -> float:
    """Bytes of the outputs; without bound when inference does not know."""
    total = 0.0
    for value in node.outputs:
        known = value.tensor
        if not known.is_static or known.dtype is None:
            return 0.0 if node.op_type in ("NonZero", "Squeeze", "Range") else math.inf
        assert known.shape is not None
        total += math.prod(float(size) for size in known.shape if isinstance(size, int)) * known.dtype.numpy.itemsize
    return total
