"""Any thread runs plans on its share of the threads, several at once, with the same results; forked children alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.backend.cpu import pool as module
from burn.backend.cpu.pool import Pool, default_threads
from burn.backend.cpu.runner import StepArray
from burn.errors import ArgumentError
from tests.engine.hand_written import Counted, addresses, run_program

pytest.importorskip("llvmlite")


def in_thread(work: Callable[[], Any]) -> Any:
    """The result of `work` on a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


# How many threads


@pytest.mark.parametrize("text, expected", [("3", 3), ("4,2", 4), (" 5 ", 5), ("1", 1), ("999999", 1024)])
def test_the_environment_chooses_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert default_threads() == Pool().threads == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "many"])
def test_a_number_that_is_none_is_passed_over(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    monkeypatch.setattr(module, "usable_cores", lambda: 7)
    assert default_threads() == 7


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "2", 1025])
def test_a_wrong_number_of_threads_is_refused(wrong: Any) -> None:
    pool = Pool()
    before = pool.threads
    with pytest.raises(ArgumentError, match="set_num_threads: .* is not a number of threads; write 1 to 1024"):
        pool.threads = wrong
    with pytest.raises(ArgumentError, match="share: .* is not a number of threads; write 1 to 1024"), pool.share(wrong):
        pass
    assert pool.threads == pool.running() == before


def test_the_number_can_be_set_and_read() -> None:
    before = module.get_num_threads()
    try:
        module.set_num_threads(before + 1)
        assert module.get_num_threads() == module.pool().threads == before + 1
    finally:
        module.set_num_threads(before)


def test_cores_that_are_taken_away_are_missed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    now, cores = [100.0], [4]
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(module, "usable_cores", lambda: cores[0])
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    pool = Pool()
    assert (pool.threads, pool.running()) == (4, 4)
    cores[0] = 2
    assert pool.running() == 4, "the answer of a moment ago"
    now[0] += 2
    assert (pool.threads, pool.running()) == (4, 2), "plans are made for four and run on two"
    cores[0] = 8
    now[0] += 2
    assert pool.running() == 4
    pool.threads = 6  # whoever asks for a number gets it
    cores[0] = 1
    now[0] += 2
    assert pool.running() == 6


# Shares


def test_a_share_belongs_to_its_thread() -> None:
    pool = Pool()
    pool.threads = 4
    with pool.share(2):
        assert (pool.threads, pool.running()) == (2, 2)
        assert in_thread(pool.running) == 4
        with pool.share(3):
            assert pool.running() == 3
        assert pool.running() == 2
    assert pool.running() == 4


def test_a_share_may_be_larger_than_what_others_have() -> None:
    pool = Pool()
    pool.threads = 1
    counted = Counted(pool)
    assert counted.most_threads() == 1
    with pool.share(3):
        assert counted.most_threads(at_least=3) == 3
    assert counted.most_threads() == 1


def test_two_runs_have_threads_of_their_own_at_once() -> None:
    """Each of two runs waits inside of a kernel until the other has begun: a lock for all would wait for ever."""
    pool = Pool()
    pool.threads = 5
    met = np.zeros(1, np.int64)
    table = np.array([met.ctypes.data, 4], np.int64)

    def run() -> None:
        steps = StepArray(pool)
        steps.add_kernel(addresses()["meet"], table.ctypes.data, 2, 1)
        with pool.share(2):
            steps.run()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not any(each.is_alive() for each in threads)
    assert met[0] == 4


def test_racing_threads_compute_what_one_would() -> None:
    pool = Pool()
    pool.threads = 3
    wrong: list[int] = []
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        x = np.full(3000, number, np.float32)
        y = np.zeros(3000, np.float32)
        table = np.array([y.ctypes.data, x.ctypes.data], np.int64)
        steps = StepArray(pool)
        for _ in range(4):
            steps.add_kernel(addresses()["twice_plus"], table.ctypes.data, 3000, 10)
        barrier.wait()
        with pool.share(1 + number % 4):
            for _ in range(60):
                y[:] = 0
                steps.run()
                if not (y == 15 * number).all():
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 6)]
    for each in threads:
        each.start()
    work(6)
    for each in threads:
        each.join()
    assert wrong == []


def test_the_number_may_change_while_plans_run() -> None:
    pool = Pool()
    pool.threads = 2
    stop = threading.Event()
    wrong: list[int] = []

    def work() -> None:
        counted = Counted(pool)
        while not stop.is_set():
            if not counted.run():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for count in [1, 5, 2, 9, 3, 1, 12, 4] * 5:
        pool.threads = count
    stop.set()
    for each in threads:
        each.join()
    assert wrong == []
    pool.threads = 3
    assert Counted(pool).most_threads(at_least=3) >= 3  # a worker of a run before may still help with a chunk


# Forks

FORK = """
import os, sys, threading
from burn.backend.cpu.pool import Pool
from tests.engine.hand_written import Counted

pool = Pool()
pool.threads = 2
counted = Counted(pool)
assert counted.most_threads(at_least=2) == 2
child = os.fork()
if child == 0:
    try:
        assert pool.forked
        assert counted.most_threads() == 1, "the forking thread runs alone in the child"
        found = []
        thread = threading.Thread(target=lambda: found.append(Counted(pool).most_threads()))
        thread.start()
        thread.join()
        assert found == [1], found
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if counted.most_threads() == 1 else 1)
        assert os.waitpid(grandchild, 0)[1] == 0
        pool.threads = 3
        assert not pool.forked
        assert counted.most_threads(at_least=3) == 3, "a child that asks for threads has its own"
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert not pool.forked
assert counted.most_threads(at_least=2) == 2, "the parent goes on in parallel"
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_runs_alone_until_it_asks_for_threads() -> None:
    assert run_program(FORK, timeout=60) == "done\n"


def test_a_process_ends_while_workers_wait_and_work() -> None:
    program = """
import threading
from burn.backend.cpu.pool import Pool
from tests.engine.hand_written import Counted

pool = Pool()
pool.threads = 4
def go_on():
    counted = Counted(pool)
    while True:
        counted.run()
threading.Thread(target=go_on, daemon=True).start()
print(Counted(pool).most_threads(at_least=2) >= 2)
"""
    for _ in range(3):
        assert run_program(program, timeout=60) == "True\n"


def test_without_any_threads_plans_run_serially(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_threads", lambda: False)
    pool = Pool()
    pool.threads = 4
    assert pool.kind == "serial"
    assert pool.threads == 1
    assert Counted(pool).most_threads() == 1


def test_the_description_names_threads_and_cpu(tmp_path: Path) -> None:
    facts = module.describe()
    assert list(facts)[:4] == ["cpu", "instruction sets", "threads", "kernel cache"]
    assert facts["threads"] == f"{module.get_num_threads()} (own)"
    program = "from burn.backend.cpu.pool import describe; print(describe()['kernel cache'])"
    assert run_program(program, tmp_path, BURN_FEATURES="baseline") == f"{tmp_path}\n"
