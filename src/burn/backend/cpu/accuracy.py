"""How exact the kernels are: one table, which tests hold for every instruction set, and `docs/accuracy.md` shows.

Sums are measured against the sum of the magnitudes of their terms, in units of `UNIT`, the largest relative error of
one rounding in f32. That is the measure that does not depend on luck: a sum of numbers that cancel may be small, and
what was rounded on the way to it was not. Functions of single numbers are measured in units of the last place.
"""

from __future__ import annotations

from dataclasses import dataclass

UNIT = 2.0**-24
"""Half of the distance from 1 to the next f32."""


@dataclass(frozen=True)
class Bound:
    """At most `limit` times `UNIT` times `measure`, element by element."""

    limit: float
    measure: str


TERMS, ITSELF = "the sum of the magnitudes of its terms", "the result"

BOUNDS = {
    "products": Bound(24.0, TERMS),
    "dot products": Bound(8.0, TERMS),
    "convolutions, directly": Bound(20.0, TERMS),
    "convolutions, Winograd two by two": Bound(40.0, TERMS),
    "convolutions, Winograd four by four": Bound(60.0, TERMS),
    "gradients of images, directly": Bound(20.0, TERMS),
    "gradients of images, Winograd": Bound(60.0, TERMS),
    "gradients of weights": Bound(24.0, TERMS),
    "sums and means": Bound(16.0, TERMS),
    "running sums": Bound(1.1, TERMS),
    "variances": Bound(6.0, ITSELF),
    "norms": Bound(4.0, ITSELF),
    "softmax": Bound(12.0, f"{ITSELF}, times one more than the distance to the largest score"),
    "log of a sum of exponentials": Bound(4.0, f"{ITSELF}, or 1 where that is more"),
    "attention": Bound(8.0, f"{TERMS}, times one more than the largest sum of magnitudes of a score"),
    "means of windows": Bound(16.0, TERMS),
    "layer norm": Bound(10.0, "one more than the magnitude of the result"),
}
"""f32, for inputs whose products neither overflow nor are subnormal."""

FUNCTIONS = {
    "exp": 1.2, "exp2": 1.2, "expm1": 2.0, "log": 1.0, "log2": 2.0, "log1p": 2.0, "tanh": 2.2, "erf": 1.5, "sin": 2.0,
    "cos": 2.0, "tan": 0.6, "sinh": 0.6, "cosh": 0.6, "asin": 0.6, "acos": 0.6, "atan": 0.6, "asinh": 0.6,
    "acosh": 0.6, "atanh": 0.6, "pow": 0.6, "atan2": 0.6,
}  # fmt: skip
"""Of f32 functions over the whole range, in units of the last place; add, subtract, multiply, divide and sqrt are
correctly rounded: 0.5."""


def table() -> str:
    """The bounds, a line each."""
    width = max(map(len, BOUNDS))
    lines = [f"{family:{width}}  {bound.limit:5g}  {bound.measure}" for family, bound in BOUNDS.items()]
    functions = ", ".join(f"{name} {limit:g}" for name, limit in FUNCTIONS.items())
    return "\n".join([*lines, "", f"in units of the last place: {functions}"])
