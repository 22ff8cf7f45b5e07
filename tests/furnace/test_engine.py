"""Queues, batches, deadlines and ends."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import furnace
from furnace.client.messages import ServerError
from furnace.engine.batching import batch_key, buckets, run_rows
from furnace.engine.job import Job
from furnace.engine.worker import Worker
from furnace.errors import DeadlineExceeded, InferenceFailed, Overloaded
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec

BATCHED = Signature((TensorSpec("x", "FP32", ("n", "m")),), (TensorSpec("y", "FP32", ("n", "m")),))


class Gate:
    """A model that waits until it is let go, and notes the rows of its runs."""

    def __init__(self):
        self.open = threading.Event()
        self.entered = threading.Event()
        self.runs = []

    def __call__(self, inputs):
        self.entered.set()
        assert self.open.wait(20)
        x = inputs[0]
        self.runs.append(len(x))
        if (x < 0).any():
            raise ValueError("a number is below 0")
        return [x + 1]


def worker_of(run, **options):
    return Worker(ServedModel("gate", "1", BATCHED, run), **options)


def submit(worker, rows, **options):
    done = threading.Event()
    x = np.asarray(rows, np.float32)
    job = Job([x], len(x), batch_key([x]), lambda _: done.set(), **options)
    worker.submit(job)
    return job, done


def test_buckets_end_with_the_largest():
    assert buckets(1) == [1]
    assert buckets(8) == [1, 2, 4, 8]
    assert buckets(12) == [1, 2, 4, 8, 12]


def test_rows_are_padded_to_a_bucket_and_large_requests_run_in_pieces():
    seen = []

    def run(inputs):
        seen.append(len(inputs[0]))
        return [inputs[0] * 2]

    x = np.arange(22, dtype=np.float32).reshape(11, 2)
    outputs = run_rows(run, [x], 11, [1, 2, 4])
    assert np.array_equal(outputs[0], 2 * x)
    assert seen == [4, 4, 4]


def test_waiting_requests_share_a_run_and_get_their_own_rows():
    gate = Gate()
    worker = worker_of(gate, max_batch_size=8)
    first = submit(worker, [[0.0]])
    assert gate.entered.wait(20)
    jobs = [submit(worker, [[float(i)]]) for i in range(1, 6)]
    gate.open.set()
    for _, done in [first, *jobs]:
        assert done.wait(20)
    assert [float(job.outputs[0][0, 0]) for job, _ in jobs] == [2, 3, 4, 5, 6]
    assert gate.runs == [1, 8]  # five rows in the plan of eight
    assert worker.close(20)


def test_requests_of_other_sizes_never_share_a_run():
    gate = Gate()
    worker = worker_of(gate, max_batch_size=8)
    first = submit(worker, [[0.0]])
    assert gate.entered.wait(20)
    wide, narrow = submit(worker, [[1.0, 2.0]]), submit(worker, [[3.0]])
    gate.open.set()
    for _, done in (first, wide, narrow):
        assert done.wait(20)
    assert wide[0].outputs[0].tolist() == [[2.0, 3.0]]
    assert narrow[0].outputs[0].tolist() == [[4.0]]
    assert worker.close(20)


def test_one_bad_item_does_not_fail_its_neighbours():
    gate = Gate()
    worker = worker_of(gate, max_batch_size=4)
    first = submit(worker, [[0.0]])
    assert gate.entered.wait(20)
    good, bad = submit(worker, [[1.0]]), submit(worker, [[-1.0]])
    gate.open.set()
    for _, done in (first, good, bad):
        assert done.wait(20)
    assert good[0].outputs[0].tolist() == [[2.0]]
    assert isinstance(bad[0].error, InferenceFailed)
    assert "below 0" in str(bad[0].error)
    assert worker.close(20)


def test_a_full_queue_refuses_and_says_when_to_come_again():
    gate = Gate()
    worker = worker_of(gate, capacity=2)
    jobs = [submit(worker, [[0.0]])]
    assert gate.entered.wait(20)
    jobs.append(submit(worker, [[1.0]]))
    with pytest.raises(Overloaded) as caught:
        submit(worker, [[2.0]])
    assert caught.value.retry_after >= 1
    gate.open.set()
    assert all(done.wait(20) for _, done in jobs)
    assert worker.close(20)


def test_jobs_past_their_deadline_do_not_run():
    gate = Gate()
    worker = worker_of(gate, max_batch_size=1)
    first = submit(worker, [[0.0]])
    assert gate.entered.wait(20)
    late = submit(worker, [[1.0]], deadline=time.perf_counter() - 1)
    gone = submit(worker, [[2.0]])
    gone[0].cancelled = True
    gate.open.set()
    for _, done in (first, late, gone):
        assert done.wait(20)
    assert isinstance(late[0].error, DeadlineExceeded)
    assert isinstance(gone[0].error, DeadlineExceeded)
    assert gate.runs == [1]
    assert worker.close(20)


def test_closing_answers_what_was_taken():
    gate = Gate()
    worker = worker_of(gate, max_batch_size=1)
    jobs = [submit(worker, [[float(i)]]) for i in range(4)]
    threading.Timer(0.05, gate.open.set).start()
    assert worker.close(20)
    assert [job.outputs[0].tolist() for job, _ in jobs] == [[[i + 1.0]] for i in range(4)]


def test_a_model_whose_rows_depend_on_each_other_is_never_batched():
    mixing = ServedModel("mean", "1", BATCHED, lambda inputs: [inputs[0] - inputs[0].mean(0)])
    with furnace.TestServer(mixing) as server:
        info = server.client().info()
        assert info["batching"]["enabled"] is False
        assert server.client().infer({"x": np.array([[1.0], [3.0]], np.float32)})["y"].tolist() == [[-1.0], [1.0]]


def test_a_request_that_waits_too_long_is_told_so():
    gate = Gate()
    gate.open.set()
    with furnace.TestServer(ServedModel("gate", "1", BATCHED, gate)) as server:
        gate.open.clear()
        with pytest.raises(ServerError, match="within 50 ms") as caught:
            server.client().infer({"x": np.zeros((1, 1), np.float32)}, timeout=0.05)
        assert caught.value.status == 504
        gate.open.set()


def test_overload_over_http_is_503_with_retry_after():
    gate = Gate()
    gate.open.set()
    with furnace.TestServer(ServedModel("gate", "1", BATCHED, gate), max_concurrent_requests=1) as server:
        gate.open.clear()
        gate.entered.clear()
        results = []
        x = {"x": np.zeros((1, 1), np.float32)}
        held = threading.Thread(target=lambda: results.append(server.client().infer(x, model="gate")))
        held.start()
        assert gate.entered.wait(20)
        with pytest.raises(ServerError, match="all its queue holds") as caught:
            server.client().infer(x, model="gate")
        assert caught.value.status == 503
        gate.open.set()
        held.join(20)
        assert results[0]["y"].tolist() == [[1.0]]
