"""Fused work is lawful: after every pass each node stands for rows that its rules accept and that compute the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray, Tensor
from burn.backend.fusion.handle import Storage
from burn.backend.fusion.stream import PlanCache
from burn.engine.runtime import Plan
from burn.nn.conv import Conv2dConfig
from burn.nn.dropout import DropoutConfig
from burn.nn.pool import MaxPool2dConfig
from burn.ops.attention import attention as attend
from burn.program import Program, ProgramDataError, to_text, verify
from burn.program.fused import CHANNELS_LAST, Epilogue, Fused, Term
from burn.program.interpreter import interpreted
from burn.program.program import Node
from burn.program.verifier import ProgramError
from burn.tensor.activation import relu
from tests.program.through_data import stored


def image(*shape: int) -> Any:
    rng = np.random.default_rng(len(shape))
    return Tensor.from_data(rng.standard_normal(shape, dtype=np.float32), Cpu())


def residual() -> Any:
    x, conv = image(2, 8, 9, 9), Conv2dConfig([8, 8], [3, 3]).init(Cpu())
    y = x * 2.0
    return relu(conv.forward(x) + y[:, :, :7, :7])


def block() -> Any:
    device = Cpu()
    wide, deep = (
        Conv2dConfig([16, 64], [1, 1]).init(device),
        Conv2dConfig([64, 64], [3, 3]).with_groups(64).init(device),
    )
    narrow = Conv2dConfig([64, 16], [1, 1]).init(device)
    return narrow.forward(relu(deep.forward(relu(wide.forward(image(1, 16, 28, 28))))))


def pooled() -> Any:
    conv = Conv2dConfig([3, 8], [3, 3]).init(Cpu())
    return MaxPool2dConfig([2, 2]).init().forward(relu(conv.forward(image(2, 3, 12, 12))))


def product() -> Any:
    x, y = image(40, 30), image(30, 50)
    return relu(x.matmul(y) * 0.5 + image(50))


def attention() -> Any:
    q, k, v = (image(2, 4, 64, 32) * scale for scale in (1.0, 0.5, 2.0))
    return attend(q, k, v, is_causal=True)


@cache
def recorded(make: Any) -> tuple[Program, Program, list[Any], list[float]]:
    """The largest program that some code records, what passes made of it, its inputs and its numbers."""
    found: list[Any] = []
    device: Any = Cpu()
    device.plans = PlanCache()
    with stored():
        prepare = type(device).prepare

        def watched(self: Any, program: Program, free: Any) -> Any:
            plan = prepare(self, program, free)

            class Watched(Plan):
                def __call__(self, inputs: Any, scalars: Any) -> Any:
                    given = [Storage(np.array(each.value)) for each in inputs]
                    found.append((program, plan.program, given, list(scalars)))
                    return plan(inputs, scalars)

            return Watched()

        type(device).prepare = watched
        try:
            make().to_data()
        finally:
            type(device).prepare = prepare
    return max(found, key=lambda each: len(each[0].nodes))


CASES = {"residual": residual, "block": block, "pooled": pooled, "product": product, "attention": attention}


@pytest.mark.parametrize("case", CASES)
def test_fused_programs_are_lawful_and_compute_the_same_in_rows(case: str) -> None:
    program, fused, inputs, scalars = recorded(CASES[case])
    assert any(node.fused is not None for node in fused.nodes), to_text(fused)
    verify(fused, rows=True)
    expected = interpreted(program, NdArray())(inputs, scalars)
    for ours, theirs in zip(interpreted(fused, NdArray())(inputs, scalars), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_printer_shows_what_is_fused() -> None:
    text = to_text(recorded(residual)[1])
    assert "then add" in text
    assert "in channels last" in text


def test_fused_work_that_no_row_accepts_is_named() -> None:
    fused = recorded(product)[1]
    position, node = next((at, each) for at, each in enumerate(fused.nodes) if each.fused is not None)
    for wrong in (
        Fused(epilogue=Epilogue((Term("no_row", (-1,)),), ())),
        Fused(epilogue=Epilogue((Term("add", (-1, 7)),), ())),
        Fused(CHANNELS_LAST),
    ):
        nodes = list(fused.nodes)
        nodes[position] = Node(node.op, node.operands, node.attributes, node.results, wrong)
        broken = Program(fused.values, fused.inputs, fused.scalars, tuple(nodes), fused.outputs)
        with pytest.raises(ProgramError, match=rf"node {position} \(matmul\): \("):
            verify(broken, rows=True)
    with pytest.raises(ProgramDataError, match="fused work belongs to a plan"):
        fused.to_data()


def test_draws_beside_images_are_lawful() -> None:
    """The mask of a dropout lies as its image does; its seed and offset are numbers known at run time."""
    device = Cpu()
    conv, drop = Conv2dConfig([8, 8], [3, 3]).init(device.autodiff()), DropoutConfig(0.5).init()

    def step(x: Any) -> Any:
        return relu(drop.forward(conv.forward(x))).sum().inner()

    call = burn.compile(step)
    for _ in range(3):
        assert np.isfinite(np.asarray(call(image(2, 8, 12, 12).to_device(device.autodiff()))))
    assert str(call.explain()).startswith("captured")
