"""The steps between reading a model and writing it as modules, in order."""

from __future__ import annotations

from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.branches import Branches
from burn_import.onnx.passes.common import Common
from burn_import.onnx.passes.dead import Dead
from burn_import.onnx.passes.driver import Driver, Pass, Repeat, Report
from burn_import.onnx.passes.fold import Fold
from burn_import.onnx.passes.gradients import Gradients
from burn_import.onnx.passes.infer import Infer
from burn_import.onnx.passes.inline import Inline
from burn_import.onnx.passes.lift import Lift
from burn_import.onnx.passes.simplify import Simplify
from burn_import.onnx.passes.sort import Sort


def standard(*, simplify: bool = True) -> tuple[Pass, ...]:
    """Sort, inline, lift and infer always; the clean-up only with `simplify`."""
    needed: tuple[Pass, ...] = (Sort(), Gradients(), Inline(), Lift())
    if not simplify:
        return (*needed, Dead())
    return (*needed, Repeat("clean", [Fold(), Branches(), Simplify(), Common(), Dead(), Infer()]))


def prepare(model: Model, *, simplify: bool = True, verify: bool = False) -> Report:
    """Bring a model that was just read to its canonical form, in place."""
    return Driver(standard(simplify=simplify), verify=verify).run(model)
