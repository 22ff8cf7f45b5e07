"""A model's worker: a thread that takes jobs from a bounded queue, joins what may share a run, and runs it.

While a run is under way new jobs gather, so the next run is larger: batches grow with the load and a single request
never waits for company unless a delay is asked for. A job that makes a joined run fail is found by running each alone.

Waking a thread and taking its answer back costs more than a small model's run. Runs that are known to be short
(`pace.py`) are therefore made by whoever brings the jobs (`run_here`), and the thread keeps the long ones.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from threading import Condition, Lock, RLock, Thread

from furnace.engine.batching import Run, buckets, run_joined, run_rows
from furnace.engine.job import Job, Key
from furnace.engine.pace import Pace
from furnace.engine.spreading import Spread
from furnace.engine.statistics import Statistics
from furnace.engine.threads import all_cores
from furnace.errors import DeadlineExceeded, FurnaceError, InferenceFailed, Overloaded, Unready
from furnace.models.served import ServedModel

log = logging.getLogger("furnace")

GATE = RLock()
"""Runs of all models take turns: each uses every core, and two at once would only fight for them."""


class Worker:
    """Serves one model version. `submit` is called from any thread and never blocks."""

    def __init__(
        self, model: ServedModel, *, capacity: int = 256, max_batch_size: int = 32, batch_delay: float = 0.0
    ) -> None:
        self.model = model
        self.capacity = capacity
        self.statistics = Statistics()
        self.joins = model.signature.batch_symbol is not None and max_batch_size > 1
        self.sizes = buckets(max_batch_size) if self.joins else [1]
        self.batch_delay = batch_delay
        self.pace = Pace()
        self.spread: Spread | None = None
        self.pending = 0
        self._jobs: deque[Job] = deque()
        self._changed = Condition(Lock())
        self._closing = False
        self._thread = self._started()

    def submit(self, job: Job) -> None:
        """Put a job in the queue; Overloaded when it is full, Unready when the worker shuts down."""
        with self._changed:
            self._admit()
            self._jobs.append(job)
            self._changed.notify()

    def reserve(self) -> None:
        """A place in the queue for a job that `run_here` or `hand_over` will get; raises what `submit` raises."""
        with self._changed:
            self._admit()

    def hand_over(self, jobs: list[Job]) -> bool:
        """Jobs with a place to the thread; False when it takes no more."""
        with self._changed:
            if self._closing:
                return False
            self._jobs.extend(jobs)
            self._changed.notify()
            return True

    def give_back(self, outcome: str) -> None:
        """A place that is needed no more, and how it ended."""
        with self._changed:
            self.pending -= 1
        self.statistics.note_answer(outcome)

    def short_rows(self, key: Key, alone: bool = False) -> int:
        """How many rows of a key make a run that is short enough for the caller's own thread; 0 for none."""
        if not self.model.steady or self.batch_delay > 0 or self._jobs:
            return 0
        return self.pace.short_rows(key, self.sizes, alone)

    def run_alone(self, job: Job) -> bool:
        """Run the job of an only client, as `run_here` does."""
        spread = self.spread
        if spread is None:
            return self.run_here([job])
        on_all = spread.takes(job)
        if on_all:
            with all_cores():
                done = self.run_here([job], run=spread.run)
        else:
            done = self.run_here([job])
        if done:
            spread.note(job, on_all)
        return done

    def run_here(self, jobs: list[Job], wait: bool = False, run: Run | None = None) -> bool:
        """Run jobs of one key that have a place; False, with nothing done, while another model runs."""
        if not GATE.acquire(wait):
            return False
        try:
            self._attempt(jobs, run or self.model.run)
        finally:
            GATE.release()
            with self._changed:
                self.pending -= len(jobs)
        for job in jobs:
            self.statistics.note_answer(_outcome(job))
        return True

    def _admit(self) -> None:
        if self._closing:
            raise Unready(f"model {self.model.name!r} is shutting down")
        if self.pending >= self.capacity:
            self.statistics.note_answer(Overloaded.code)
            raise Overloaded(
                f"{self.pending} requests wait for model {self.model.name!r}, which is all its queue holds",
                self.wait_estimate(),
            )
        self.pending += 1

    def wait_estimate(self) -> float:
        """Seconds until the queue of now will have passed, at the pace of the latest runs; at least 1."""
        pace = self.statistics.compute.quantile(0.5) / max(1.0, self.statistics.batches.quantile(0.5))
        return max(1.0, float(round(pace * self.pending)))

    def close(self, timeout: float | None = None) -> bool:
        """Take no more jobs, finish those that wait, and end; False when they took longer than `timeout`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _started(self) -> Thread:
        thread = Thread(target=self._loop, name=f"furnace-{self.model.name}-{self.model.version}", daemon=True)
        thread.start()
        return thread

    def _loop(self) -> None:
        while True:
            jobs = self._taken()
            if jobs is None:
                return
            try:
                with GATE:
                    self._attempt(jobs, self.model.run)
            finally:
                with self._changed:
                    self.pending -= len(jobs)
                for job in jobs:
                    self._finish(job)

    def _taken(self) -> list[Job] | None:
        """The jobs of the next run; None at the end."""
        with self._changed:
            while not self._jobs:
                if self._closing:
                    return None
                self._changed.wait()
            first = self._jobs.popleft()
            if not self.joins:
                return [first]
            jobs, rows = [first], first.rows
            until = first.enqueued + self.batch_delay
            while True:
                rows = self._gather(jobs, rows)
                left = until - time.perf_counter()
                if rows >= self.sizes[-1] or left <= 0 or self._closing:
                    return jobs
                self._changed.wait(left)

    def _gather(self, jobs: list[Job], rows: int) -> int:
        """Add waiting jobs of the same key while they fit; the others keep their order."""
        kept: list[Job] = []
        key, largest = jobs[0].key, self.sizes[-1]
        while self._jobs and rows < largest:
            job = self._jobs.popleft()
            if job.key == key and rows + job.rows <= largest:
                jobs.append(job)
                rows += job.rows
            else:
                kept.append(job)
        self._jobs.extendleft(reversed(kept))
        return rows

    def _attempt(self, jobs: list[Job], run: Run) -> None:
        """Every job gets its outputs or its error, whatever the model does."""
        try:
            self._run(jobs, run)
        except BaseException as error:
            log.exception("model %s: a run failed", self.model.name)
            for job in jobs:
                if job.outputs is None and job.error is None:
                    job.error = error if isinstance(error, FurnaceError) else InferenceFailed(str(error))

    def _run(self, jobs: list[Job], run: Run) -> None:
        now = time.perf_counter()
        live, queued, rows = [], [], 0
        for job in jobs:
            job.queue_seconds = waited = now - job.enqueued
            if job.cancelled:
                job.error = DeadlineExceeded("the client has gone")
            elif job.expired(now):
                job.error = DeadlineExceeded(f"waited {waited * 1e3:.0f} ms, longer than the request allows")
            else:
                live.append(job)
                queued.append(waited)
                rows += job.rows
        if not live:
            return
        try:
            self._together(live, run)
        except Exception as error:
            if len(live) == 1:
                live[0].error = failure(error)
            else:
                self._alone(live, run)
        seconds = time.perf_counter() - now
        for job in live:
            job.compute_seconds = seconds
        self.pace.note(live[0].key, rows, seconds, self.sizes)
        self.statistics.note_run(queued, seconds, rows)

    def _together(self, jobs: list[Job], run: Run) -> None:
        if self.joins:
            run_joined(run, jobs, self.sizes)
        else:
            jobs[0].outputs = list(run(jobs[0].inputs))
            jobs[0].batch_rows = jobs[0].rows

    def _alone(self, jobs: list[Job], run: Run) -> None:
        for job in jobs:
            try:
                job.outputs = list(run_rows(run, job.inputs, job.rows, self.sizes))
                job.batch_rows = job.rows
            except Exception as error:
                job.error = failure(error)

    def _finish(self, job: Job) -> None:
        self.statistics.note_answer(_outcome(job))
        if job.done is None:
            return
        try:
            job.done(job)
        except Exception:  # the front has gone: its loop is closed
            log.debug("model %s: nobody takes an answer", self.model.name, exc_info=True)


def _outcome(job: Job) -> str:
    return job.error.code if isinstance(job.error, FurnaceError) else "success"


def failure(error: Exception) -> FurnaceError:
    """What a model raised, as the server tells it."""
    return error if isinstance(error, FurnaceError) else InferenceFailed(f"{type(error).__name__}: {error}")
