"""All cores for the runs of an only client, as long as they are free.

A server of small models computes on one thread (`threads.py`). While its only client waits for an answer, the other
cores are idle as far as this server knows: a run that takes them all is over sooner, and finds them awake. If another
process has one of them, the threads wait for it, and a run takes many times as long. So both ways are timed as they go:
when runs on all cores take much longer than those on one, they go back to one for a while.
"""

from __future__ import annotations

from furnace.engine.batching import Run
from furnace.engine.job import Job, Key

SHARE = 0.05
"""How much of the latest time goes into an average."""
FIRST = 2.5
"""The average of runs on one thread is taken for this many times the fastest, until some have been made."""
SLOW = 1.5
"""How many times as long as on one thread is too long, on average."""
PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 4.0
"""How long runs stay on one thread: twice as long as the last time, up to this."""


class Spread:
    """Runs of one row of one key. `run` has its plans for all cores; `seconds` is what a run takes on one thread."""

    def __init__(self, run: Run, key: Key, seconds: float) -> None:
        self.run = run
        self._key = key
        self._on_one = FIRST * seconds
        self._on_all = seconds
        self._pause = PAUSE_SECONDS
        self._until = 0.0

    def takes(self, job: Job) -> bool:
        """Whether a job is to run on all cores."""
        return job.enqueued >= self._until and job.rows == 1 and job.key == self._key

    def note(self, job: Job, on_all: bool) -> None:
        """Learn from the time that a job took."""
        if not on_all:
            if job.rows == 1 and job.key == self._key:
                self._on_one += SHARE * (job.compute_seconds - self._on_one)
            return
        self._on_all += SHARE * (job.compute_seconds - self._on_all)
        if self._on_all > SLOW * self._on_one:
            self._until = job.enqueued + job.compute_seconds + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            self._on_all = self._on_one
        else:  # a pause is shorter again after some hundred runs without one
            self._pause = max(PAUSE_SECONDS, 0.99 * self._pause)
