"""One plan at a time has the team, from threads that may; everybody else computes the same alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from burn.backend.cpu import libgomp
from burn.backend.cpu import pool as module
from burn.backend.cpu.pool import Pool, default_threads
from burn.backend.cpu.runner import StepArray
from burn.errors import ArgumentError
from tests.engine.hand_written import addresses, run_program

pytest.importorskip("llvmlite")


def in_thread(work: Callable[[], object]) -> object:
    """The result of `work` on a thread of its own."""
    results: list[object] = []
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
    monkeypatch.setattr(module, "_quota", lambda: None)
    assert default_threads() == len(os.sched_getaffinity(0))


def test_the_environment_chooses_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = module.pool.__wrapped__
    monkeypatch.setenv("BURN_POOL", "own")
    assert chosen().kind in ("own", "serial")
    monkeypatch.setenv("BURN_POOL", "openmp")
    with pytest.raises(ArgumentError, match="write BURN_POOL=own or BURN_POOL=libgomp"):
        chosen()


def test_cores_outside_the_affinity_mask_or_the_quota_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    monkeypatch.setattr(module, "_quota", lambda: None)
    assert default_threads() == 6
    monkeypatch.setattr(module, "_quota", lambda: 2)
    assert default_threads() == 2
    monkeypatch.setattr(module, "_quota", lambda: 64)
    assert default_threads() == 6


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "2", 1025])
def test_a_wrong_number_of_threads_is_refused(wrong: object) -> None:
    pool = Pool()
    before = pool.threads
    with pytest.raises(ArgumentError, match="set_num_threads: .* is not a number of threads; write 1 to 1024"):
        pool.threads = wrong  # type: ignore[assignment]
    assert pool.threads == before


def test_the_number_can_be_set_and_read() -> None:
    before = module.get_num_threads()
    try:
        module.set_num_threads(before + 1)
        assert module.get_num_threads() == module.pool().threads == before + 1
    finally:
        module.set_num_threads(before)


# Admission


def test_one_plan_at_a_time_is_admitted() -> None:
    pool = Pool()
    pool.threads = 4

    def serve() -> int:
        with pool.serving_thread():
            threads = pool.admit()
            if threads != 1:
                pool.leave()
            return threads

    assert pool.admit() == 4
    assert in_thread(serve) == 1
    pool.leave()
    assert in_thread(serve) == 4
    pool.threads = 1
    assert pool.admit() == 1


def test_a_thread_that_was_interrupted_is_not_locked_out() -> None:
    pool = Pool()
    pool.threads = 4
    assert pool.admit() == 4  # and no `leave`: Ctrl-C came first
    assert pool.admit() == 4
    pool.leave()
    pool.leave()


def test_only_the_main_and_serving_threads_are_admitted() -> None:
    pool = Pool()
    pool.threads = 4

    def serve() -> list[int]:
        answers = [pool.admit()]
        with pool.serving_thread():
            with pool.serving_thread():  # declaring it twice changes nothing
                answers.append(pool.admit())
                pool.leave()
            answers.append(pool.admit())
            pool.leave()
        answers.append(pool.admit())
        return answers

    assert in_thread(serve) == [1, 4, 4, 1]
    with pool.serving_thread():
        pass
    assert pool.admit() == 4, "the main thread is still admitted"
    pool.leave()


@pytest.mark.parametrize("use_libgomp", [True, False], ids=["libgomp", "own"])
def test_racing_threads_compute_what_one_would(use_libgomp: bool) -> None:
    pool = Pool(use_libgomp)
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
        for _ in range(60):
            y[:] = 0
            steps.run()
            if not (y == 15 * number).all():
                wrong.append(number)

    def serve(number: int) -> None:
        with pool.serving_thread():
            work(number)

    threads = [threading.Thread(target=serve if number % 2 else work, args=(number,)) for number in range(1, 6)]
    for each in threads:
        each.start()
    work(6)
    for each in threads:
        each.join()
    assert wrong == []
    assert pool.admit() == 3
    pool.leave()


def test_the_team_grows_and_shrinks_between_plans() -> None:
    pool = Pool(use_libgomp=False)
    if pool.kind != "own":
        pytest.skip("this system has no POSIX threads")
    calls, numbers = np.zeros(1, np.int64), np.zeros(1000, np.int32)
    table = np.array([numbers.ctypes.data, calls.ctypes.data], np.int64)
    steps = StepArray(pool)
    steps.add_kernel(addresses()["count"], table.ctypes.data, 1000, 1)
    for threads in (2, 5, 1, 3, 8, 2):
        pool.threads = threads
        calls[:] = 0
        steps.run()
        assert calls[0] == threads
    assert (numbers == 6).all()


# Forks

FORK = """
import os, sys, threading
import numpy as np
from burn.backend.cpu.pool import Pool
from burn.backend.cpu.runner import StepArray
from tests.engine.hand_written import addresses

pool = Pool(use_libgomp={use_libgomp})
pool.threads = 2
calls, numbers = np.zeros(1, np.int64), np.zeros(1000, np.int32)
table = np.array([numbers.ctypes.data, calls.ctypes.data], np.int64)
steps = StepArray(pool)
steps.add_kernel(addresses()["count"], table.ctypes.data, 1000, 1)

