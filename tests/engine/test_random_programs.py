"""Random programs give the same values on every device: fused, compiled, or one operation at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from burn.backend import Autodiff, Cpu, Fusion, NdArray
from burn.tensor import Tensor
from tests.engine.random_programs import APPLY, RandomProgram, programs, run

REFERENCE = NdArray()
STACKS = {"cpu": Cpu(), "cpu-unfused": Cpu(fusion=False), "fusion-ndarray": Fusion(NdArray())}

patient = settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def _scale(program: RandomProgram) -> float:
    """The largest number that any step makes: errors are measured against it."""
    everything = RandomProgram(program.inputs, [s for s in program.steps if s.name not in ("read", "forget")])
    everything.read = list(range(len(program.known)))
    with np.errstate(all="ignore"):
        values = [array for _, array in run(everything, REFERENCE) if array.dtype.kind == "f" and array.size]
        return max([1.0, *(float(np.abs(array).max()) for array in values)])


def _compare(program: RandomProgram, stack: str) -> None:
    expected, found = run(program, REFERENCE), run(program, STACKS[stack])
    scale = _scale(program)
    for (number, theirs), (same, ours) in zip(expected, found, strict=True):
        assert number == same
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        message = f"value %{number} on {stack}"
        if program.known[number].exact:
            np.testing.assert_array_equal(ours, theirs, err_msg=message)
        elif np.isfinite(scale):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5 * scale, err_msg=message)


@pytest.mark.parametrize("stack", STACKS)
@patient
@given(program=programs())
def test_every_device_computes_the_same(stack: str, program: RandomProgram) -> None:
    _compare(program, stack)


@pytest.mark.parametrize("stack", STACKS)
@patient
@given(program=programs(smooth=False, special=True))
def test_exact_operations_agree_to_the_bit_on_special_values_too(stack: str, program: RandomProgram) -> None:
    _compare(program, stack)


@pytest.mark.parametrize("stack", ["cpu", "fusion-ndarray"])
@settings(patient, max_examples=250)
@given(program=programs(differentiable=True))
def test_gradients_agree(stack: str, program: RandomProgram) -> None:
    expected, found = (_gradients(program, Autodiff(device)) for device in (REFERENCE, STACKS[stack]))
    scale = _scale(program)
    for position, (theirs, ours) in enumerate(zip(expected, found, strict=True)):
        assert (theirs is None) == (ours is None)
        if theirs is not None and np.isfinite(theirs).all() and scale < 1e8:
            largest = max(1.0, scale, float(np.abs(theirs).max(initial=0.0)))
            message = f"gradient of input {position} on {stack}"
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9 * largest, err_msg=message)


def _gradients(program: RandomProgram, device: Any) -> list[Any]:
    leaves = [Tensor.from_data(array, device, dtype="f64").require_grad() for array in program.inputs]
    total: Any = 0.0
    for value in _values(program, list(leaves)):
        total = (value * value).sum() + total
    grads = total.backward()
    return [None if (g := leaf.grad(grads)) is None else np.asarray(g) for leaf in leaves]


def _values(program: RandomProgram, values: list[Any]) -> list[Any]:
    for step in program.steps:
        values.append(APPLY[step.name](*(values[n] for n in step.operands), *step.parameters))
    return [values[number] for number in program.read]
