"""What plans keep for their next runs: counted, bounded, and given up without harm."""

from __future__ import annotations

import gc
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray
from burn.backend.cpu.kept import FEW, KeptMemory, default_limit
from burn.backend.fusion import Fusion
from burn.errors import ArgumentError, MissingOperation

LIMIT = 1 << 20


@pytest.fixture
def device() -> Any:
    found: Any = Cpu(kept_memory=LIMIT)
    found.plans.release()
    gc.collect()
    return found


def chain(x: Any) -> Any:
    """Reductions along both dims, so that values between them need memory."""
    for number in range(3):
        x = (x - x.sum_dim(0) * 0.01).exp() + float(number)
        x = x.matmul(x.transpose()).tanh() * 0.5
    return x


def exact(values: Any) -> Any:
    x = values.astype(np.float64)
    for number in range(3):
        x = np.exp(x - x.sum(0, keepdims=True) * 0.01) + number
        x = np.tanh(x @ x.T) * 0.5
    return x


def values(rows: int) -> Any:
    return np.random.default_rng(rows).standard_normal((rows, 60)).astype(np.float32) * 0.1


def on(array: Any, device: Any) -> Any:
    return burn.tensor(array, device=device)


def largest(device: Any) -> int:
    return max(each.bytes for each in device.below.kept.instances())


def test_arenas_of_many_shapes_stay_within_the_limit(device: Any) -> None:
    for rows in range(100, 140):
        np.testing.assert_allclose(chain(on(values(rows), device)).numpy(), exact(values(rows)), atol=1e-5)
        held = device.memory().plans
        assert held <= LIMIT + FEW * largest(device)
    assert held == sum(each.bytes for each in device.below.kept.instances())
    assert len(device.below.kept.instances()) < 40


def test_captured_functions_give_up_their_arenas_too(device: Any) -> None:
    call = burn.compile(chain)
    for rows in range(100, 120):
        for _ in range(3):
            made = call(on(values(rows), device)).numpy()
        np.testing.assert_allclose(made, exact(values(rows)), atol=1e-5)
        assert device.memory().plans <= LIMIT + FEW * largest(device)
    for rows in (100, 119, 101, 100):  # the first ones have none any more, and take others
        np.testing.assert_allclose(call(on(values(rows), device)).numpy(), exact(values(rows)), atol=1e-5)


def test_the_few_that_were_used_last_stay_whatever_they_take() -> None:
    device: Any = Cpu(kept_memory=0)
    arrays = [on(values(rows), device) for rows in range(100, 100 + FEW)]
    for array in arrays:
        chain(array).numpy()
    before = {id(each) for each in device.below.kept.instances()}
    for array in arrays * 3:
        chain(array).numpy()
    assert {id(each) for each in device.below.kept.instances()} == before


def test_memory_that_is_in_use_is_not_taken_away(device: Any) -> None:
    faults: list[Any] = []

    def work(begin: int) -> None:
        try:
            for turn in range(15):
                rows = 100 + (begin + turn * 7) % 40
                np.testing.assert_allclose(chain(on(values(rows), device)).numpy(), exact(values(rows)), atol=1e-5)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(begin,)) for begin in (0, 13, 26)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not faults


def test_plans_that_are_gone_count_for_nothing(device: Any) -> None:
    chain(on(values(99), device)).numpy()
    assert device.memory().plans > 0
    device.plans._plans.clear()
    device.plans._last = (None, None)
    gc.collect()
    assert device.memory().plans == 0


def test_the_limit_is_a_setting_of_the_device() -> None:
    assert 0 < default_limit() <= 1 << 29
    assert KeptMemory().limit == default_limit()
    assert repr(Cpu(kept_memory=5)) == "Cpu(kept_memory=5)"
    assert repr(Cpu()) == "Cpu()"
    assert pickle.loads(pickle.dumps(Cpu(kept_memory=5))) is Cpu(kept_memory=5)
    with pytest.raises(ArgumentError, match="kept_memory is -1; write bytes, at least 0, such as kept_memory="):
        Cpu(kept_memory=-1)
    other: Any = Fusion(NdArray())
    with pytest.raises(MissingOperation, match="does not count its memory"):
        other.memory()
