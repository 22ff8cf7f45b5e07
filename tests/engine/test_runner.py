"""Step arrays run their steps in order, each part once, on one thread or on the team, with the same result."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from burn.backend.cpu.cache import ObjectCache
from burn.backend.cpu.pool import Pool
from burn.backend.cpu.runner import StepArray
from burn.errors import ArgumentError, MissingOperation
from tests.engine.hand_written import addresses

pytest.importorskip("llvmlite")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.threads = 1


def slots(*arrays: NDArray[np.generic]) -> NDArray[np.int64]:
    return np.array([each.ctypes.data for each in arrays], np.int64)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(extent=st.integers(0, 3000), grain=st.integers(1, 1000), threads=st.integers(1, 5), parallel=st.booleans())
def test_every_index_is_visited_once(pool: Pool, extent: int, grain: int, threads: int, parallel: bool) -> None:
    pool.threads = threads
    numbers, calls = np.zeros(extent + 1, np.int32), np.zeros(1, np.int64)
    table = slots(numbers, calls)
    steps = StepArray(pool)
    steps.add_kernel(addresses()["count"], table.ctypes.data, extent, grain)
    steps.run(parallel)
    np.testing.assert_array_equal(numbers, [1] * extent + [0])
    if not parallel or threads == 1 or 0 < extent <= grain:
        assert calls[0] == (1 if extent else 0)
    else:
        assert calls[0] <= -(-extent // grain)


def test_the_same_array_runs_in_parallel_and_serially_with_equal_results(pool: Pool) -> None:
    pool.threads = 3
    generator = np.random.default_rng(0)
    x = generator.standard_normal(10_001).astype(np.float32)
    start = generator.standard_normal(10_001).astype(np.float32)
    y = start.copy()
    table = slots(y, x)
    steps = StepArray(pool)
    for _ in range(5):
        steps.add_kernel(addresses()["twice_plus"], table.ctypes.data, len(x), 100)
    results = []
    for parallel in (True, False, True):
        y[:] = start
        steps.run(parallel)
        results.append(y.copy())
    expected = start
    for _ in range(5):
        expected = expected * np.float32(2) + x
    for each in results:
        np.testing.assert_array_equal(each, expected)


def appended(steps: StepArray, notes: NDArray[np.int64], value: int, name: str = "append") -> None:
    """A step that appends a value to the notes, whose first is how many there are."""
    table = np.array([notes.ctypes.data, value], np.int64)
    steps.keep(table)
    steps.add_kernel(addresses()["append"], table.ctypes.data, 1, name=name)


def sleeping(steps: StepArray, microseconds: int, name: str = "sleep") -> None:
    table = np.array([microseconds], np.int64)
    steps.keep(table)
    steps.add_kernel(addresses()["sleep"], table.ctypes.data, 1, name=name)


def test_steps_run_in_order(pool: Pool) -> None:
    notes = np.zeros(10, np.int64)
    steps = StepArray(pool)
    for value in (5, 3, 8):
        appended(steps, notes, value)
    steps.run()
    assert notes[:4].tolist() == [3, 5, 3, 8]


def test_steps_added_after_a_run_belong_to_the_next(pool: Pool) -> None:
    notes = np.zeros(10, np.int64)
    steps = StepArray(pool)
    steps.run()
    appended(steps, notes, 1)
    steps.run()
    appended(steps, notes, 2)
    steps.run()
    assert notes[:4].tolist() == [3, 1, 1, 2]
    assert len(steps) == 2


def test_arguments_that_fit_no_step_are_refused() -> None:
    steps = StepArray()
    with pytest.raises(ArgumentError, match="add_kernel: extent is -1 and grain 1"):
        steps.add_kernel(1, 1, -1)
    with pytest.raises(ArgumentError, match="grain 0"):
        steps.add_kernel(1, 1, 1, 0)
    assert len(steps) == 0


def test_a_run_lets_other_python_threads_work(pool: Pool) -> None:
    steps = StepArray(pool)
    sleeping(steps, 300_000)
    seen: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    steps.run(parallel=False)
    end = time.perf_counter()
    stop.set()
    watcher.join()
    assert end - start >= 0.29
    assert len([each for each in seen if start < each < end]) >= 5


def test_threads_may_run_one_array_for_the_first_time_together(pool: Pool) -> None:
    pool.threads = 2
    for _ in range(20):
        calls, numbers = np.zeros(1, np.int64), np.zeros(1, np.int32)
        table = slots(numbers, calls)
        steps = StepArray(pool)
        steps.add_kernel(addresses()["count"], table.ctypes.data, 1, 1)
        barrier = threading.Barrier(4)

        def work(steps: StepArray = steps, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            for _ in range(10):
                steps.run()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert calls[0] == 40


def test_times_are_given_for_each_step(pool: Pool) -> None:
    notes = np.zeros(100, np.int64)
    steps = StepArray(pool)
    appended(steps, notes, 1, name="quick")
    sleeping(steps, 3000, name="slow")
    quick, slow = steps.time_steps(repeats=5)
    assert slow >= 0.003 > quick
    assert steps.names == ("quick", "slow")


def test_without_llvmlite_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from burn.backend.cpu import native

    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    monkeypatch.setattr(native, "default_cache", lambda: ObjectCache(None))  # what is on disk needs no compiler
    with pytest.raises(MissingOperation, match=r"pip install 'burn-dl\[cpu\]'"):
        native.native.__wrapped__()
