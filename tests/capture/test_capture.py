"""Capture: equal to plain calls, replayed when it may be, and plain with a reason when not."""

from __future__ import annotations

import gc
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import burn
from burn import ArgumentError, AutodiffError, CaptureWarning, Cpu, Distribution, Fusion, NdArray, Tensor
from burn.tensor import activation

DEVICES = pytest.mark.parametrize("device", [Cpu(), Fusion(NdArray())], ids=repr)


@dataclass
class Model:
    weight: Tensor
    bias: Tensor
    name: str = "model"


@dataclass
class Adam:
    first: Model
    second: Model
    time: float = 0.0


def forward(model, x):
    return (x.matmul(model.weight) + model.bias).tanh()


def train_step(model, state, x, target, rate):
    loss = ((forward(model, x) - target) * (forward(model, x) - target)).mean()
    grads = loss.backward()
    now = state.time + 1.0
    new = {}
    for name in ("weight", "bias"):
        gradient = getattr(model, name).grad(grads)
        first = getattr(state.first, name) * 0.9 + gradient * 0.1
        second = getattr(state.second, name) * 0.999 + gradient * gradient * 0.001
        update = (first / (1.0 - 0.9**now)) * rate / ((second / (1.0 - 0.999**now)).sqrt() + 1e-8)
        value = Tensor.from_inner(getattr(model, name).inner() - update).require_grad()
        new[name] = (value, first, second)
    return (
        Model(new["weight"][0], new["bias"][0]),
        Adam(Model(new["weight"][1], new["bias"][1]), Model(new["weight"][2], new["bias"][2]), now),
        loss.inner(),
    )


def fresh(device, tracked=True):
    generator = np.random.default_rng(0)
    place = device.autodiff() if tracked else device
    weight = burn.tensor(generator.normal(size=(6, 3)).astype(np.float32), device=place)
    bias = burn.tensor(np.zeros(3, np.float32), device=place)
    if tracked:
        weight, bias = weight.require_grad(), bias.require_grad()
    zeros = Model(
        burn.tensor(np.zeros((6, 3), np.float32), device=device), burn.tensor(np.zeros(3, np.float32), device=device)
    )
    x = burn.tensor(generator.normal(size=(5, 6)).astype(np.float32), device=device)
    target = burn.tensor(generator.normal(size=(5, 3)).astype(np.float32), device=device)
    return Model(weight, bias), Adam(zeros, zeros), x, target


@DEVICES
def test_a_whole_train_step_replays_with_the_numbers_of_plain_calls(device):
    histories = []
    for function in (train_step, burn.compile(train_step)):
        model, state, x, target = fresh(device)
        losses = []
        for step in range(12):
            model, state, loss = function(model, state, x, target, 0.1 / (step + 1))
            losses.append(loss.item())
        histories.append((losses, model.weight.tolist(), state.time))
    np.testing.assert_allclose(histories[0][0], histories[1][0], rtol=1e-6)
    np.testing.assert_allclose(histories[0][1], histories[1][1], rtol=1e-5)
    assert histories[0][2] == histories[1][2] == 12.0
    assert histories[0][0][-1] < histories[0][0][0]


@DEVICES
def test_two_equal_calls_are_recorded_and_the_third_is_replayed(device):
    calls = []

    def double(x):
        calls.append(1)
        return x * 2.0

    captured = burn.compile(double, ignore=["calls"])
    for value in range(5):
        assert captured(burn.tensor([float(value)], device=device)).tolist() == [2.0 * value]
    assert len(calls) == 2


@DEVICES
def test_new_shapes_dtypes_and_static_arguments_are_captured_anew(device):
    calls = []

    def power(x, exponent):
        calls.append(1)
        result = x
        for _ in range(exponent - 1):
            result = result * x
        return result

    captured = burn.compile(power, ignore=["calls"])
    for _ in range(4):
        assert captured(burn.tensor([2.0], device=device), 3).tolist() == [8.0]
        assert captured(burn.tensor([2.0], device=device), 2).tolist() == [4.0]
        assert captured(burn.tensor([2.0, 3.0], device=device), 2).tolist() == [4.0, 9.0]
        assert captured(burn.tensor([2], device=device), 2).tolist() == [4]
    assert len(calls) <= 8  # two recordings of each kind, of which one may serve several sizes


