"""Programs as data: they come back as they were, whatever holds them, and run from it."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Fusion, NdArray, Tensor
from burn.dtype import DType, bf16, f32
from burn.ops.op import TABLE
from burn.program import Constant, Node, Program, ProgramBuilder, ProgramDataError, Value, to_text
from burn.shape import Shape
from tests.fuzz.graphs import seeds as graphs
from tests.fuzz.programs import seeds as programs
from tests.program.through_data import FORMS, came_back, stored


def sample() -> Program:
    """Every kind of operand, and attributes of every kind that has to say what it is."""
    builder = ProgramBuilder(NdArray())
    x, y = builder.input((2, 3), f32), builder.input((3,), f32)
    rate = builder.scalar()
    (scaled,) = builder.apply(TABLE["mul"], (x, rate))
    (joined,) = builder.apply(TABLE["cat"], ((scaled, x),), (0,))
    (low,) = builder.apply(TABLE["full"], (Constant(-math.inf),), ((4, 3), f32))
    (table,) = builder.apply(TABLE["literal"], (), (np.arange(3, dtype=np.float32).tobytes(), (3,), f32))
    (larger,) = builder.apply(TABLE["greater"], (joined, low))
    (half,) = builder.apply(TABLE["cast"], (larger,), (bf16,))
    (total,) = builder.apply(TABLE["add"], (table, y))
    (rows,) = builder.apply(TABLE["sum_dims"], (total,), ((0,),))
    return replace(builder.finish((rows, half)), names=("image", "bias"))


@pytest.mark.parametrize("form", FORMS)
def test_a_program_comes_back_as_it_was(form: Any) -> None:
    again = came_back(sample(), form)
    assert again.names == ("image", "bias")
    assert to_text(again).splitlines()[:2] == ["%0: f32[2, 3] = input image", "%1: f32[3] = input bias"]


def test_the_numbers_of_a_draw_are_ints() -> None:
    device = Fusion(NdArray())
    with stored() as programs:
        np.asarray(Tensor.random((3,), burn.Distribution.Normal(0.0, 1.0), device) * 2.0)
    assert [each.to_data()["scalars"] for each in programs if each.scalars] == [["int", "int", "float"]] * len(programs)


def test_the_data_is_the_same_in_another_process() -> None:
    text = "import sys; from burn.program import Program; print(Program.from_data(sys.stdin.read()).to_json())"
    given = sample().to_json()
    ran = subprocess.run([sys.executable, "-c", text], input=given, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == given


def test_data_of_the_first_version_is_read_for_ever() -> None:
    text = """{"format": "burn-program", "version": 1, "inputs": [{"dtype": "f32", "shape": [2, 3], "name": "x"}],
        "scalars": ["float"], "nodes": [
            {"op": "mul", "version": 1, "operands": [0, {"scalar": 0}], "attributes": {},
             "results": [{"dtype": "f32", "shape": [2, 3]}]},
            {"op": "sum_dims", "version": 1, "operands": [1], "attributes": {"dims": [1]},
             "results": [{"dtype": "f32", "shape": [2, 1]}]}], "outputs": [2]}"""
    assert to_text(Program.from_data(text)).splitlines() == [
        "%0: f32[2, 3] = input x",
        "%1: f32[2, 3] = mul(%0, $0)",
        "%2: f32[2, 1] = sum_dims(%1, dims=(1,))",
        "return %2",
    ]


@pytest.mark.parametrize("number", [0.0, -0.0, 1e-45, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 3, True])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_keep_their_kind_and_sign(number: Any, form: Any) -> None:
    dtype = "f32" if type(number) is float else "i64" if type(number) is int else "bool"
    value = Value(Shape([2]), burn.dtype.dtype(dtype))
    node = Node(TABLE["full"], (Constant(number),), ((2,), value.dtype), (0,))
    (again,) = Program.from_data(form(Program((value,), 0, 0, (node,), (0,)))).nodes
    (constant,) = again.operands
    assert isinstance(constant, Constant)
    assert repr(constant.value) == repr(number)


def test_an_attribute_without_a_form_is_named() -> None:
    value = Value(Shape([2]), f32)
    node = Node(TABLE["cast"], (0,), (object(),), (1,))
    with pytest.raises(ProgramDataError, match=r"cast\.dtype: a object has no form as data"):
        Program((value, value), 1, 0, (node,), (1,)).to_data()


# Recorded programs


@pytest.mark.parametrize(("check", "seeds"), [(programs.check, 20), (graphs.check, 10)], ids=["random", "imported"])
def test_programs_run_from_their_data(check: Any, seeds: int) -> None:
    with stored() as found:
        for seed in range(3_000_000, 3_000_000 + seeds):
            assert check(seed) is None
    assert len(found) > seeds


def test_a_captured_training_step_runs_from_its_data() -> None:
    device = Cpu().autodiff()
    model = burn.nn.LinearConfig(3, 2).init(device)
    optim = burn.optim.SgdConfig().init()
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)

    def step(model: Any, x: Any) -> Any:
        loss = model.forward(x).powf_scalar(2.0).mean()
        return optim.step(0.1, model, loss.backward()), loss.inner()

    with stored() as found:
        results = []
        for function in (step, burn.compile(step)):
            current = model
            for _ in range(4):
                current, loss = function(current, Tensor.from_data(x, device))
            results.append(np.asarray(loss.to_data()))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    assert len(found) > 1


def test_rows_of_a_device_with_its_own_ints_are_programs_too() -> None:
    device = Fusion(NdArray(int="i32"))
    with stored() as found:
        assert Tensor.from_data([[1.0, 3.0, 2.0]], device).argmax(1).to_data().dtype is DType.I32
    assert [to_text(each).splitlines()[1] for each in found] == ["%1: i32[1, 1] = argmax(%0, dim=1)"]
