"""Programs of thousands of operations: right, in pieces of bounded size, and few of them different."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu
from burn.backend.fusion import cuts, stream
from burn.backend.fusion.cuts import MOST_ENTRIES, Cuts
from burn.backend.fusion.stream import PlanCache
from burn.engine.schedule.units import MOST_NODES
from burn.program.periods import period_of
from burn.tensor import activation


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    found: Any = Cpu()
    monkeypatch.setattr(found, "plans", PlanCache())
    return found


def plans(device: Any) -> list[Any]:
    return list(device.plans._plans.values())


def kernels(device: Any) -> set[str]:
    """The distinct kernels of every plan."""
    return {str(work.kernel) for plan in plans(device) for work in plan.works}


def assert_bounded(device: Any) -> None:
    for plan in plans(device):
        assert len(plan.source.nodes) <= MOST_ENTRIES
        assert max(len(unit.nodes) for unit in plan.schedule.units) <= MOST_NODES
        assert max(str(work.kernel).count("\n") for work in plan.works) <= 24 * MOST_NODES


def on(values: Any, device: Any) -> Any:
    return burn.tensor(np.asarray(values, np.float32), device=device)


@pytest.mark.parametrize("count", [400, 5000])
def test_a_long_chain_and_a_reduction(count: int, device: Any) -> None:
    values = np.linspace(-1, 1, 60).reshape(6, 10)
    x, exact = on(values, device), values.astype(np.float32).astype(np.float64)
    for number in range(count):
        x, exact = (x * 0.999, exact * 0.999) if number % 3 else (x + 0.25, exact + 0.25)
    np.testing.assert_allclose(x.sum_dim(1).numpy(), exact.sum(1, keepdims=True), rtol=count * 2e-7)
    assert_bounded(device)


def test_the_same_captured(device: Any) -> None:
    def steps(x: Any) -> Any:
        for _ in range(1500):
            x = x * 0.999 + 0.001
        return x.sum_dim(1)

    call, x = burn.compile(steps), on(np.linspace(-1, 1, 60).reshape(6, 10), device)
    for _ in range(3):
        made = call(x).numpy()
    exact = (np.linspace(-1, 1, 60).reshape(6, 10) - 1.0) * 0.999**1500 + 1.0
    np.testing.assert_allclose(made, exact.sum(1, keepdims=True), rtol=1e-4)
    assert call.ready  # captured, not run plainly


def test_many_softmaxes_of_the_same_rows_are_cut(device: Any) -> None:
    values = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)
    x, exact = on(values, device), values.astype(np.float64)
    for _ in range(60):
        x = activation.softmax(x * 3.0, 1) + x * 0.5
        powers = np.exp(exact * 3.0 - (exact * 3.0).max(1, keepdims=True))
        exact = powers / powers.sum(1, keepdims=True) + exact * 0.5
    np.testing.assert_allclose(x.numpy(), exact, rtol=1e-4, atol=1e-5)
    assert_bounded(device)
    assert len(kernels(device)) < 24


def test_a_loop_of_steps_is_lowered_once_and_not_at_every_cut(device: Any) -> None:
    x, v = on(np.ones(10), device), on(np.zeros(10), device)
    exact_x, exact_v = np.ones(10), np.zeros(10)
    for _ in range(3000):
        force = -x
        x, v = x + v * 0.001, v + force * 0.001
        exact_x, exact_v = exact_x + exact_v * 0.001, exact_v - exact_x * 0.001
    np.testing.assert_allclose(x.numpy(), exact_x, rtol=1e-4)
    np.testing.assert_allclose(v.numpy(), exact_v, rtol=1e-4)
    assert_bounded(device)
    assert len(plans(device)) <= 3  # the first, the one that repeats, and the rest
    assert len(kernels(device)) <= 6


def test_steps_with_reductions_share_their_kernels(device: Any) -> None:
    values = np.random.default_rng(0).standard_normal((6, 9)).astype(np.float32)
    x, exact = on(values, device), values.astype(np.float64)
    for number in range(200):
        dim, other = number % 2, on(np.full((6, 9), number % 3), device)
        x = x - x.sum_dim(dim) * 0.01 + other
        exact = exact - exact.sum(dim, keepdims=True) * 0.01 + number % 3
    np.testing.assert_allclose(x.numpy(), exact, rtol=1e-4, atol=1e-4)
    (plan,) = plans(device)
    assert len(plan.works) >= 300
    assert len({id(work.kernel) for work in plan.works}) <= 8  # written once each


def test_a_step_longer_than_a_stream_is_cut_in_the_same_places(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cuts, stream):
        monkeypatch.setattr(module, "MOST_ENTRIES", 64)
    x, exact = on(np.linspace(-1, 1, 10), device), np.linspace(-1, 1, 10)
    for _ in range(60):
        for number in range(75):
            x, exact = (x * 0.99, exact * 0.99) if number % 7 == number % 5 else (x + 0.01, exact + 0.01)
    np.testing.assert_allclose(x.numpy(), exact, rtol=1e-3)
    assert len(plans(device)) < 40  # until the period is known, and two for each period


def test_gradients_of_a_deep_chain(device: Any) -> None:
    x = on(np.linspace(0.5, 1.5, 8), device.autodiff()).require_grad()
    y = x
    for number in range(1200):
        y = y.sin() if number % 400 == 7 else y * 1.0005
    gradient = x.grad(y.sum().backward()).numpy()
    exact, slope = np.linspace(0.5, 1.5, 8), np.ones(8)
    for number in range(1200):
        slope, exact = (slope * np.cos(exact), np.sin(exact)) if number % 400 == 7 else (slope * 1.0005, exact * 1.0005)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-4)


def test_periods() -> None:
    assert period_of("abcabcabc") == 3
    assert period_of("xyzabcabcabc") == 3
    assert period_of("aaaaaaaa") == 1
    assert period_of("abababab" * 3 + "c") == 0
    assert period_of("abcdefgh") == 0
    assert period_of("") == 0


def test_cuts_follow_the_period_from_the_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "MOST_ENTRIES", 10)
    for length, expected in ((3, [9, 9, 9]), (4, [8, 8, 8]), (10, [10, 10, 10])):
        found, at, lengths = Cuts(), 0, [10 * length]
        for _ in range(4):
            lengths.append(found.after([each % length for each in range(at, at + lengths[-1])]))
            at += lengths[-2]
        assert lengths[2:] == expected
    found = Cuts()
    for begin in range(0, 250, 10):  # a period of 25
        following = found.after([each % 25 for each in range(begin, begin + 10)])
    assert found.period == 25
    assert following <= 10