def made():
    calls[:] = 0
    numbers[:] = 0
    steps.run()
    assert (numbers == 1).all()
    return int(calls[0])

assert made() == 2
{held}
child = os.fork()
if child == 0:
    try:
        assert pool.forked
        assert made() == 1, "the forking thread runs alone in the child"
        with pool.serving_thread():
            assert made() == 1
        found = []
        def serve():
            with pool.serving_thread():
                found.append(made())
        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
        assert found == [2 if {use_libgomp} else 1], found
        if pool.gomp is not None:
            assert pool.gomp.library.omp_get_max_active_levels() == 0
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if made() == 1 else 1)
        assert os.waitpid(grandchild, 0)[1] == 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
{released}
assert not pool.forked
assert made() == 2, "the parent goes on in parallel"
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("use_libgomp", [True, False], ids=["libgomp", "own"])
def test_a_forked_child_runs_alone_and_does_not_hang(use_libgomp: bool, held: bool) -> None:
    if use_libgomp and libgomp.load() is None:
        pytest.skip("this system has no libgomp")
    program = FORK.format(
        use_libgomp=use_libgomp,
        held="assert pool.admit() == 2" if held else "",
        released="pool.leave()" if held else "",
    )
    assert run_program(program, timeout=60) == "done\n"


@pytest.mark.parametrize("use_libgomp", [True, False], ids=["libgomp", "own"])
def test_a_process_ends_while_workers_wait(use_libgomp: bool) -> None:
    program = f"""
import numpy as np
from burn.backend.cpu.pool import Pool
from burn.backend.cpu.runner import StepArray
from tests.engine.hand_written import addresses

pool = Pool({use_libgomp})
pool.threads = 4
calls, numbers = np.zeros(1, np.int64), np.zeros(100, np.int32)
table = np.array([numbers.ctypes.data, calls.ctypes.data], np.int64)
steps = StepArray(pool)
steps.add_kernel(addresses()["count"], table.ctypes.data, 100, 1)
steps.run()
print(calls[0])
"""
    for _ in range(3):
        assert run_program(program, timeout=60) == "4\n"


# libgomp


@pytest.mark.skipif(not libgomp.installed(), reason="no package here brings a libgomp")
def test_a_libgomp_already_in_the_process_is_used() -> None:
    path = libgomp.installed()[0]
    if not os.path.basename(path).startswith("libgomp.so"):
        pytest.skip("only renamed copies are here")
    program = f"""
import ctypes
ctypes.CDLL({path!r})
from burn.backend.cpu import libgomp
from burn.backend.cpu.pool import pool, describe
assert pool().kind == "libgomp"
assert len(libgomp.mapped()) == 1, libgomp.mapped()
print(describe()["libgomp"])
"""
    assert os.path.samefile(run_program(program).strip(), path)


def test_spinning_is_bounded_for_us_and_not_for_our_children() -> None:
    program = """
import os
seen = []
import ctypes
real = ctypes.CDLL
class Spy(real):
    def __init__(self, name, *args, **kwargs):
        seen.append(os.environ.get("GOMP_SPINCOUNT"))
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = Spy
from burn.backend.cpu import libgomp
libgomp.load()
print(seen[0], os.environ.get("GOMP_SPINCOUNT"))
"""
    assert run_program(program) == f"{libgomp.SPIN_COUNT} None\n"
    assert run_program(program, GOMP_SPINCOUNT="7") == "7 7\n"
    assert run_program(program, OMP_WAIT_POLICY="passive") == "None None\n"


def test_without_libgomp_threads_of_our_own_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libgomp, "candidates", lambda: ["libgomp-that-is-not-there.so"])
    pool = Pool()
    assert pool.kind == "own"
    assert pool.gomp is None
    assert (pool.context().gomp_parallel, bool(pool.context().launch)) == (None, True)


def test_without_any_threads_plans_run_serially(monkeypatch: pytest.MonkeyPatch) -> None:
    from burn.backend.cpu import team

    monkeypatch.setattr(team, "supported", lambda: False)
    pool = Pool(use_libgomp=False)
    pool.threads = 4
    assert pool.kind == "serial"
    assert pool.threads == 1
    numbers, calls = np.zeros(10, np.int32), np.zeros(1, np.int64)
    table = np.array([numbers.ctypes.data, calls.ctypes.data], np.int64)
    steps = StepArray(pool)
    steps.add_kernel(addresses()["count"], table.ctypes.data, 10, 1)
    steps.run()
    assert (numbers == 1).all()


def test_the_description_names_threads_library_and_cpu(tmp_path: Path) -> None:
    facts = module.describe()
    assert list(facts)[:5] == ["cpu", "instruction sets", "threads", "libgomp", "kernel cache"]
    assert str(module.get_num_threads()) in facts["threads"]
    if module.pool().gomp is not None:
        assert Path(facts["libgomp"]).is_file()
    program = "from burn.backend.cpu.pool import describe; print(describe()['kernel cache'])"
    assert run_program(program, tmp_path, BURN_FEATURES="baseline") == f"{tmp_path}\n"
