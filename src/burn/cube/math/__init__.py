"""Mathematics in the IR itself: every function as a polynomial with its reduction, so that no target needs a library.

`expand_math` replaces the intrinsics; the errors are stated in each file, in units of the last place, and tested.
"""

from __future__ import annotations

from collections.abc import Callable

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Kernel, Operation, Value
from burn.cube.math import error_function, exponential, inverse, logarithm, power, remainder, trigonometric
from burn.cube.math.writer import Writer
from burn.cube.rewrite import Rule, rewrite
from burn.dtype import f32, f64

DIRECT: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1, "tanh": exponential.tanh,
    "log": logarithm.log, "log2": logarithm.log2, "log1p": logarithm.log1p, "erf": error_function.erf,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "rem": remainder.rem,
}  # fmt: skip
"""Functions written for f32 and for f64."""

IN_DOUBLE: dict[str, Callable[..., Value]] = {
    "tan": trigonometric.tan, "pow": power.pow, "sinh": inverse.sinh, "cosh": inverse.cosh, "asin": inverse.asin,
    "acos": inverse.acos, "atan": inverse.atan, "atan2": inverse.atan2, "asinh": inverse.asinh,
    "acosh": inverse.acosh, "atanh": inverse.atanh,
}  # fmt: skip
"""Functions computed in f64 for both."""


def expand_math(kernel: Kernel, *, fused: bool) -> Kernel:
    """Replace mathematical intrinsics by arithmetic; with `fused`, polynomials use `fma`."""

    def rule(function: Callable[..., Value], in_double: bool) -> Rule:
        def expand(builder: KernelBuilder, operation: Operation, operands: tuple[Value, ...]) -> Value | None:
            dtype = operands[0].dtype
            if not dtype.is_float:
                return None
            writer = Writer(builder, fused)
            if in_double and dtype is f32:
                wide = (builder.cast(each, f64) for each in operands)
                return builder.cast(function(writer, *wide), f32)
            return function(writer, *operands)

        return expand

    rules = {name: rule(function, False) for name, function in DIRECT.items()}
    rules |= {name: rule(function, True) for name, function in IN_DOUBLE.items()}
    return rewrite(kernel, rules)
