"""What a program computes, and how far rounding may move it.

Exact values are those of NumPy one operation at a time, in the program's own types. The others are computed from them
in f64, and a few times more with operands and results moved by a few units in the last place of their own type: how far
a value then moves is its bound. Gradients likewise.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import burn
from burn import NdArray, Tensor
from tests.fuzz.networks.reference import Bounded
from tests.fuzz.programs.program import NAMES, READ, Array, Casts, Program, Step

UNITS = 32
RUNS = 3
PLAIN = NdArray()
PRECISE = NdArray(float=burn.f64)
UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
SMALLEST = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
"""The smallest number above zero: nearer to zero nothing is left of a number's units."""


@functools.lru_cache(maxsize=4096)
def _compiled(code: str) -> Any:
    return compile(code, "<program>", "eval")


def evaluate(step: Step, values: dict[int, Any]) -> Any:
    """One step on a device."""
    names = {**NAMES, **{f"x{number}": values[number] for number in step.operands}}
    return eval(_compiled(step.spelled()), names)


def plain_values(program: Program) -> dict[int, Any]:
    """Every value by NumPy, one operation at a time, in its own type."""
    values: dict[int, Any] = {n: Tensor.from_data(array, PLAIN) for n, array in program.arrays().items()}
    for step in program.steps:
        if step.makes:
            values[step.out] = evaluate(step, values)
    return values


class Precise:
    """Values in f64 that grow step by step beside those of NumPy; with `random` they are moved."""

    def __init__(self, random: np.random.Generator | None) -> None:
        self.random = random
        self.values: dict[int, Any] = {}

    def take(self, number: int, plain: Any) -> None:
        """An exact value: as it is."""
        array = np.asarray(plain)
        self.values[number] = Tensor.from_data(array, PRECISE, dtype=burn.f64 if plain.dtype.is_float else None)

    def add(self, step: Step, plain: dict[int, Any]) -> None:
        if step.exact:
            self.take(step.out, plain[step.out])
            return
        near = {number: self._moved(self.values[number], plain[number].dtype) for number in step.operands}
        Casts.floats_stay = True
        try:
            made = self._moved(evaluate(step, near), plain[step.out].dtype)
            if self.random is not None and ".gelu()" in step.code:  # a sum with 1 inside: the tail keeps no units
                (x,) = near.values()
                made = made + x * Tensor.from_data(self.random.choice((-1.0, 1.0), x.shape) * UNIT["f32"], x.device)
            self.values[step.out] = made
        finally:
            Casts.floats_stay = False

    def _moved(self, value: Any, dtype: Any) -> Any:
        if self.random is None or not dtype.is_float:
            return value
        size = UNITS * UNIT[str(dtype)]
        signs = self.random.choice((-1.0, 1.0), tuple(value.shape))
        lost = np.where(np.asarray(value) == 0, 0.0, signs * SMALLEST[str(dtype)])
        return value * Tensor.from_data(1.0 + size * signs, value.device) + Tensor.from_data(lost, value.device)


def bounded(program: Program) -> tuple[dict[int, Any], dict[int, Bounded]]:
    """NumPy's value of everything, and the bounds of what is read and not exact."""
    plain = plain_values(program)
    exact = program.exact()
    wanted = {*program.outputs, *(step.operands[0] for step in program.steps if step.code == READ)}
    wanted = {number for number in wanted if not exact[number]}
    if not wanted:
        return plain, {}
    runs = []
    for run in range(RUNS + 1):
        precise = Precise(np.random.default_rng(run) if run else None)
        for number in program.inputs:
            precise.take(number, plain[number])
        for step in program.steps:
            if step.makes:
                precise.add(step, plain)
        runs.append({number: np.asarray(precise.values[number]) for number in wanted})
    return plain, {
        number: with_bound(runs[0][number], [run[number] for run in runs[1:]], UNIT[str(plain[number].dtype)])
        for number in wanted
    }


def with_bound(value: Array, moved: list[Array], unit: float) -> Bounded:
    """A value and how far an element may be from it."""
    with np.errstate(all="ignore"):
        movement = np.max([np.abs(each - value) for each in moved], axis=0) if value.size else np.zeros(value.shape)
        overall = float(np.sqrt(np.mean(movement**2))) if value.size else 0.0
        bound = 6.0 * movement + 6.0 * overall + 8 * unit * np.abs(value) + 1e-37
    return Bounded(value.astype(np.float64), np.where(np.isfinite(bound), bound, np.inf))


def gradients(program: Program, device: Any, random: np.random.Generator | None = None) -> list[Array]:
    """The gradients of the sum of squares of all outputs, of every float input; the way is moved by `random`."""
    leaves = {}
    for number, array in program.arrays().items():
        leaf = Tensor.from_data(array, device, dtype=device.float_dtype if array.dtype.kind == "f" else None)
        leaves[number] = leaf.require_grad() if array.dtype.kind == "f" else leaf
    values = dict(leaves)

    def moved(value: Any) -> Any:
        if random is None or not value.dtype.is_float:
            return value
        factors = 1.0 + UNITS * UNIT["f32"] * random.choice((-1.0, 1.0), tuple(value.shape))
        return value * Tensor.from_data(factors, device)

    for step in program.steps:
        if step.makes:
            near = {number: moved(values[number]) for number in step.operands} if random is not None else values
            values[step.out] = moved(evaluate(step, near))
    total: Any = None
    for number in program.outputs:
        value = moved(values[number])
        if value.dtype.is_float:
            part = (value * value).sum()
            total = part if total is None else total + part
    floats = [leaf for leaf in leaves.values() if leaf.dtype.is_float]
    if total is None or not total.is_require_grad():
        grads: list[Any] = [None] * len(floats)
    else:
        found = total.backward()
        grads = [leaf.grad(found) for leaf in floats]
    return [np.zeros(tuple(x.shape)) if g is None else np.array(g) for x, g in zip(floats, grads, strict=True)]


def bounded_gradients(program: Program) -> list[Bounded]:
    """The gradients in f64 with bounds for f32."""
    device = PRECISE.autodiff()
    exact = gradients(program, device)
    runs = [gradients(program, device, np.random.default_rng(run)) for run in range(1, RUNS + 1)]
    return [with_bound(value, [run[n] for run in runs], UNIT["f32"]) for n, value in enumerate(exact)]
