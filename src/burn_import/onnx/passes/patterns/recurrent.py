"""Recurrent layers that begin with zeros say nothing about where they begin."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass

_KEEPS_ZEROS = {"Slice", "Expand", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Identity", "Cast", "Tile"}
_STATES = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}


class ZeroStates(Pass):
    """An initial state that is zeros for certain is absent, which means the same."""

    name = "zero states"
    requires = frozenset({"sorted", "lifted", "typed"})

    def run(self, model: Model) -> bool:
        changed = False
        for graph in list(model.graphs()):
            for node in graph:
                states = _STATES.get(node.op_type, ()) if not node.domain else ()
                if any(node.input(index) for index in states) and all(is_zero(node.input(index)) for index in states):
                    node.set_inputs([None if index in states else value for index, value in enumerate(node.inputs)])
                    changed = True
        return changed


def is_zero(value: Value | None) -> bool:
    """Whether a state is zeros for certain, or not there."""
    if value is None:
        return True
    if value.constant is not None:
        return value.constant.size <= 1 << 16 and not value.constant.array.any()
    node = value.node
    if node is None or node.domain:
        return False
    if node.op_type == "ConstantOfShape":
        filled = node.attributes.get("value")
        return filled is None or not filled.array.any()
    if node.op_type == "Concat":
        return all(is_zero(each) for each in node.inputs)
    return node.op_type in _KEEPS_ZEROS and is_zero(node.input(0))


PASSES = (ZeroStates,)
