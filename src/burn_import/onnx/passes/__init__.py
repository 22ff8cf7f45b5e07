"""Passes over the graph: a driver, and steps that each do one thing and can be tested alone.

`prepare` runs the standard ones: order, inlining of functions, lifting to the newest operator versions with inference
of types, shapes and contents, then folding and clean-up until nothing changes.
"""

from burn_import.onnx.passes.branches import Branches
from burn_import.onnx.passes.common import Common
from burn_import.onnx.passes.dead import Dead
from burn_import.onnx.passes.driver import Driver, Pass, Repeat, Report
from burn_import.onnx.passes.fold import Fold
from burn_import.onnx.passes.infer import Infer
from burn_import.onnx.passes.inline import Inline
from burn_import.onnx.passes.lift import Lift
from burn_import.onnx.passes.pipeline import prepare, standard
from burn_import.onnx.passes.simplify import Simplify
from burn_import.onnx.passes.sort import Sort

__all__ = [
    "Branches", "Common", "Dead", "Driver", "Fold", "Infer", "Inline", "Lift", "Pass", "Repeat", "Report", "Simplify",
    "Sort", "prepare", "standard",
]  # fmt: skip
