"""What `Fusion` and captured functions know of a device: the classes of `burn.engine.runtime`."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Fusion, NdArray
from burn.backend.fusion.handle import Storage
from burn.engine.runtime import BoundPlan, Engine, NodeByNode, Plan, Run, Stored
from burn.errors import ArgumentError, MissingOperation
from burn.extension import kernel, operation
from burn.ops.op import TABLE
from burn.program import Program
from burn.tensor import Tensor, activation


class Twice(Plan):
    """Runs a program node by node, and counts."""

    calls = 0

    def __init__(self, program: Program, device: Counting) -> None:
        self._plan = NodeByNode(program, device.host)

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        Twice.calls += 1
        return self._plan(inputs, scalars)


class Counting(Engine, NdArray):
    """The least that an engine is: plans of its own."""

    label = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.host: Any = NdArray()

    def prepare_program(self, program: Program, free: tuple[bool, ...]) -> Plan:
        return Twice(program, self)

    def __repr__(self) -> str:
        return "Counting()"


def test_a_plan_that_only_runs_serves_eager_code_and_captured_functions() -> None:
    device = Fusion(Counting())
    x = burn.tensor([1.0, 2.0, 3.0], device=device)
    before = Twice.calls
    np.testing.assert_array_equal((x * 2.0 + 1.0).numpy(), [3.0, 5.0, 7.0])
    assert Twice.calls == before + 1
    np.testing.assert_allclose(activation.softmax(x, 0).sum().numpy(), 1.0, rtol=1e-6)
    captured = burn.compile(lambda x: x * x)
    for step in range(5):
        given = burn.tensor(np.full(3, float(step), np.float32), device=device)
        np.testing.assert_array_equal(captured(given).numpy(), np.full(3, float(step) ** 2))
    assert len(captured.ready) == 1
    assert Twice.calls >= before + 6
    assert "plan:" not in captured.explain()
    with pytest.raises(ArgumentError, match="nothing to choose on Fusion"):
        burn.tune(captured, x)
    with pytest.raises(MissingOperation, match="does not count its memory"):
        device.memory()
    assert repr(device) == "Fusion(Counting())"


def test_the_engine_of_cpu_gives_bound_plans_and_runs() -> None:
    device = Cpu(fusion=False)
    assert isinstance(device, Engine)
    assert not isinstance(device, NdArray)
    assert pickle.loads(pickle.dumps(device)) is device
    fused = Cpu(int=burn.i32)  # a stream that no other test has written to
    x = burn.tensor([1.0, 4.0], device=fused)
    result = (x.sqrt() + 1.0).numpy()
    assert result.tolist() == [2.0, 3.0]
    plan = fused.plans.latest()
    assert isinstance(plan, BoundPlan)
    run = plan.take()
    assert isinstance(run, Run)
    array = np.array([9.0, 16.0], np.float32)
    run.bind(0, array)
    (made,) = run.run_bound([Storage(array)], [1.0] * plan.program.scalars, [0])
    assert made.tolist() == [4.0, 5.0]


def test_a_launch_runs_again_with_other_inputs_or_does_nothing() -> None:
    device = Cpu(int=burn.i16)
    x = burn.tensor(np.arange(4, dtype=np.float32), device=device)
    (x.exp() - x).numpy()
    plan = device.plans.latest()
    run = plan.take()
    assert run.launcher([0]) is None, "nothing has run that it could repeat"
    first, second = np.arange(4, dtype=np.float32), np.full(4, 2.0, np.float32)
    for _ in range(3):
        run.bind(0, first)
        run.run_bound([Storage(first)], [], [0])
    launch = run.launcher([0])
    assert launch is not None
    np.testing.assert_allclose(launch([second])[0], np.exp(second) - second, rtol=1e-6)
    np.testing.assert_allclose(launch([first])[0], np.exp(first) - first, rtol=1e-6)
    run.forget()
    assert launch([second]) is None


def test_a_captured_function_may_leave_an_argument_unread() -> None:
    captured = burn.compile(lambda x, unread: x + 1.0)
    for step in range(8):
        x, other = np.full(3, float(step), np.float32), np.full(2, 7.0 * step, np.float32)
        made = captured(burn.tensor(x, device=Cpu()), burn.tensor(other, device=Cpu()))
        np.testing.assert_array_equal(made.numpy(), x + 1.0)
        np.testing.assert_array_equal(captured.numpy(x, other), x + 1.0)
    assert len(captured.ready) == 1


def test_a_kernel_registered_for_ndarray_serves_the_nodes_that_cpu_gives_to_numpy() -> None:
    @operation(reference=lambda x: x + 1.0)
    def plus_one_told(x: Tensor[Any]) -> Tensor[Any]:
        """Add one."""
        return x + 1.0

    told: list[str] = []

    @kernel(plus_one_told, NdArray)
    def plus_one_on_arrays(device: Any, x: Any) -> Any:
        told.append(repr(device))
        return x + np.float32(1.0)

    x = burn.tensor([1.0, 2.0], device=Cpu(fusion=False))
    try:
        np.testing.assert_array_equal(plus_one_told(x).numpy(), [2.0, 3.0])
    finally:
        del TABLE["plus_one_told"]
    assert told == ["NdArray()"]