@DEVICES
def test_floats_are_run_time_numbers(device):
    def scaled(x, rate):
        return x * rate + (1.0 - rate**2.0).sqrt() if hasattr(rate, "sqrt") else x * rate + (1.0 - rate**2.0) ** 0.5

    captured = burn.compile(scaled)
    x = burn.tensor([1.0, 2.0], device=device)
    for rate in (0.1, 0.2, 0.3, 0.4, 0.5):
        np.testing.assert_allclose(captured(x, rate).numpy(), scaled(x, rate).numpy(), rtol=1e-6)
    assert len(captured.ready) == 1


@DEVICES
def test_a_read_inside_runs_plainly_and_names_the_line(device):
    def branching(x):
        if x.sum().item() > 0:  # the read
            return x * 2.0
        return x * 3.0

    captured = burn.compile(branching)
    with pytest.warns(CaptureWarning, match=r"a value is read at test_capture.py, line \d+: if x.sum\(\).item\(\) > 0"):
        assert captured(burn.tensor([1.0], device=device)).tolist() == [2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert captured(burn.tensor([-1.0], device=device)).tolist() == [-3.0]
    assert "runs without capture: a value is read" in captured.explain()


@DEVICES
def test_a_number_that_is_read_holds_for_its_value(device):
    def choosing(x, rate):
        return x * 2.0 if rate > 0.5 else x * 3.0

    captured = burn.compile(choosing)
    x = burn.tensor([1.0], device=device)
    for _ in range(4):
        assert captured(x, 0.9).tolist() == [2.0]
        assert captured(x, 0.1).tolist() == [3.0]
    assert captured.calls >= 2


@DEVICES
def test_a_number_that_is_read_and_keeps_changing_runs_plainly_and_names_the_line(device):
    def choosing(x, rate):
        return x * 2.0 if rate > 0.5 else x * 3.0

    captured = burn.compile(choosing)
    x = burn.tensor([1.0], device=device)
    with pytest.warns(CaptureWarning, match="a number that may change is read at test_capture.py, line"):
        found = [captured(x, rate).item() for rate in np.linspace(0.0, 1.0, 20).tolist()]
    assert found == [3.0] * 10 + [2.0] * 10
    assert not captured.ready


@DEVICES
def test_a_clock_or_counter_is_found_by_the_second_recording(device):
    count = iter(range(100))

    def counting(x):
        return x * float(next(count))

    captured = burn.compile(counting, ignore=["count"])  # not looked at, but seen in the numbers
    x = burn.tensor([1.0], device=device)
    captured(x)
    with pytest.warns(CaptureWarning, match="a clock, a counter or randomness"):
        captured(x)
    assert captured(x).tolist() == [2.0]


@DEVICES
def test_different_operations_in_the_second_recording_run_plainly(device):
    flags = [True, False, True, False]

    def fickle(x):
        return x * 2.0 if flags.pop() else x + 2.0

    captured = burn.compile(fickle, ignore=["flags"])
    x = burn.tensor([3.0], device=device)
    captured(x)
    with pytest.warns(CaptureWarning, match="two calls recorded different operations"):
        captured(x)


@DEVICES
def test_a_value_that_escapes_runs_plainly(device):
    kept = []

    def leaking(x):
        y = x * 2.0
        kept.append(y)
        return y + 1.0

    captured = burn.compile(leaking)
    with pytest.warns(CaptureWarning, match="outlives the call without being among its results"):
        assert captured(burn.tensor([1.0], device=device)).tolist() == [3.0]
    assert kept[0].tolist() == [2.0]


@DEVICES
def test_closures_and_globals_are_inputs_that_may_change(device):
    weight = burn.tensor([2.0], device=device)

    def scaled(x):
        return x * weight

    captured = burn.compile(scaled)
    x = burn.tensor([3.0], device=device)
    assert [captured(x).item() for _ in range(4)] == [6.0] * 4
    weight = burn.tensor([5.0], device=device)
    assert captured(x).item() == 15.0


@DEVICES
def test_a_guard_that_changes_is_captured_anew(device):
    factor = 2

    def scaled(x):
        return x * float(factor)

    captured = burn.compile(scaled)
    x = burn.tensor([3.0], device=device)
    assert [captured(x).item() for _ in range(3)] == [6.0] * 3
    factor = 3
    assert [captured(x).item() for _ in range(3)] == [9.0] * 3


@DEVICES
def test_randomness_differs_every_call_and_repeats_by_seed(device):
    def dropout(x):
        return x * Tensor.random(list(x.shape), Distribution.Bernoulli(0.5), x.device)

    x = burn.tensor(np.ones(64, np.float32), device=device)
    captured = burn.compile(dropout)
    device.seed(3)
    plain = [dropout(x).tolist() for _ in range(6)]
    device.seed(3)
    assert [captured(x).tolist() for _ in range(6)] == plain
    assert len({tuple(each) for each in plain}) == 6
    assert len(captured.ready) == 1


@DEVICES
def test_results_may_be_arguments_numbers_and_the_same_tensor_twice(device):
    def odd(x, rate):
        y = x + 1.0
        return {"same": x, "twice": [y, y], "number": rate * 2.0, "fixed": 7.0, "word": "text"}

    captured = burn.compile(odd)
    for rate in (1.0, 2.0, 3.0, 4.0):
        x = burn.tensor([1.0], device=device)
        result = captured(x, rate)
        assert result["same"] is x
        assert [each.tolist() for each in result["twice"]] == [[2.0], [2.0]]
        assert result["number"] == 2.0 * rate
        assert isinstance(result["number"], float)
        assert (result["fixed"], result["word"]) == (7.0, "text")


@DEVICES
def test_old_arguments_stay_readable_after_a_replay(device):
    captured = burn.compile(lambda x: x * 2.0)
    x = burn.tensor([1.0, 2.0], device=device)
    view = np.asarray(x)
    results = [captured(x) for _ in range(5)]
    assert x.tolist() == view.tolist() == [1.0, 2.0]
    assert all(each.tolist() == [2.0, 4.0] for each in results)


def test_donated_arguments_are_gone_and_say_so():
    device = Cpu()
    captured = burn.compile(lambda x: x * 2.0, donate=(0,))
    for _ in range(2):
        captured(burn.tensor(np.ones(1000, np.float32), device=device))
    x = burn.tensor(np.ones(1000, np.float32), device=device)
    assert captured(x).sum().item() == 2000.0
    with pytest.raises(ArgumentError, match="donated to a captured call and is gone"):
        x.tolist()


def test_check_compares_with_plain_calls():
    factor = [2.0]

    def scaled(x):
        return x * helper()

    def helper():
        return factor[0]

    captured = burn.compile(scaled, check=1, ignore=["factor"])
    x = burn.tensor([1.0], device=Cpu())
    for _ in range(4):
        assert captured(x).item() == 2.0
    factor[0] = 3.0
    with pytest.raises(AssertionError, match="gave another result 0 than a plain call"):
        captured(x)


def test_without_a_fused_device_it_runs_plainly_with_one_warning():
    captured = burn.compile(lambda x: x * 2.0)
    x = burn.tensor([1.0], device=NdArray())
    with pytest.warns(CaptureWarning, match=r"no argument lives on a fused device such as Cpu\(\): NdArray\(\)"):
        captured(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert captured(x).tolist() == [2.0]


@pytest.mark.parametrize("device", [Cpu().autodiff(), Fusion(NdArray()).autodiff(), NdArray().autodiff()], ids=repr)
def test_results_come_back_without_their_graphs(device):
    class Found(NamedTuple):
        loss: Any
        scores: Any

    @burn.compile(notice=lambda reason: None)
    def step(x, w):
        scores = x * w
        loss = (scores * scores).sum()
        return Found(loss, scores), {"gradient": w.grad(loss.backward()), "w": w}, [loss, 1.5, loss]

    w = burn.tensor([3.0], device=device).require_grad()
    for number in range(4):
        x = burn.tensor([float(number)], device=device)
        found, others, listed = step(x, w)
        assert [each.item() for each in (found.loss, found.scores, listed[0])] == [
            9.0 * number**2, 3.0 * number, 9.0 * number**2,
        ]  # fmt: skip
        assert others["gradient"].tolist() == [6.0 * number**2]
        assert others["w"] is w
        assert listed[1] == 1.5
        assert listed[0] is listed[2]
        for result in (found.loss, found.scores):
            assert result.device is device
            assert not result.is_require_grad()
            with pytest.raises(AutodiffError):
                result.backward()
    fused = not isinstance(device.inner(), NdArray)
    assert len(step.ready) == (1 if fused else 0)


def test_what_a_captured_function_gives_to_another_keeps_its_graph():
    device = Cpu().autodiff()
    forward = burn.compile(lambda x, w: (x * w).sum())

    @burn.compile
    def step(x, w):
        return w.grad(forward(x, w).backward())

    w = burn.tensor([3.0, 1.0], device=device).require_grad()
    for _ in range(4):
        assert step(burn.tensor([2.0, 5.0], device=device), w).tolist() == [2.0, 5.0]
    assert len(step.ready) == 1


def test_a_name_that_is_bound_to_a_tensor_with_a_graph_runs_plainly():
    kept = None

    @burn.compile
    def step(x):
        nonlocal kept
        kept = x * 2.0
        return kept.detach()

    x = burn.tensor([1.0], device=Cpu().autodiff()).require_grad()
    with pytest.warns(CaptureWarning, match="what is kept carries a graph"):
        step(x)
    assert x.grad(kept.backward()).tolist() == [2.0]


def test_an_exception_inside_leaves_everything_usable():
    device = Cpu()
    fail = [True]

    def risky(x):
        y = x * 2.0
        if fail[0]:
            raise KeyError("inside")
        return y

    captured = burn.compile(risky)
    x = burn.tensor([1.0], device=device)
    with pytest.raises(KeyError, match="inside"):
        captured(x)
    fail[0] = False
    assert [captured(x).item() for _ in range(4)] == [2.0] * 4


def test_methods_and_decorator_options():
    class Layer:
        def __init__(self, device):
            self.weight = burn.tensor([2.0], device=device)

        @burn.compile(check=2)
        def apply(self, x):
            return activation.relu(x) * 3.0

    layer = Layer(Cpu())
    for value in (1.0, -1.0, 2.0, 3.0, -5.0):
        x = burn.tensor([value], device=Cpu())
        assert layer.apply(x).tolist() == [max(value, 0.0) * 3.0]


def test_several_threads_replay_one_capture():
    device = Cpu()
    captured = burn.compile(lambda x, rate: (x * rate).exp().sum())
    base = np.linspace(0, 1, 500).astype(np.float32)
    for _ in range(3):
        captured(burn.tensor(base, device=device), 1.0)
    failures = []

    def work(factor):
        for _ in range(50):
            got = captured(burn.tensor(base * factor, device=device), 0.5).item()
            if not np.isclose(got, np.exp(base * factor * 0.5).sum(), rtol=1e-4):
                failures.append((factor, got))

    threads = [threading.Thread(target=work, args=(float(i + 1),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_capture_is_bounded_and_explains_itself():
    captured = burn.compile(lambda x: x + 1.0)
    assert captured.explain() == "not called yet"
    for size in range(1, 70):
        for _ in range(2):
            captured(burn.tensor(np.zeros(size, np.float32), device=Cpu()))
    assert len(captured.ready) <= 64
    assert "captured:" in captured.explain()
    assert "plan:" in captured.explain()


def test_a_captured_call_costs_no_graph_and_little_time():
    model, state, x, target = fresh(Cpu())
    captured = burn.compile(train_step)
    for _ in range(4):
        model, state, loss = captured(model, state, x, target, 0.01)
    begin = time.perf_counter()
    for _ in range(50):
        model, state, loss = captured(model, state, x, target, 0.01)
    loss.item()
    assert time.perf_counter() - begin < 5.0
    assert model.weight.is_require_grad()
    assert model.weight.handle.node.parents == ()


def test_draws_with_a_seed_of_their_own_are_the_same_in_every_call():
    from burn import f32
    from burn.ops.random import random_uniform

    device = Cpu()

    def noisy(x):
        return x + random_uniform(3, 0, 0.0, 1.0, (5,), f32, device=device)

    step = burn.compile(noisy)
    x = Tensor.zeros([5], device)
    first = step(x).numpy().copy()
    for _ in range(4):
        assert (step(x).numpy() == first).all()
    assert len(step.ready) == 1


@pytest.mark.parametrize(
    "read", [lambda p: p.item(), lambda p: int(p.numpy()), lambda p: p.tolist()], ids=["item", "numpy", "list"]
)
def test_reading_an_argument_means_running_plainly(read):
    device = Cpu()

    def chosen(x, y, place):
        return [x, y][read(place)] + 1.0

    step = burn.compile(chosen)
    x, y = Tensor.zeros([2], device), Tensor.ones([2], device)
    first, second = Tensor.from_data(0, device), Tensor.from_data(1, device)
    with pytest.warns(CaptureWarning, match="read"):
        step(x, y, first)
    for place, expected in ((first, 1.0), (first, 1.0), (second, 2.0), (first, 1.0)):
        assert step(x, y, place).tolist() == [expected, expected]
    assert not step.ready


def test_what_others_do_when_the_collector_runs_is_no_part_of_the_function():
    seen = []

    def told(phase, info):
        seen.append(time.perf_counter())

    @burn.compile
    def doubled(x):
        for each in range(200):
            kept = [[each], [each]]
        return x * 2.0 + float(len(kept))

    x = burn.tensor([1.0, 2.0], device=burn.Cpu())
    before = gc.get_threshold()
    gc.callbacks.append(told)
    gc.set_threshold(5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CaptureWarning)
            for _ in range(4):
                assert doubled(x).tolist() == [4.0, 6.0]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(told)
    assert seen
