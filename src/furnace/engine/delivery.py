"""Between an event loop and a worker: jobs out, answers back, with as few wake-ups as there can be.

Jobs of short runs gather while the loop reads its sockets, and run together on the loop's own thread as soon as it has
read them all (`Gathering`); the job of an only client runs at once. All others go to the worker's thread; what it has
finished comes back in one wake-up for many answers (`Mailbox`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from furnace.datatypes import Array
from furnace.engine.caller import Caller
from furnace.engine.job import Job, Key
from furnace.engine.worker import Worker
from furnace.errors import DeadlineExceeded


class Mailbox:
    """Finished jobs on their way to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._finished: deque[Ticket] = deque()
        self._called = False
        self._gatherings: WeakKeyDictionary[Worker, Gathering] = WeakKeyDictionary()

    def gathering(self, worker: Worker) -> Gathering:
        """Where jobs of a worker's short runs meet."""
        found = self._gatherings.get(worker)
        if found is None:
            found = self._gatherings[worker] = Gathering(self.loop)
        return found

    def put(self, ticket: Ticket) -> None:
        """From any thread."""
        self._finished.append(ticket)
        if not self._called:
            self._called = True
            self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._called = False
        while self._finished:
            self._finished.popleft().deliver()


class Ticket:
    """A job, the future of whoever waits for it, and the way between them."""

    __slots__ = ("future", "job", "mailbox", "timeout", "timer", "worker")

    def __init__(self, worker: Worker, mailbox: Mailbox, job: Job, timeout: float | None) -> None:
        self.worker = worker
        self.mailbox = mailbox
        self.future: asyncio.Future[Job] = mailbox.loop.create_future()
        self.timeout = timeout
        self.timer: asyncio.TimerHandle | None = None
        self.job = job
        job.done = self._done

    def watch(self) -> None:
        """Expire in time, wherever the job is then."""
        if self.timeout is not None:
            self.timer = self.mailbox.loop.call_later(self.timeout, self.expire)

    def _done(self, _: Job) -> None:
        self.mailbox.put(self)

    def deliver(self) -> None:
        """On the loop: what the job came to."""
        if self.future.done():
            return
        if self.job.error is not None:
            self.future.set_exception(self.job.error)
        else:
            self.future.set_result(self.job)

    def expire(self) -> None:
        """The request's time is over."""
        self._stop(f"no result within {(self.timeout or 0) * 1e3:.0f} ms, the time the request allows")

    def leave(self) -> None:
        """The client has gone."""
        self._stop("the client has gone")

    def _stop(self, why: str) -> None:
        self.job.cancelled = True
        if not self.future.done():
            self.future.set_exception(DeadlineExceeded(why))


class Gathering:
    """Jobs of short runs that came in one turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tickets: deque[Ticket] = deque()

    def add(self, ticket: Ticket) -> None:
        """Run this one with the others, when the loop has read what there is to read."""
        self._tickets.append(ticket)
        if len(self._tickets) == 1:
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        """One run; the loop gets its turn before the next."""
        tickets = self._taken()
        worker, jobs = tickets[0].worker, [each.job for each in tickets]
        done = worker.run_here(jobs) or (not worker.hand_over(jobs) and worker.run_here(jobs, wait=True))
        for each in tickets:
            if done:
                each.deliver()
            else:
                each.watch()
        if self._tickets:
            self._loop.call_soon(self._run)

    def _taken(self) -> list[Ticket]:
        first = self._tickets.popleft()
        taken, rows = [first], first.job.rows
        if not first.worker.joins:
            return taken
        key = first.job.key
        most = first.worker.pace.short_rows(key, first.worker.sizes)
        while self._tickets and self._tickets[0].job.key == key and rows + self._tickets[0].job.rows <= most:
            taken.append(self._tickets.popleft())
            rows += taken[-1].job.rows
        return taken


_MAILBOXES: WeakKeyDictionary[asyncio.AbstractEventLoop, Mailbox] = WeakKeyDictionary()


def _mailbox() -> Mailbox:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    found = _MAILBOXES.get(loop)
    if found is None:
        found = _MAILBOXES[loop] = Mailbox(loop)
    return found


async def perform(
    worker: Worker,
    inputs: Sequence[Array | None],
    rows: int,
    key: Key,
    *,
    timeout: float | None = None,
    caller: Caller | None = None,
) -> Job:
    """Submit a job and wait for it. The client's leaving and the timeout cancel it while it still waits."""
    job = Job(inputs, rows, key)
    if timeout is not None:
        job.deadline = job.enqueued + timeout
    alone = caller is not None and caller.alone
    short = rows <= worker.short_rows(key, alone)
    if short:
        worker.reserve()
        if alone and worker.run_alone(job):
            if job.error is not None:
                raise job.error
            return job
    mailbox = _mailbox()
    ticket = Ticket(worker, mailbox, job, timeout)
    if caller is not None:
        caller.when_gone(ticket.leave)
    if short:
        mailbox.gathering(worker).add(ticket)
    else:
        worker.submit(job)
        ticket.watch()
    try:
        return await ticket.future
    except asyncio.CancelledError:  # whoever waited has been told to stop
        job.cancelled = True
        raise
    finally:
        if ticket.timer is not None:
            ticket.timer.cancel()
