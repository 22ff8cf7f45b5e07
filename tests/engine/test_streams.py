"""Streams and plans: what users may rely on while operations are recorded, run later, and write over dead values."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.backend import Cpu, Fusion, NdArray
from burn.backend.fusion.cuts import MOST_ENTRIES
from burn.backend.fusion.stream import PlanCache
from burn.errors import IndexingError
from burn.tensor import Distribution, Tensor

DEVICES = pytest.mark.parametrize("device", [Cpu(), Fusion(NdArray())], ids=repr)


def tensor(values: Any, device: Any) -> Tensor[Any]:
    return Tensor.from_data(np.asarray(values, np.float32), device)


def update(weight: Any, gradient: Any, rate: float) -> Any:
    return weight - (gradient * 0.9 + weight * 0.01) * rate


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Plans made for `Cpu()` while the test runs, with an empty plan cache."""
    device: Any = Cpu()
    made: list[Any] = []
    prepare = device.prepare

    def remember(*arguments: Any) -> Any:
        made.append(prepare(*arguments))
        return made[-1]

    monkeypatch.setattr(device, "plans", PlanCache())
    monkeypatch.setattr(device, "prepare", remember)
    return made


# Threads


@DEVICES
def test_a_value_recorded_in_one_thread_can_be_used_in_another(device: Any) -> None:
    waiting = tensor([1.0, 2.0, 3.0], device) * 2.0
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(np.asarray(waiting + 1.0)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], [3.0, 5.0, 7.0])
    np.testing.assert_array_equal(waiting, [2.0, 4.0, 6.0])


@DEVICES
def test_a_value_of_a_thread_that_has_ended_is_still_computed(device: Any) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tensor([1.0, 2.0], device).exp()))
    thread.start()
    thread.join()
    np.testing.assert_allclose(found[0], np.exp([1.0, 2.0]), rtol=1e-6)


@DEVICES
def test_threads_compute_side_by_side(device: Any) -> None:
    faults: list[str] = []

    def work(seed: int) -> None:
        array = np.random.default_rng(seed).normal(size=(37, 11)).astype(np.float32)
        for _ in range(30):
            x = tensor(array, device)
            result = np.asarray((x * 2.0 + 1.0).sum_dims([0]))
            if not np.allclose(result, (array * 2 + 1).sum(axis=0, keepdims=True), rtol=1e-4, atol=1e-4):
                faults.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_two_devices_record_at_once() -> None:
    first, second = Cpu(), Fusion(NdArray())
    x, y = tensor([1.0, 2.0], first), tensor([3.0, 4.0], second)
    for _ in range(5):
        x, y = x * 2.0, y + 1.0
    np.testing.assert_array_equal(y, [8.0, 9.0])
    np.testing.assert_array_equal(x, [32.0, 64.0])
    np.testing.assert_array_equal(x.to(second) + y, [40.0, 73.0])


# Errors


@DEVICES
def test_a_fault_is_told_at_every_read_and_spares_the_others(device: Any) -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device)
    innocent = x * 3.0
    guilty = x.select(0, Tensor.from_data(np.array([0, 7]), device))
    dependent = guilty + 1.0
    for value in (dependent, guilty, dependent):
        with pytest.raises(IndexingError, match="select: index 7 is out of range for dim 0 of size 2"):
            np.asarray(value)
    np.testing.assert_array_equal(innocent, [[3.0, 6.0], [9.0, 12.0]])
    np.testing.assert_array_equal(x + 1.0, [[2.0, 3.0], [4.0, 5.0]])


@DEVICES
@pytest.mark.parametrize("name", ["select", "gather", "select_assign", "scatter"])
@pytest.mark.parametrize("index", [-3, 5, 4])
def test_an_index_outside_is_told_as_on_every_device(device: Any, name: str, index: int) -> None:
    def call(device: Any) -> Any:
        x = tensor(np.ones((4, 3)), device)
        if name == "gather":
            return x.gather(0, Tensor.from_data(np.array([[0, index, 1]]), device))
        if name == "select":
            return x.select(0, Tensor.from_data(np.array([1, index, 2]), device))
        if name == "scatter":
            return x.scatter(0, Tensor.from_data(np.array([[0, index, 1]]), device), x.narrow(0, 0, 1))
        return x.select_assign(0, Tensor.from_data(np.array([index, 1]), device), x.narrow(0, 0, 2))

    with pytest.raises(IndexingError) as expected:
        np.asarray(call(NdArray()))
    for _ in range(2):  # the plan of the second call is the one that failed before
        with pytest.raises(IndexingError) as found:
            np.asarray(call(device))
        assert str(found.value) == str(expected.value)


