"""The second engine: the plans that `Cpu` runs, lowered for another target and run by the interpreter of kernels."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import burn
import tests.ops.samples  # noqa: F401
from burn import Fusion, NdArray, Tensor
from burn.backend.reference import Block, Reference
from burn.engine.runtime import BoundPlan
from burn.errors import BurnError
from burn.ops.op import TABLE, Op
from tests.fuzz.programs import running, seeds
from tests.ops.check import assert_close, function_of, on_device, results, torch_gradients
from tests.ops.sample import ORACLES, SAMPLES, Sample
from tests.ops.test_rows import our_gradients, reference_results

DEVICE = Fusion(Reference())
FRESH = Fusion(Reference(int=burn.i32))
"""A stream to which nothing is written but what is looked at."""

GATHERS = ("gather", "scatter", "select", "select_assign", "slice_assign", "cat", "unfold", "argmax", "argmin")
SCANS = ("cumsum", "cumprod", "cummax", "cummin")
ROWS = [
    op
    for op in TABLE.values()
    if op.kind == "primitive"
    and (op.group in ("elementwise", "reduction", "view") or op.family == "pooling" or op.name in (*GATHERS, *SCANS))
    and op.function.__module__.startswith("burn.")
]
GRADIENTS = ("max_pool", "avg_pool", "adaptive_avg_pool", "sum_dims", "max_dims", "gather", "select", "tanh", "atan2")
MOST_ELEMENTS = 4096
SEEDS = 40


def samples_of(op: Op) -> list[Sample]:
    """Samples that the interpreter has done with in good time."""
    found = [s for s in SAMPLES[op.name]() if sum(a.size for a in s.args if hasattr(a, "size")) <= MOST_ELEMENTS]
    assert found
    return found


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_kernels_of_a_row_match_its_reference(op: Op) -> None:
    plans = []
    for sample in samples_of(op):
        for width in ("f32", "f64"):
            ours = results(function_of(op, DEVICE)(*on_device(DEVICE, sample, width), **sample.kwargs))
            assert_close(ours, reference_results(op, sample, width, DEVICE), sample, f"{op.name} on {DEVICE!r}")
            plans.append(DEVICE.plans.latest().describe())
    # Which windows made the indices is told by the node that made them: see the gradient of max_pool below.
    assert op.name == "max_pool_backward" or any("kernel" in plan for plan in plans)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_match_pytorch(name: str) -> None:
    compared = 0
    for sample in samples_of(TABLE[name]):
        theirs = torch_gradients(ORACLES[name], sample) if sample.grad and sample.oracle else None
        if theirs is None:
            continue
        ours = our_gradients(TABLE[name], DEVICE.autodiff(), sample)
        for mine, expected in zip(ours, theirs, strict=True):
            if expected is not None:
                mine = np.zeros_like(expected) if mine is None else mine
                np.testing.assert_allclose(mine, expected, rtol=sample.tolerance or 1e-7, atol=sample.tolerance or 1e-9)
                compared += 1
    assert compared


def test_the_gradient_of_max_pool_is_a_kernel() -> None:
    draw, device = np.random.default_rng(0).standard_normal, FRESH.autodiff()
    x = burn.tensor(draw((1, 2, 6, 6)), device=device).require_grad()
    weight = burn.tensor(draw((1, 2, 3, 3)), device=device)
    found = np.asarray(x.grad((burn.tensor.module.max_pool2d(x, (2, 2)) * weight).sum().backward()))
    np.testing.assert_allclose(found.sum(), np.asarray(weight).sum(), rtol=1e-5)
    assert "max_pool_backward" in FRESH.plans.latest().describe()
    assert "numpy" not in FRESH.plans.latest().describe()


def test_a_sample_of_random_programs_passes() -> None:
    first = 3_000_000
    found = {seed: running.faults(seeds.draw(seed), {"interpreted": DEVICE}) for seed in range(first, first + SEEDS)}
    assert {seed: faults for seed, faults in found.items() if faults} == {}


def test_kernels_are_written_for_the_tiles_of_the_target() -> None:
    x = burn.tensor(np.arange(1000, dtype=np.float32), device=FRESH)
    total = x.sum().numpy()
    assert total == 499500.0
    first, second = FRESH.plans.latest().works
    assert first.extent == -(-1000 // Reference().target.tiles.chunk)
    assert second.extent == 1


def test_a_captured_function_runs_on_memory_that_stays_bound() -> None:
    weight = burn.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), device=DEVICE)
    captured = burn.compile(lambda x: (x * weight).exp().sum_dim(1))
    for step in range(5):
        x = np.full((2, 3), 0.1 * step, np.float32)
        made = captured(burn.tensor(x, device=DEVICE)).numpy()
        np.testing.assert_allclose(made, np.exp(x * weight.numpy()).sum(1, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(captured.numpy(x), made, rtol=0)
    assert len(captured.ready) == 1
    assert all(isinstance(capture.plan, BoundPlan) for kinds in captured.ready.values() for capture in kinds)


def test_an_index_out_of_range_is_an_error_and_inputs_stay_whole() -> None:
    x = burn.tensor([1.0, 2.0, 3.0], device=DEVICE)
    wrong = x.select(0, burn.tensor([0, 7], device=DEVICE))
    with pytest.raises(BurnError, match="select"):
        wrong.numpy()
    assert x.numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_result_is_written_over_an_input_that_nobody_holds() -> None:
    def made() -> Tensor[Any]:
        x = burn.tensor(np.arange(8, dtype=np.float32), device=FRESH)
        return x * 2.0 + 1.0

    result = made().numpy()
    np.testing.assert_array_equal(result, np.arange(8) * 2.0 + 1.0)
    assert FRESH.plans.latest().reused


def test_memory_is_given_back_with_the_last_handle() -> None:
    x = burn.tensor(np.ones(4, np.float32), device=DEVICE)
    block = x.handle.storage.value
    assert isinstance(block, Block)
    known = weakref.ref(block)
    del x, block
    gc.collect()
    assert known() is None


def test_the_device_is_a_value_and_meets_no_other() -> None:
    assert Reference() is Reference()
    assert Fusion(Reference()) is DEVICE
    assert pickle.loads(pickle.dumps(Reference(float=burn.f64))) is Reference(float=burn.f64)
    assert repr(Reference(float=burn.f64)) == "Reference(float=f64)"
    x, y = burn.tensor([1.0], device=DEVICE), burn.tensor([1.0], device=NdArray())
    with pytest.raises(BurnError, match="move one with"):
        x + y
    assert (x + y.to(DEVICE)).numpy().tolist() == [2.0]


def test_a_node_that_no_kernel_takes_runs_on_numpy_between_two_kernels() -> None:
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    given = burn.tensor(x, device=FRESH)
    product = (given.exp() @ given.transpose()).abs().numpy()
    np.testing.assert_allclose(product, np.abs(np.exp(x) @ x.T), rtol=1e-5)
    assert [line.split()[0] for line in FRESH.plans.latest().describe().splitlines()] == ["kernel", "numpy", "kernel"]
