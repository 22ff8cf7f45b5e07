"""Pattern recovery: what exporters took apart becomes one operator again, and so one module or one call.

    recover(model)          # after prepare(model)

Each pattern is a pass of its own. They run once over a model that is clean, which brings forms into the few that are
looked for; what is left over is swept away behind them.
"""

from __future__ import annotations

from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes.common import Common
from burn_import.onnx.passes.dead import Dead
from burn_import.onnx.passes.driver import Driver, Pass, Report
from burn_import.onnx.passes.infer import Infer
from burn_import.onnx.passes.patterns import (
    activations,
    attention,
    linear,
    norms,
    quantized,
    recurrent,
    rotary,
    softmax,
)
from burn_import.onnx.passes.patterns.matching import Pattern
from burn_import.onnx.passes.simplify import Simplify

PATTERNS: tuple[type[Pass], ...] = (
    *linear.PATTERNS,
    *activations.PATTERNS,
    *softmax.PATTERNS,
    *norms.PATTERNS,
    *rotary.PATTERNS,
    *attention.PATTERNS,
    *quantized.PATTERNS,
    *recurrent.PASSES,
)


def patterns() -> tuple[Pass, ...]:
    """Every pattern, and the sweep behind them."""
    return (*(each() for each in PATTERNS), Simplify(), Common(), Dead(), Infer())


def recover(model: Model, *, verify: bool = False) -> Report:
    """Find modules and composites in a prepared model, in place."""
    return Driver(patterns(), verify=verify).run(model)


__all__ = ["PATTERNS", "Pattern", "patterns", "recover"]
