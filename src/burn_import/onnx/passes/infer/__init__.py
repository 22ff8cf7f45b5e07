"""Inference of types, shapes and contents with open sizes, one rule per family of operators.

After it each value has a type: the element type and rank always where the standard or the file tells them, sizes as
numbers or as expressions over named sizes. Small tensors that shapes are computed from also have a `content`.
"""

from __future__ import annotations

from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.driver import Pass
from burn_import.onnx.passes.infer import (
    containers,
    contrib,
    control,
    elementwise,
    layers,
    machine_learning,
    movement,
    picking,
    reductions,
    windows,
)
from burn_import.onnx.passes.infer.context import RULES, Inference, rule
from burn_import.onnx.passes.infer.engine import Engine

__all__ = [
    "RULES", "Engine", "Infer", "Inference", "containers", "contrib", "control", "elementwise", "layers",
    "machine_learning", "movement", "picking", "reductions", "rule", "windows",
]  # fmt: skip


class Infer(Pass):
    """Types, shapes and contents of every value."""

    name = "infer"
    requires = frozenset({"sorted", "lifted"})
    ensures = frozenset({"typed"})

    def run(self, model: Model) -> bool:
        engine = Engine(model)
        engine.run()
        return engine.changed
