"""Loops that the processor runs in native calls: as step by step, bit by bit, and as NumPy."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.pool import pool
from burn.backend.cpu.repeating import NativeLoop
from burn.control import cond, scan, while_loop
from burn.errors import BurnError
from burn.tensor.activation import sigmoid
from tests.control.bodies import Arrays, Body, Tensors, expected, random_body

BODIES = 120


def run(body: Body, device: Any) -> tuple[list[Any], list[Any]]:
    kit = Tensors(device)
    carries, xs, around = ([kit.given(each) for each in part] for part in (body.carries, body.xs, body.around))
    last, out = scan(
        lambda carry, x: body.step(kit, carry, x or [], around),
        carries,
        xs if xs else None,
        length=body.length,
        reverse=body.reverse,
    )
    return [np.asarray(each) for each in last], [np.asarray(each) for each in out]


@pytest.fixture
def native_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    for name in ("scan", "while_loop"):
        kernel = getattr(NativeLoop, name)
        monkeypatch.setattr(
            NativeLoop, name, lambda *given, name=name, kernel=kernel: (calls.append(name), kernel(*given))[1]
        )
    return calls


@pytest.fixture
def by_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A block in which each step is run by itself."""

    @contextmanager
    def steps() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(NativeLoop, "refusal", lambda self: "a test asks for steps")
            yield

    return steps


@pytest.mark.parametrize("first", range(0, BODIES, 20))
def test_random_bodies(first: int, native_calls: list[str], by_steps: Any) -> None:
    device = Cpu()
    for seed in range(first, first + 20):
        body = random_body(seed)
        count = len(native_calls)
        last, out = run(body, device)
        assert len(native_calls) == count + 1, seed
        with by_steps():
            last_of_steps, out_of_steps = run(body, device)
        assert len(native_calls) == count + 1
        for one, other in zip([*last, *out], [*last_of_steps, *out_of_steps], strict=True):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes(), seed
        carries, made = expected(body)
        for one, other in zip(last, carries, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=str(seed))
        for position, one in enumerate(out):
            assert len(one) == body.length
            for step, results in enumerate(made):
                np.testing.assert_allclose(one[step], results[position], rtol=1e-4, atol=1e-5, err_msg=str(seed))


@pytest.mark.parametrize("seed", range(1000, 1020))
def test_random_loops_with_a_condition(seed: int, native_calls: list[str], by_steps: Any) -> None:
    device, body = Cpu(), random_body(seed)
    kit, arrays = Tensors(device), Arrays()
    xs = [np.asarray(each[0]) for each in body.xs] if body.length else None
    if xs is None:
        return

    def turns(kit: Any, carries: list[Any], count: Any, around: list[Any]) -> tuple[list[Any], Any]:
        given = [kit.given(each) for each in xs]
        return body.step(kit, carries, given, around)[0], count + 1

    def found(limit: int) -> tuple[list[Any], Any]:
        around = [kit.given(each) for each in body.around]
        init = [kit.given(each) for each in body.carries], kit.given(np.int64(0))
        carries, count = while_loop(lambda carry: carry[1].lower(limit), lambda carry: turns(kit, *carry, around), init)
        return [np.asarray(each) for each in carries], np.asarray(count)

    for limit in (0, 1, 2, 7):
        calls = len(native_calls)
        carries, count = found(limit)
        assert native_calls[calls:] == ["while_loop"]
        with by_steps():
            carries_of_steps, _ = found(limit)
        wanted: Any = body.carries, 0
        for _ in range(limit):
            wanted = turns(arrays, *wanted, body.around)
        assert int(count) == limit
        for one, other, known in zip(carries, carries_of_steps, wanted[0], strict=True):
            assert one.tobytes() == other.tobytes()
            np.testing.assert_allclose(one, known, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 1000])
def test_a_condition_that_is_carried(limit: int, native_calls: list[str]) -> None:
    device = Cpu()
    going, count = burn.tensor(limit > 0, device=device), burn.tensor(0, device=device)
    going, count = while_loop(
        lambda carry: carry[0], lambda carry: ((carry[1] + 1).lower(limit), carry[1] + 1), (going, count)
    )
    assert (bool(np.asarray(going)), int(np.asarray(count))) == (False, limit)
    assert native_calls == ["while_loop"]


def test_a_fault_is_the_one_of_its_step() -> None:
    device = Cpu()
    table = burn.tensor(np.arange(12.0, dtype=np.float32).reshape(4, 3), device=device)

    def total(places: list[int]) -> Any:
        at = burn.tensor(np.array(places)[:, None], device=device)
        return scan(lambda carry, at: (carry + table.select(0, at).sum(), None), table.sum(), at)[0]

    for places, wrong in (([0, 1, 2, 9, 7, 3], 9), ([5], 5), ([0] * 500 + [-8, 4], -8)):
        with pytest.raises(BurnError, match=f"select: index {wrong} is out of range"):
            total(places).to_data()
        assert np.asarray(total([0, 1, 2])).tolist() == [66.0 + 36.0]
    row = burn.tensor(0, device=device)
    found = while_loop(  # the condition itself looks at what is not there
        lambda row: table.select(0, row.reshape((1,))).sum().lower(1000.0), lambda row: row + 1, row
    )
    with pytest.raises(BurnError, match="select: index 4 is out of range"):
        found.to_data()


def test_ctrl_c_ends_a_loop_without_end() -> None:
    device = Cpu()
    one = burn.tensor(1.0, device=device)
    endless = while_loop(lambda x: x.greater(0.0), lambda x: x * 1.0 + 0.0, one)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            endless.to_data()
        assert time.monotonic() - start < 5.0
    finally:
        signal.signal(signal.SIGINT, before)


