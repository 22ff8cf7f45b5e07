"""Thousands of launches, starts, forks and nested runs under every disturbance we can make: nothing gets lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burn.backend.cpu.pool import Pool
from tests.engine.hand_written import Counted, run_program

pytest.importorskip("llvmlite")

COMMON = """
import os, random, sys, threading, time
from burn.backend.cpu.pool import Pool
from tests.engine.hand_written import Counted
"""


def test_a_thousand_teams_start_and_stop() -> None:
    """Each pool has threads of its own, which sleep once nobody uses it any more."""
    program = f"""{COMMON}
for number in range(1000):
    pool = Pool()
    pool.threads = 2 + number % 3
    assert Counted(pool, extent=64, kernels=3).run()
    pool.threads = 1
    assert Counted(pool, extent=64).run()
print("done")
"""
    assert run_program(program, timeout=300) == "done\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_thousand_forks_in_the_middle_of_runs() -> None:
    """Children run alone, or on a team of their own; the parent's threads go on computing meanwhile."""
    program = f"""{COMMON}
pool = Pool()
pool.threads = 3
stop, wrong = threading.Event(), []
def work():
    counted = Counted(pool, kernels=4)
    while not stop.is_set():
        if not counted.run():
            wrong.append(1)
        time.sleep(1e-3)
threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads:
    each.start()
counted = Counted(pool, kernels=4)
for number in range(1000):
    child = os.fork()
    if child == 0:
        if number % 10 == 0:
            pool.threads = 2
        os._exit(0 if counted.run() else 1)
    assert counted.run()
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for each in threads:
    each.join()
assert wrong == []
print("done")
"""
    assert run_program(program, timeout=300) == "done\n"


def test_runs_inside_of_runs() -> None:
    """A kernel that calls back into Python, which runs a plan on the same pool, which does the same again."""
    program = f"""{COMMON}
import ctypes
import numpy as np
from burn.backend.cpu.runner import StepArray
pool = Pool()
pool.threads = 3
innermost = [0]
lock = threading.Lock()
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def nested(depth):
    def call(slots, first, last):
        if depth:
            run(depth - 1)
        else:
            assert Counted(pool, extent=50).run()
            with lock:
                innermost[0] += last - first
    return CALLBACK(call)
kernels = [nested(depth) for depth in range(3)]
def run(depth):
    steps = StepArray(pool)
    steps.add_kernel(ctypes.cast(kernels[depth], ctypes.c_void_p).value, 0, 4, 2)
    steps.run()
for _ in range(1000):
    innermost[0] = 0
    run(1)
    assert innermost[0] >= 4, innermost
for _ in range(20):
    run(2)
print("done")
"""
    assert run_program(program, timeout=300) == "done\n"


@pytest.mark.parametrize("futex", [True, False], ids=["futex", "condition"])
@pytest.mark.parametrize("cores", [1, 2])
def test_launches_with_gaps_of_every_length(futex: bool, cores: int) -> None:
    """Gaps around the times at which threads go to sleep: where a wake-up would be lost if one could be."""
    program = f"""{COMMON}
from burn.backend.cpu import waiting_code, team_code
team_code.has_futex = lambda: {futex}
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])
from burn.backend.cpu import team
team.BRIEF, team.PATIENT, team.CALLER = 2e-6, 2e-5, 2e-6
pool = Pool()
pool.threads = 4
random.seed(0)
def work(seed, until):
    draw = random.Random(seed)
    counted = Counted(pool, extent=32, kernels=2)
    while time.monotonic() < until:
        for _ in range(20):
            assert counted.run()
        wait = time.perf_counter() + draw.choice((0, 1e-6, 5e-6, 2e-5, 3e-5, 1e-4, 1e-3))
        while time.perf_counter() < wait:
            pass
until = time.monotonic() + 2
threads = [threading.Thread(target=work, args=(seed, until)) for seed in range(2)]
for each in threads:
    each.start()
work(9, until)
for each in threads:
    each.join()
print("done")
"""
    assert run_program(program, timeout=120) == "done\n"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_process_that_is_stopped_goes_on() -> None:
    """All threads are stopped where they happen to be, again and again, and continued in whatever order."""
    program = f"""{COMMON}
pool = Pool()
pool.threads = 4
counted = Counted(pool, extent=64, kernels=5)
print("ready", flush=True)
until = time.monotonic() + 2
while time.monotonic() < until:
    for _ in range(50):
        assert counted.run()
    time.sleep(random.choice((0, 1e-4, 1e-3)))
print("done")
"""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(200):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.001)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.004)
        if process.poll() is not None:
            break
    assert process.communicate(timeout=120)[0] == "done\n"
    assert process.returncode == 0