def test_a_plan_that_failed_works_with_better_indices() -> None:
    device = Cpu()
    x = tensor(np.arange(6.0), device)
    for chosen in (9, 2, 5, -1, 0):
        result = x.select(0, Tensor.from_data(np.array([chosen]), device)) * 2.0
        if 0 <= chosen < 6:
            np.testing.assert_array_equal(result, [chosen * 2.0])
        else:
            with pytest.raises(IndexingError, match=f"index {chosen} "):
                np.asarray(result)


# Memory that is written over


@DEVICES
def test_an_old_value_stays_what_it_was(device: Any) -> None:
    start = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    weight, gradient = tensor(start, device), tensor(np.ones((64, 64)), device)
    held = [weight]
    for step in range(10):
        weight = update(weight, gradient, 0.1)
        device.sync()
        if step % 3 == 0:
            held.append(weight)
    expected = start
    np.testing.assert_array_equal(held[0], start)
    for step in range(10):
        expected = expected - (np.ones_like(start) * np.float32(0.9) + expected * np.float32(0.01)) * np.float32(0.1)
        if step % 3 == 0:
            np.testing.assert_allclose(held[1 + step // 3], expected, rtol=1e-5)
    np.testing.assert_allclose(weight, expected, rtol=1e-5)


@DEVICES
def test_an_exported_array_does_not_change(device: Any) -> None:
    weight, gradient = tensor(np.ones(1000), device), tensor(np.full(1000, 2.0), device)
    weight = update(weight, gradient, 0.5)
    view = np.asarray(weight)
    copy = view.copy()
    for _ in range(5):
        weight = update(weight, gradient, 0.5)
        device.sync()
    np.testing.assert_array_equal(view, copy)
    assert not np.array_equal(np.asarray(weight), copy)


@DEVICES
def test_the_array_a_tensor_was_made_of_does_not_change(device: Any) -> None:
    given = np.ones(1000, np.float32)
    weight = Tensor.from_data(given, device)
    for _ in range(4):
        weight = weight * 2.0
        device.sync()
    np.testing.assert_array_equal(given, np.ones(1000))
    given[:] = 7.0
    np.testing.assert_array_equal(weight, np.full(1000, 16.0))


@DEVICES
def test_equal_results_do_not_share_a_fate(device: Any) -> None:
    x = tensor(np.arange(100.0), device)
    first, second = x * 2.0, x * 2.0
    device.sync()
    first = first + 1.0
    device.sync()
    np.testing.assert_array_equal(second, np.arange(100.0) * 2)
    np.testing.assert_array_equal(first, np.arange(100.0) * 2 + 1)


@DEVICES
def test_an_operation_that_changes_nothing_gives_a_value_of_its_own(device: Any) -> None:
    x = Tensor.from_data(np.arange(100), device)
    same = x.reshape((100,)) * 1
    device.sync()
    x = x + 5
    device.sync()
    np.testing.assert_array_equal(same, np.arange(100))
    np.testing.assert_array_equal(x, np.arange(100) + 5)


@DEVICES
def test_views_of_a_value_outlive_its_update(device: Any) -> None:
    x = tensor(np.arange(12.0).reshape(3, 4), device)
    turned, flipped, part = x.permute((1, 0)), x.flip((0,)), x.narrow(1, 1, 2)
    x = x * 10.0
    device.sync()
    original = np.arange(12.0).reshape(3, 4)
    x = x + 1.0
    np.testing.assert_array_equal(x, original * 10 + 1)
    np.testing.assert_array_equal(turned, original.T)
    np.testing.assert_array_equal(flipped, original[::-1])
    np.testing.assert_array_equal(part, original[:, 1:3])


@pytest.mark.parametrize("name", ["select", "gather", "cat", "scatter", "cumsum", "flip", "transpose", "slice_assign"])
def test_a_kernel_that_moves_elements_never_writes_over_what_it_reads(name: str) -> None:
    device = Cpu()
    array = np.random.default_rng(1).normal(size=(8, 8)).astype(np.float32)
    backwards = np.arange(8)[::-1].copy()

    def call(x: Any, device: Any) -> Any:
        indices = Tensor.from_data(backwards, device)
        full = Tensor.from_data(np.broadcast_to(backwards[:, None], (8, 8)).copy(), device)
        calls = {
            "select": lambda: x.select(0, indices),
            "gather": lambda: x.gather(0, full),
            "cat": lambda: Tensor.cat([x.narrow(0, 4, 4), x.narrow(0, 0, 4)], 0),
            "scatter": lambda: x.scatter(0, full, x),
            "cumsum": lambda: x.cumsum(0),
            "flip": lambda: x.flip((0, 1)),
            "transpose": lambda: x.transpose(),
            "slice_assign": lambda: x.slice_assign([slice(0, 4)], x.narrow(0, 4, 4)),
        }
        return calls[name]()

    expected = np.asarray(call(tensor(array, NdArray()), NdArray()))
    x = tensor(array, device) * 1.0
    device.sync()
    x = call(x, device)  # nobody holds the operand any more: its memory is free
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-5)


# Plans


def test_a_changing_learning_rate_makes_no_new_plan(prepared: list[Any]) -> None:
    device = Cpu()
    weight, gradient = tensor(np.ones(50), device), tensor(np.ones(50), device)
    counts = []
    for step in range(40):
        weight = update(weight, gradient, 1.0 / (step + 1))
        device.sync()
        counts.append(len(prepared))
    assert counts[3:] == [counts[3]] * 37
    assert counts[-1] <= 3


def test_many_steps_need_no_more_memory(prepared: list[Any]) -> None:
    device = Cpu()
    random = np.random.default_rng(0)
    weights = [tensor(random.normal(size=shape), device) for shape in ((64, 32), (32,), (32, 8))]
    moments = [tensor(np.zeros(w.shape), device) for w in weights]
    x = tensor(random.normal(size=(16, 64)), device)

    def step(rate: float) -> None:
        hidden = (x.matmul(weights[0]) + weights[1]).tanh()
        loss = hidden.matmul(weights[2]).sum()
        for position, weight in enumerate(weights):
            moments[position] = moments[position] * 0.9 + weight * 0.1
            weights[position] = weight - moments[position] * rate
        loss.numpy()

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    for number in range(200):
        step(1e-3 / (number + 1))
    plans, before = len(prepared), resident()
    for number in range(10_000):
        step(1e-3 / (number + 1))
    assert len(prepared) == plans
    assert resident() - before < 8 << 20


def test_the_number_of_plans_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = Cpu()
    monkeypatch.setattr(device, "plans", PlanCache(5))
    for size in range(1, 20):
        np.testing.assert_array_equal(tensor(np.ones(size), device) + 1.0, np.full(size, 2.0))
    assert len(device.plans) == 5


@DEVICES
def test_a_chain_longer_than_a_stream_is_cut(device: Any) -> None:
    x = tensor([0.0, 1.0], device)
    count = MOST_ENTRIES + MOST_ENTRIES // 2
    for _ in range(count):
        x = x + 1.0
    assert len(device.stream.entries) <= MOST_ENTRIES + 1
    np.testing.assert_array_equal(x, [count, count + 1])


def test_values_that_nobody_wants_are_not_computed(prepared: list[Any]) -> None:
    device = Cpu()
    x = tensor([1.0, 2.0], device)
    x.exp().sin()
    wanted = x + 1.0
    np.testing.assert_array_equal(wanted, [2.0, 3.0])
    assert "sin" not in prepared[-1].describe()


# What is fused


def test_a_softmax_is_one_kernel(prepared: list[Any]) -> None:
    result = tensor(np.random.default_rng(0).normal(size=(4, 7, 33)), Cpu()).softmax(2)
    np.testing.assert_allclose(np.asarray(result).sum(axis=2), np.ones((4, 7)), rtol=1e-6)
    assert len(prepared[-1].describe().splitlines()) == 1
    assert prepared[-1].describe().startswith("kernel")


def test_an_adam_update_is_one_kernel_for_each_parameter(prepared: list[Any]) -> None:
    device = Cpu()
    shapes = [(5, 7), (7,), (3, 5, 2)]
    state = [[tensor(np.ones(shape), device) for _ in range(4)] for shape in shapes]
    for time in range(1, 4):
        for held in state:
            weight, first, second, gradient = held
            first = first * 0.9 + gradient * 0.1
            second = second * 0.999 + gradient * gradient * 0.001
            corrected = (second / (1.0 - 0.999**time)).sqrt() + 1e-5
            held[:3] = [weight - first / (1.0 - 0.9**time) / corrected * 1e-3, first, second]
            del weight, first, second, corrected
        device.sync()
    assert len(prepared[-1].works) == len(shapes)
    assert all(line.startswith("kernel") for line in prepared[-1].describe().splitlines())
    # In place: weight and moments of the step before are gone, and their memory is used again.
    assert len(prepared[-1].reused) == 3 * len(shapes)


def test_native_kernels_leave_nothing_to_numpy(prepared: list[Any]) -> None:
    device = Cpu()
    x = tensor(np.random.default_rng(0).normal(size=(6, 10)), device)
    indices = Tensor.from_data(np.array([3, 1, 1, 0]), device)
    noise = Tensor.random((4, 10), Distribution.Default, device)
    chosen = x.select(0, indices) * noise
    joined = Tensor.cat([chosen, x], 0).pad([(1, 1)], 0.0).cumsum(1)
    best = joined.argmax(1)
    table = x.select_assign(0, indices, chosen)
    turned = table.permute((1, 0))
    device.sync()
    assert best.shape == (10, 1)
    assert turned.shape == (10, 6)
    assert "numpy" not in prepared[-1].describe(), prepared[-1].describe()


def test_explanations_are_printed_on_demand() -> None:
    program = "import burn, numpy as np\nx = burn.tensor([1.0, 2.0], device=burn.Cpu())\nprint(np.asarray(x * 2.0 + x))"
    environment = {"BURN_EXPLAIN": "1", "PATH": "/usr/bin:/bin"}
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert "== recorded ==" in told.stderr
    assert "mul(%0, $0)" in told.stderr
    assert told.stdout.strip() == "[3. 6.]"


# Randomness


@DEVICES
@pytest.mark.parametrize("seed", [0, 42, 2**64 - 1])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (4,), (5, 5), (2051,), (0, 3)])
def test_draws_are_those_of_every_device(device: Any, seed: int, shape: tuple[int, ...]) -> None:
    for kind in (Distribution.Default, Distribution.Uniform(-2.0, 3.0), Distribution.Bernoulli(0.3)):
        drawn = [_drawn(each, seed, kind, shape) for each in (NdArray(), device)]
        for theirs, ours in zip(*drawn, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    drawn = [_drawn(each, seed, Distribution.Normal(1.0, 2.0), shape) for each in (NdArray(), device)]
    for theirs, ours in zip(*drawn, strict=True):
        np.testing.assert_array_max_ulp(ours, theirs, 2)


def _drawn(device: Any, seed: int, kind: Any, shape: tuple[int, ...]) -> list[Any]:
    """Three draws one after the other, the last one mixed with arithmetic."""
    device.seed(seed)
    first, second = (Tensor.random(shape, kind, device) for _ in range(2))
    return [np.asarray(each) for each in (first, second, Tensor.random(shape, kind, device))]


def test_every_run_of_a_plan_draws_anew(prepared: list[Any]) -> None:
    device = Cpu()
    seen = {float(np.asarray(Tensor.random((1,), Distribution.Default, device))[0]) for _ in range(20)}
    assert len(seen) == 20
    assert len(prepared) == 1


# Cuts of programs


def test_a_number_of_a_row_is_there_for_the_loops_that_come_later(prepared: list[Any]) -> None:
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x = tensor(array, Cpu())
    total = x.sum_dims([1])
    repeated = (total * total).expand((2, 3))  # known to the loop of the sum, and read by another one
    turned = (x * 2.0).flip((1,))
    np.testing.assert_allclose(turned + repeated, array[:, ::-1] * 2 + array.sum(1, keepdims=True) ** 2)
    assert len(prepared[-1].works) > 1


def test_a_loop_of_very_many_operations_is_cut_into_several(prepared: list[Any]) -> None:
    x = tensor(np.zeros((3, 1)), Cpu())
    early = x + 1.0
    late = early
    for _ in range(700):
        late = late + 1.0
    both = early * late.expand((3, 2))
    np.testing.assert_array_equal(both, np.full((3, 2), 701.0))
    assert len(prepared[-1].works) >= 3
