"""Short runs on the event loop: which ones they are, that they share runs, and that they never wait for long ones."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from furnace.engine import warming
from furnace.engine.batching import batch_key
from furnace.engine.delivery import perform
from furnace.engine.job import Job
from furnace.engine.pace import ALONE_SECONDS, SHORT_SECONDS, Pace
from furnace.engine.spreading import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Spread
from furnace.engine.worker import GATE, Worker
from furnace.errors import InferenceFailed, Overloaded
from furnace.http.driving import Driven
from furnace.http.messages import Request
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec

ROWS = Signature((TensorSpec("x", "FP32", ("n", 2)),), (TensorSpec("y", "FP32", ("n", 2)),))
ONE = np.ones((1, 2), np.float32)
KEY = batch_key([ONE])
SIZES = [1, 2, 4, 8]


def steady(run, known=SIZES, **options):
    """A worker that knows its runs of ones to be short."""
    worker = Worker(ServedModel("m", "1", ROWS, run, steady=True), max_batch_size=8, **options)
    for size in known:
        worker.pace.restart(KEY, size, SHORT_SECONDS / 100)
    return worker


def noted(runs):
    def run(inputs):
        runs.append((len(inputs[0]), threading.get_ident()))
        if (inputs[0] < 0).any():
            raise ValueError("a number is below 0")
        return [inputs[0] * 2]

    return run


def test_only_shapes_that_have_run_are_short_and_sizes_count_up_to_the_first_long_one():
    pace = Pace()
    assert pace.short_rows(KEY, SIZES) == 0
    for size, seconds in ((1, 1e-4), (2, 2e-4), (4, 1.0), (8, 1e-4)):
        pace.note(KEY, size, seconds, SIZES)
    assert pace.short_rows(KEY, SIZES) == 2
    assert pace.short_rows(("another",), SIZES) == 0


def test_a_long_run_makes_its_kind_long_until_a_short_one_comes():
    pace = Pace()
    pace.note(KEY, 1, 1e-4, SIZES)
    pace.note(KEY, 1, 1.0, SIZES)
    assert pace.short_rows(KEY, SIZES) == 0
    pace.note(KEY, 1, 1e-4, SIZES)
    assert pace.short_rows(KEY, SIZES) == 1


def test_an_only_client_may_have_longer_runs():
    pace = Pace()
    pace.note(KEY, 1, (SHORT_SECONDS + ALONE_SECONDS) / 2, SIZES)
    assert pace.short_rows(KEY, SIZES) == 0
    assert pace.short_rows(KEY, SIZES, alone=True) == 1
    pace.note(KEY, 1, 100 * ALONE_SECONDS, SIZES)
    assert pace.short_rows(KEY, SIZES, alone=True) == 0


def test_what_is_short_is_looked_at_anew_when_a_pace_or_the_sizes_change():
    pace = Pace()
    assert pace.short_rows(KEY, SIZES) == 0
    pace.restart(KEY, 1, 1e-4)
    assert pace.short_rows(KEY, SIZES) == 1
    pace.note(KEY, 2, 1e-4, SIZES)
    assert pace.short_rows(KEY, SIZES) == 2
    assert pace.short_rows(KEY, [1]) == 1
    for number in range(2000):
        pace.note((number,), 1, 1e-4, SIZES)
    assert pace.short_rows(KEY, SIZES) == 0


def lasting(seconds, at, rows=1, key=KEY):
    job = Job([ONE], rows, key)
    job.enqueued, job.compute_seconds = at, seconds
    return job


def test_runs_on_all_cores_that_take_long_go_back_to_one_for_a_while():
    spread = Spread(noted([]), KEY, 1e-4)
    assert not spread.takes(lasting(0, 1.0, rows=2))
    assert not spread.takes(lasting(0, 1.0, key=("another",)))
    for _ in range(100):  # one that takes twice as long is no reason
        spread.note(lasting(2e-4, 1.0), on_all=True)
    assert spread.takes(lasting(0, 1.0))
    now, pauses = 1.0, []
    for _ in range(12):
        spread.note(lasting(0.02, now), on_all=True)
        begin = now
        while not spread.takes(lasting(0, now)):
            spread.note(lasting(1e-4, now), on_all=False)
            now += 0.01
        pauses.append(now - begin)
    assert pauses[0] == pytest.approx(PAUSE_SECONDS, abs=0.05)
    assert pauses[:4] == sorted(pauses[:4])
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE_SECONDS, abs=0.05)


def test_an_only_client_gets_all_cores_and_others_do_not():
    runs, wide = [], []
    worker = steady(noted(runs))
    worker.spread = Spread(noted(wide), KEY, 1e-4)
    alone, beside = Request("POST", "/", {}), Request("POST", "/", {})
    alone.alone = True

    async def main():
        return [await perform(worker, [ONE], 1, KEY, caller=each) for each in (alone, beside, alone)]

    assert [job.outputs[0].tolist() for job in asyncio.run(main())] == [[[2, 2]]] * 3
    assert (len(wide), len(runs)) == (2, 1)
    assert worker.pending == 0
    assert worker.close(20)


@pytest.mark.parametrize(
    "rows, sizes",
    [
        ([10, 7, 5, 4.5, 4.3, 4.2], [1, 2, 4, 8, 16]),  # each is faster, the last one hardly
        ([10, 10.1, 10, 9.9, 10, 10], [1, 2, 4]),  # two threads share four rows
        ([10, 14, 15, 16, 20, 20], [1]),
        ([10, 12, 9, 12, 8, 12], [1, 2, 4, 8, 16]),  # one that is slower may be chance
    ],
)
def test_batch_sizes_that_make_rows_no_faster_are_left_out(monkeypatch, rows, sizes):
    worker = Worker(ServedModel("m", "1", ROWS, noted([]), steady=True), max_batch_size=32)
    times = dict(zip(worker.sizes, rows))
    monkeypatch.setattr(warming.threads, "most", lambda: 2)
    monkeypatch.setattr(warming, "_timed", lambda _, size: size * times[size] * 1e-2)
    assert warming._useful(worker) == sizes
    assert worker.close(20)


def test_kinds_are_forgotten_in_the_end():
    pace = Pace()
    for number in range(2000):
        pace.note((number,), 1, 1e-4, SIZES)
    assert pace.known((0,), 1) is None
    assert pace.known((1999,), 1) == 1e-4


def test_short_runs_are_made_on_the_loop_and_requests_of_one_turn_share_them():
    runs = []
    worker = steady(noted(runs))

    async def main():
        return await asyncio.gather(*(perform(worker, [ONE * i], 1, KEY) for i in range(5)))

    jobs = asyncio.run(main())
    assert [float(job.outputs[0][0, 0]) for job in jobs] == [0, 2, 4, 6, 8]
    assert runs == [(8, threading.get_ident())]  # five rows in the plan of eight
    assert worker.pending == 0
    assert worker.statistics.answers["success"] == 5
    assert worker.close(20)


def test_shapes_that_have_not_run_go_to_the_thread():
    runs = []
    worker = steady(noted(runs), known=())
    asyncio.run(perform(worker, [ONE], 1, KEY))
    asyncio.run(perform(worker, [ONE], 1, KEY))
    assert runs[0][1] != threading.get_ident()
    assert runs[1][1] == threading.get_ident()
    assert worker.close(20)


def test_while_another_model_runs_short_ones_wait_in_the_thread_and_the_loop_goes_on():
    runs, turns = [], []
    worker = steady(noted(runs))
    taken, free = threading.Event(), threading.Event()

    def other():
        with GATE:
            taken.set()
            free.wait(20)

    holder = threading.Thread(target=other)
    holder.start()
    assert taken.wait(20)

    async def main():
        waiting = asyncio.ensure_future(perform(worker, [ONE], 1, KEY, timeout=20))
        for _ in range(5):
            await asyncio.sleep(0.001)
            turns.append(waiting.done())
        free.set()
        return await waiting

    job = asyncio.run(main())
    holder.join(20)
    assert turns == [False] * 5
    assert job.outputs[0].tolist() == [[2, 2]]
    assert runs[0][1] != threading.get_ident()
    assert worker.close(20)


def test_one_bad_item_of_a_shared_run_fails_alone_on_the_loop_too():
    worker = steady(noted([]))

    async def main():
        asked = (perform(worker, [ONE * sign], 1, KEY) for sign in (1, -1, 1))
        return await asyncio.gather(*asked, return_exceptions=True)

    good, bad, other = asyncio.run(main())
    assert good.outputs[0].tolist() == other.outputs[0].tolist() == [[2, 2]]
    assert isinstance(bad, InferenceFailed)
    assert worker.close(20)


def test_short_runs_are_refused_beyond_the_capacity_too():
    worker = steady(noted([]), capacity=3)

    async def main():
        return await asyncio.gather(*(perform(worker, [ONE], 1, KEY) for _ in range(5)), return_exceptions=True)

    results = asyncio.run(main())
    assert [isinstance(each, Overloaded) for each in results] == [False, False, False, True, True]
    assert worker.pending == 0
    assert worker.close(20)


@pytest.mark.parametrize("pauses", [0, 1, 3])
def test_a_driven_coroutine_gives_its_value_and_its_error(pauses):
    async def work(fails):
        for _ in range(pauses):
            await asyncio.sleep(0)
            await asyncio.sleep(0.001)
        if fails:
            raise ValueError("no")
        return 7

    async def main():
        loop = asyncio.get_running_loop()
        results = []
        for fails in (False, True):
            done = loop.create_future()
            Driven(loop, work(fails), lambda value, error, done=done: done.set_result((value, error)))
            results.append(await done)
        return results

    (value, none), (nothing, error) = asyncio.run(main())
    assert value == 7
    assert none is None
    assert nothing is None
    assert isinstance(error, ValueError)