def test_a_worker_that_never_wakes_holds_nobody_up() -> None:
    """Workers that are hired but have no thread behind them: the caller does their chunks."""
    pool = Pool()
    pool.threads = 1
    counted = Counted(pool, kernels=3)
    assert counted.run()
    team = pool._team
    assert team is not None
    for number in range(5):
        share = team._team.places[number].share
        share.worker, share.team = number, team.address
    team._team.words, team._team.free[0] = 1, 0b11111
    pool._threads = 4
    for _ in range(100):
        assert counted.run()


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how long a thread ran")
def test_a_worker_that_loses_its_core_rests_between_chunks() -> None:
    """Two threads and a process that never sleeps on one core: the worker loses time until it takes less."""
    program = f"""{COMMON}
import subprocess
import numpy as np
from burn.backend import Cpu
from burn.backend.cpu.pool import pool, set_num_threads
from burn.backend.cpu.resting_code import RECORD
from burn.tensor import Tensor

core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, [core])
other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
set_num_threads(2)
array = np.random.default_rng(0).random((512, 512), np.float32)
x, expected = Tensor.from_data(array, Cpu()), array @ array
until = time.monotonic() + 60
try:
    while time.monotonic() < until:
        for _ in range(5):
            (x @ x).to_data()
        resting = dict(zip(RECORD, pool()._team._team.places[0].share.resting))
        if resting["ratio"] >= 16:
            break
    print("rests" if resting["ratio"] >= 16 else resting)
    assert os.sched_getaffinity(0) == {{core}}
    for _ in range(20):
        assert np.allclose((x @ x).to_data().numpy(), expected, rtol=1e-4)
finally:
    other.kill()
    other.wait()
"""
    assert run_program(program, timeout=120) == "rests\n"


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="the system does not count waiting")
def test_a_core_that_the_host_takes_away_is_no_reason_to_rest() -> None:
    """Threads that are stopped and continued miss time but stand in line for nothing, as when a host steals a core."""
    program = f"""{COMMON}
import signal, subprocess
from burn.backend.cpu.resting_code import RECORD

def stood_in_line():
    tasks = Path("/proc/self/task")
    return sum(int((task / "schedstat").read_text().split()[1]) for task in tasks.iterdir()) / 1e9

from pathlib import Path
stopping = '''import os, signal, sys, time
until = time.monotonic() + 1.0
while time.monotonic() < until:
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.006)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(0.004)
'''
pool = Pool()
pool.threads = 2
counted = Counted(pool, extent=64, kernels=50)
for _ in range(6):
    before, begun = stood_in_line(), time.monotonic()
    other = subprocess.Popen([sys.executable, "-c", stopping, str(os.getpid())])
    while other.poll() is None:
        assert counted.run()
    share = (stood_in_line() - before) / (time.monotonic() - begun)
    record = dict(zip(RECORD, pool._team._team.places[0].share.resting))
    if share < 0.1:
        assert record["file"] != 0, record  # it noticed that time was missing, and asked
        print("works" if record["ratio"] == 0 else record)
        break
else:
    print("works")  # a machine that is never quiet says nothing about this
"""
    assert run_program(program, timeout=240) == "works\n"
