"""From what a kernel says to what a target has: the steps every target runs, in order.

Each target states its abilities; what it lacks is written out in the IR. Semantics are thereby decided once, here,
and targets stay thin: they emit arithmetic, comparisons and selects.
"""

from __future__ import annotations

from typing import NamedTuple

from burn.cube import halves, integers, rounding
from burn.cube.ir import Kernel, walk
from burn.cube.math import DIRECT, IN_DOUBLE, expand_math
from burn.cube.rewrite import Rule, rewrite

MATHEMATICS = frozenset(DIRECT) | frozenset(IN_DOUBLE)


class Abilities(NamedTuple):
    """What a target's instructions do by themselves."""

    fma: bool = True
    """Multiply and add with one rounding."""
    rounding: bool = True
    """floor, ceil, rint and trunc."""
    f16: bool = True
    """Conversion between f16 and f32."""
    ldexp: bool = False
    """Scaling by a power of two."""
    checked: bool = False
    """Guarded integer division and shifts, and minima and maxima that keep NaN."""


def lower(kernel: Kernel, abilities: Abilities) -> Kernel:
    """The kernel in the operations that a target with these abilities has."""
    if any(each.name in MATHEMATICS and each.operands[0].dtype.is_float for each in walk(kernel.body)):
        kernel = expand_math(kernel, fused=abilities.fma)
    rules: dict[str, Rule] = {}
    if not abilities.checked:
        rules |= integers.RULES
    rules["cast"] = halves.cast_with_f16 if abilities.f16 else halves.cast_without_f16
    if not abilities.rounding:
        rules |= rounding.ROUNDING
    if not abilities.ldexp:
        rules["ldexp"] = rounding.ldexp
    if not abilities.fma:
        rules["fma"] = rounding.fma
    names = {each.name for each in walk(kernel.body)}
    return rewrite(kernel, rules) if names & rules.keys() else kernel
