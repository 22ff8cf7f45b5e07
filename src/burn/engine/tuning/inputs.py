"""Numbers for plans that are measured before anybody has called them.

Values must neither vanish nor grow from layer to layer, because denormal numbers are slow: weights are scaled by the
number of products that are summed. Indices are zero, which every table has.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from burn.dtype import bool_
from burn.program.program import Program

SEED = 2_024

FEWEST_UPDATED = 3
"""Results from which on a program may be a step that updates weights: one of them, its moment, and the loss."""


class Held(NamedTuple):
    """An input as plans expect it."""

    value: np.ndarray[Any, Any]


class MadeUp:
    """The inputs of a program. Weights are the same arrays in every run, and data comes in a new one each time."""

    def __init__(self, program: Program, free: tuple[bool, ...]) -> None:
        generator = np.random.default_rng(SEED)
        values = program.values[: program.inputs]
        self.held = [Held(_drawn(generator, tuple(each.shape), each.dtype)) for each in values]
        taken = {number for number in range(program.inputs) if number < len(free) and free[number]}
        self.changing = taken | _data(program) | _updated(program)
        self.scalars = [1.0] * program.scalars

    def next(self) -> list[Held]:
        """The inputs of another run."""
        return [Held(each.value.copy()) if n in self.changing else each for n, each in enumerate(self.held)]


def _drawn(generator: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    if dtype is bool_:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if not dtype.is_float:
        return np.zeros(shape, dtype.numpy)
    drawn = generator.standard_normal(shape, np.float32)
    if len(shape) < 2:
        drawn = np.abs(drawn) + np.float32(0.1)  # it may be a variance
    else:
        summed = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        drawn *= np.float32(math.sqrt(2.0 / max(summed, 1)))
    return np.ascontiguousarray(drawn.astype(dtype.numpy)).reshape(shape)


def _updated(program: Program) -> set[int]:
    """Inputs that a training step gives back with other values: those that look like one of its many results."""
    outputs = [program.values[number] for number in program.outputs]
    if len(outputs) < FEWEST_UPDATED:
        return set()
    return {number for number in range(program.inputs) if program.values[number] in outputs}


def _data(program: Program) -> set[int]:
    """Inputs that are what a product or a convolution is applied to, not what it applies."""
    found = set()
    for node in program.nodes:
        first = next(iter(node.operands), None)
        if node.op.name in ("matmul", "conv", "attention") and isinstance(first, int) and first < program.inputs:
            found.add(first)
    return found
