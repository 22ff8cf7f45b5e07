"""Step arrays run their steps in order, each part once, on one thread or on the team, with the same result."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from burn.backend.cpu.pool import Pool
from burn.backend.cpu.runner import COPY_GRAIN, StepArray, StepFault
from burn.errors import ArgumentError, MissingOperation
from tests.engine.hand_written import Counted, addresses

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


def test_steps_run_in_order_and_take_six_arguments(pool: Pool) -> None:
    notes, out = np.zeros(10, np.int64), np.zeros(1, np.int64)
    steps = StepArray(pool)
    for value in (5, 3, 8):
        steps.add_call(addresses()["note"], notes.ctypes.data, value, 0)
    steps.add_call(addresses()["sum_of_six"], 1, 2, 3, 4, -5, out.ctypes.data, checked=False)
    steps.run()
    assert notes[:4].tolist() == [3, 5, 3, 8]
    assert out[0] == 5


@pytest.mark.parametrize("status", [1, 6, -3, 2**31 - 1])
def test_a_failing_step_stops_the_plan_and_is_named(pool: Pool, status: int) -> None:
    notes = np.zeros(10, np.int64)
    steps = StepArray(pool)
    steps.add_call(addresses()["note"], notes.ctypes.data, 10, 0, name="first")
    steps.add_call(addresses()["note"], notes.ctypes.data, 11, status, name="second")
    steps.add_call(addresses()["note"], notes.ctypes.data, 12, 0, name="third")
    for parallel in (True, False):
        notes[:] = 0
        with pytest.raises(StepFault, match=rf"run: step 1 \(second\) failed with status {status}") as caught:
            steps.run(parallel)
        assert (caught.value.index, caught.value.status, caught.value.name) == (1, status, "second")
        assert notes[:3].tolist() == [2, 10, 11]
    pool.threads = 3
    assert Counted(pool).most_threads(at_least=3) == 3, "the workers were dismissed"


def test_serial_runs_have_their_own_arguments(pool: Pool) -> None:
    pool.threads = 2
    notes = np.zeros(10, np.int64)
    steps = StepArray(pool)
    at = notes.ctypes.data
    steps.add_call(addresses()["note"], at, 100, 0, serial=(at, 200, 0))
    steps.add_call(addresses()["note"], at, 1, 0)
    steps.run(parallel=True)
    steps.run(parallel=False)
    assert notes[:5].tolist() == [4, 100, 1, 200, 1]


@pytest.mark.parametrize("size", [0, 1, 63, 4096, COPY_GRAIN, COPY_GRAIN + 1, 5 * COPY_GRAIN + 17])
def test_copies_and_fills_match_numpy(pool: Pool, size: int) -> None:
    pool.threads = 3
    source = np.random.default_rng(size).integers(0, 256, size + 2, dtype=np.uint8)
    copied, filled = np.zeros(size + 2, np.uint8), np.zeros(size + 2, np.uint8)
    steps = StepArray(pool)
    steps.add_copy(copied.ctypes.data + 1, source.ctypes.data + 1, size)
    steps.add_fill(filled.ctypes.data + 1, 0xA5, size)
    steps.run()
    np.testing.assert_array_equal(copied[1:-1], source[1:-1])
    assert (filled[1:-1] == 0xA5).all()
    for each in (copied, filled):
        assert each[0] == each[-1] == 0


def test_steps_added_after_a_run_belong_to_the_next(pool: Pool) -> None:
    notes = np.zeros(10, np.int64)
    steps = StepArray(pool)
    steps.run()
    steps.add_call(addresses()["note"], notes.ctypes.data, 1, 0)
    steps.run()
    steps.add_call(addresses()["note"], notes.ctypes.data, 2, 0)
    steps.run()
    assert notes[:4].tolist() == [3, 1, 1, 2]
    assert len(steps) == 2


def test_arguments_that_fit_no_step_are_refused() -> None:
    steps = StepArray()
    with pytest.raises(ArgumentError, match="add_call: big has 7 arguments; a step holds 6"):
        steps.add_call(1, 1, 2, 3, 4, 5, 6, 7, name="big")
    with pytest.raises(ArgumentError, match="add_kernel: extent is -1 and grain 1"):
        steps.add_kernel(1, 1, -1)
    with pytest.raises(ArgumentError, match="grain 0"):
        steps.add_kernel(1, 1, 1, 0)
    with pytest.raises(ArgumentError, match="add_fill: 256 is not a byte"):
        steps.add_fill(0, 256, 1)
    assert len(steps) == 0


def test_a_run_lets_other_python_threads_work(pool: Pool) -> None:
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    assert usleep is not None
    steps = StepArray(pool)
    steps.add_call(usleep, 300_000)
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
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    assert usleep is not None
    notes = np.zeros(100, np.int64)
    steps = StepArray(pool)
    steps.add_call(addresses()["note"], notes.ctypes.data, 1, 0, name="quick")
    steps.add_call(usleep, 3000, name="slow")
    quick, slow = steps.time_steps(repeats=5)
    assert slow >= 0.003 > quick
    assert steps.names == ("quick", "slow")
    steps.add_call(addresses()["note"], notes.ctypes.data, 1, 9, name="wrong")
    with pytest.raises(StepFault, match=r"step 2 \(wrong\) failed with status 9"):
        steps.time_steps(repeats=1)


def test_without_llvmlite_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from burn.backend.cpu import native

    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(MissingOperation, match=r"pip install 'burn-dl\[cpu\]'"):
        native.native.__wrapped__()