def weights(device: Any) -> list[Any]:
    random = np.random.default_rng(1)
    return [burn.tensor(random.normal(size=size).astype(np.float32) * 0.2, device=device) for size in SIZES]


SIZES = [(24, 128), (32, 128), (128,), (20, 16, 24), (16, 32)]


def cell(w: Any, u: Any, b: Any) -> Callable[[Any, Any], Any]:
    """The step of a long short-term memory."""

    def step(state: Any, x: Any) -> Any:
        hidden, memory = state
        gates = x.matmul(w) + hidden.matmul(u) + b
        i, f, o, g = (gates.narrow(1, 32 * k, 32) for k in range(4))
        memory = sigmoid(f) * memory + sigmoid(i) * g.tanh()
        hidden = sigmoid(o) * memory.tanh()
        return (hidden, memory), hidden

    return step


@pytest.mark.parametrize("threads", [1, 2])
def test_a_cell_and_its_gradients_are_those_of_the_steps(threads: int, native_calls: list[str], by_steps: Any) -> None:
    device = Autodiff(Cpu())

    def gradients() -> list[bytes]:
        w, u, b, xs, state = (each.require_grad() for each in weights(device))
        (hidden, memory), out = scan(cell(w, u, b), (state, state), xs)
        found = ((out * out).sum() + hidden.sum() + memory.sum()).backward()
        return [np.asarray(each).tobytes() for each in (out, *(leaf.grad(found) for leaf in (w, u, b, xs, state)))]

    before = pool().threads
    pool().threads = threads
    try:
        found = gradients()
        assert native_calls == ["scan", "scan"]
        with by_steps():
            assert gradients() == found
        assert gradients() == found
    finally:
        pool().threads = before


def test_weights_that_stay_and_weights_that_change() -> None:
    device = Cpu()
    w, u, b, xs, state = weights(device)
    for factor in (1.0, 1.0, 1.0, 2.0, 2.0):
        recurrent = u if factor == 1.0 else u * factor
        (hidden, memory), out = scan(cell(w, recurrent, b), (state, state), xs)
        wanted = torch_cell(*(torch.tensor(np.asarray(each)) for each in (w, recurrent, b, xs, state)))
        for one, other in zip((hidden, memory, out), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.numpy(), rtol=1e-4, atol=1e-5)


def torch_cell(w: Any, u: Any, b: Any, xs: Any, state: Any) -> Any:
    layer = torch.nn.LSTM(24, 32)
    i, f, o, g = range(4)
    for name, each in (("weight_ih_l0", w.T), ("weight_hh_l0", u.T), ("bias_ih_l0", b), ("bias_hh_l0", b * 0)):
        getattr(layer, name).data = torch.cat([each[32 * k : 32 * k + 32] for k in (i, f, g, o)])
    with torch.no_grad():
        out, (hidden, memory) = layer(xs, (state[None], state[None]))
    return hidden[0], memory[0], out


def test_operands_may_be_views(native_calls: list[str]) -> None:
    device, array = Cpu(), np.arange(12, dtype=np.float32).reshape(3, 4)
    x = burn.tensor(array, device=device)
    last, out = scan(lambda carry, row: (carry + row.sum() + x.sum(), carry), x.transpose(), x.transpose())
    wanted = array.T.copy()
    for position, row in enumerate(array.T):
        np.testing.assert_array_equal(np.asarray(out)[position], wanted)
        wanted = wanted + row.sum() + array.sum()
    np.testing.assert_array_equal(np.asarray(last), wanted)
    assert native_calls == ["scan"]


def test_threads_run_one_loop_at_once() -> None:
    device = Cpu()
    w, u, b, xs, state = weights(device)
    (_, _), out = scan(cell(w, u, b), (state, state), xs)
    wanted = np.asarray(out).tobytes()

    def again(_: int) -> bool:
        return np.asarray(scan(cell(w, u, b), (state, state), xs)[1]).tobytes() == wanted

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(again, range(24)))


def described(device: Any) -> str:
    text: str = device.plans.latest().describe()
    return text


def test_a_plan_says_how_its_loops_run(native_calls: list[str]) -> None:
    device = Cpu()
    x = burn.tensor(np.ones((3, 4), np.float32), device=device)
    scan(lambda carry, row: (carry + row, None), x.sum_dim(0).squeeze_dim(0), x)[0].to_data()
    assert "scan    3 steps in native calls\n  kernel  " in described(device)
    while_loop(lambda x: x.sum().lower(50.0), lambda x: x * 2.0, x).to_data()
    assert "while   steps in native calls\n  kernel  " in described(device)
    assert native_calls == ["scan", "while_loop"]
    scan(lambda carry, row: (carry + row.sort(0), None), x.sum_dim(0).squeeze_dim(0), x)[0].to_data()
    text = described(device)
    assert "scan    3 steps one by one: sort" in text, text
    assert "has no kernel\n" in text
    assert "\n  numpy   sort" in text
    assert native_calls == ["scan", "while_loop"]
    cond(x.sum().lower(50.0), lambda x: x * 2.0, lambda x: x, x).to_data()
    assert "cond    one side\n  kernel  " in described(device)


def test_watched_loops_run_step_by_step(native_calls: list[str]) -> None:
    device = Cpu(sanitize=True)
    x = burn.tensor(np.ones((3, 4), np.float32), device=device)
    last, _ = scan(lambda carry, row: (carry + row, None), x.sum_dim(0).squeeze_dim(0), x)
    assert np.asarray(last).tolist() == [6.0] * 4
    assert native_calls == []
    assert "one by one: each step is watched" in described(device)
