"""Softmax as arithmetic: the largest element subtracted, powers, their sum."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.passes.patterns.matching import Found, Pattern, axes_of, is_step, made_by, step


class Softmax(Pattern):
    """`e / sum(e)` with `e = exp(x - max(x))` is Softmax.

    Without the maximum it is left alone: there large elements overflow, and a Softmax would not.
    """

    name = "softmax"
    roots = ("Div",)

    def match(self, node: Node) -> Found | None:
        powers = node.input(0)
        exponential = made_by(powers, "Exp") if is_step(powers, 2) else None
        total = step(node.input(1), "ReduceSum")
        if exponential is None or total is None or total.input(0) is not powers:
            return None
        found = _shifted(exponential.input(0))
        axes = axes_of(total)
        if found is None or axes is None or axes != found[1] or len(axes) != 1:
            return None
        return Found("Softmax", [found[0]], {"axis": axes[0]})


class LogSoftmax(Pattern):
    """`d - log(sum(exp(d)))` with `d = x - max(x)` is LogSoftmax."""

    name = "log softmax"
    roots = ("Sub",)

    def match(self, node: Node) -> Found | None:
        shifted = node.input(0)
        logarithm = step(node.input(1), "Log")
        total = None if logarithm is None else step(logarithm.input(0), "ReduceSum")
        powers = None if total is None else step(total.input(0), "Exp")
        if total is None or powers is None or powers.input(0) is not shifted or not is_step(shifted, 2):
            return None
        found = _shifted(shifted, uses=2)
        axes = axes_of(total)
        if found is None or axes is None or axes != found[1] or len(axes) != 1:
            return None
        return Found("LogSoftmax", [found[0]], {"axis": axes[0]})


def _shifted(value: Value | None, uses: int = 1) -> tuple[Value, tuple[int, ...] | None] | None:
    """x and the axes of `x - max(x)`."""
    node = made_by(value, "Sub") if is_step(value, uses) else None
    highest = None if node is None else step(node.input(1), "ReduceMax")
    if node is None or highest is None or highest.input(0) is not node.input(0):
        return None
    x = node.input(0)
    return None if x is None else (x, axes_of(highest))


PATTERNS = (Softmax, LogSoftmax)
