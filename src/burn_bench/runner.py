"""The runner: engines in their processes, asked in turns.

For each benchmark every engine prepares and has its result checked; then the blocks follow, in one
order and in the other by turns. Our engines that have a target run a second time in a copy of
their process: what the two differ by is the noise of this run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from burn.version import __version__
from burn_bench import machine
from burn_bench.benchmark import Benchmark
from burn_bench.engines import Engine, environment
from burn_bench.process import Process, WorkerError, of_engine
from burn_bench.results import Measurement, Outcome, Run
from burn_bench.worker import REFERENCE

SUITE = "burn_bench.suite"
AGAIN = " again"
"""Ends the label of a copy."""

SHORTEST_BATCH = 1e-3
MOST_SAMPLES = 100
GLANCE = 0.2
QUIET = 0.1
"""A machine that is busy for less than this share of its time counts as quiet."""


@dataclass(frozen=True)
class Plan:
    """How to measure: blocks of about `seconds` each, and how long an engine may take for an answer.

    `wait` is how long the whole run may wait for a machine that others keep busy, and repeat what they disturbed.
    """

    blocks: int = 7
    seconds: float = 0.3
    threads: int = 2
    patience: float = 300.0
    suite: str = SUITE
    copies: bool = True
    keep_memory: bool = False
    tune: str = "remembered"
    wait: float = 0.0


@dataclass
class Pace:
    """What a block of one engine consists of: `samples` batches of `batch` calls, after `settle` calls."""

    samples: int
    batch: int
    settle: int

    @staticmethod
    def of(seconds: float, block: float) -> Pace:
        """The pace at which calls of `seconds` fill a block."""
        call = max(seconds, 1e-7)
        batch = max(1, round(SHORTEST_BATCH / call))
        samples = min(MOST_SAMPLES, max(1, round(block / (batch * call))))
        # The caches of the core were somebody else's; a call that is long compared with them needs no rehearsal.
        settle = max(1, round(0.1 * block / call)) if call < 1.0 else 0
        return Pace(samples, batch, min(settle, 500))


def order(names: Sequence[str], block: int) -> list[str]:
    """Who comes when in a block: even blocks forwards, odd ones backwards."""
    return list(names) if block % 2 == 0 else list(reversed(names))


@dataclass
class Team:
    """The processes of a run, started when first needed and replaced when they have ended."""

    plan: Plan
    folder: Path
    processes: dict[str, Process] = field(default_factory=dict)

    def process(self, engine: Engine, label: str) -> Process:
        """The process under a label."""
        found = self.processes.get(label)
        if found is not None and not found.is_alive:
            found.close()
            found = None
        if found is None:
            plan = self.plan
            changed = environment(engine, plan.threads, plan.keep_memory, plan.tune)
            found = of_engine(engine, changed, threads=plan.threads, folder=self.folder, suite=plan.suite, label=label)
            self.processes[label] = found
        return found

    def close(self) -> None:
        """End them all."""
        for each in self.processes.values():
            each.close()


@contextmanager
def team(plan: Plan) -> Iterator[Team]:
    """Processes and their folder, both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="burn-bench-") as folder:
        found = Team(plan, Path(folder))
        try:
            yield found
        finally:
            found.close()


class Runner:
    """Measures benchmarks with the engines that are here."""

    def __init__(self, plan: Plan, engines: Sequence[Engine], quiet: bool = False) -> None:
        self.plan = plan
        self.engines = list(engines)
        self.quiet = quiet
        self._waited = 0.0

    def run(self, benchmarks: Sequence[Benchmark], seen: Callable[[Run], None] = lambda run: None) -> Run:
        """Measure them all; `seen` is told after each, when the outcome is the run's last."""
        watch, before = machine.Watch(), machine.own_time()
        result = Run(
            date=machine.now(),
            commit=machine.commit(),
            version=__version__,
            machine=machine.describe(self.plan.threads),
            settings=asdict(self.plan),
            ours=[each.name for each in self.engines if each.is_ours],
            versions={each.name: each.absent() or each.version() for each in self.engines},
        )
        with team(self.plan) as running:
            for number, benchmark in enumerate(benchmarks, 1):
                self._tell(f"[{number}/{len(benchmarks)}] {benchmark.title}")
                result.outcomes.append(self._measure(benchmark, running))
                self._tell("")
                seen(result)
        result.disturbance = watch.disturbance(machine.own_time() - before)._asdict()
        return result

    def _measure(self, benchmark: Benchmark, running: Team) -> Outcome:
        outcome = Outcome(
            benchmark.name, benchmark.shapes, benchmark.title, benchmark.summary, benchmark.traffic,
            list(benchmark.targets),
        )  # fmt: skip
        answer = self._ask(running, REFERENCE, REFERENCE.name, do="reference", benchmark=benchmark.title)
        if "failure" in answer:
            outcome.failure = f"no reference: {answer['failure']}"
            return outcome
        ready: dict[str, tuple[Engine, Pace]] = {}
        for engine in self.engines:
            if engine.family not in benchmark.builders:
                continue
            absent = engine.absent()
            if absent:
                outcome.engines[engine.name] = Measurement(failure=absent, kind="absent")
                continue
            pace = self._prepare(benchmark, running, engine, engine.name, outcome)
            if pace is not None:
                ready[engine.name] = engine, pace
        if self.plan.copies:
            for name in subjects(benchmark, [each for each in ready if ready[each][0].is_ours]):
                engine = ready[name][0]
                pace = self._prepare(benchmark, running, engine, name + AGAIN, outcome)
                if pace is not None:
                    ready[name + AGAIN] = engine, pace
        self._blocks(running, ready, outcome)
        for label, (engine, _) in ready.items():
            self._ask(running, engine, label, do="forget")
        return outcome

    def _prepare(
        self, benchmark: Benchmark, running: Team, engine: Engine, label: str, outcome: Outcome
    ) -> Pace | None:
        answer = self._ask(running, engine, label, do="prepare", benchmark=benchmark.title)
        if label == engine.name:
            outcome.engines[label] = Measurement(
                error=answer.get("error", 0.0),
                notes=answer.get("notes", []),
                failure=answer.get("failure", ""),
                kind=answer.get("kind", ""),
            )
        return None if "failure" in answer else Pace.of(answer["seconds"], self.plan.seconds)

    def _blocks(self, running: Team, ready: dict[str, tuple[Engine, Pace]], outcome: Outcome) -> None:
        answers: dict[str, list[dict[str, Any]]] = {label: [] for label in ready}
        disturbances: list[float] = []
        while len(disturbances) < self.plan.blocks and ready:
            self._await_quiet()
            start = time.monotonic()
            found, disturbance = self._round(running, ready, len(disturbances), outcome)
            if disturbance > QUIET and self._waited < self.plan.wait:
                self._waited += time.monotonic() - start
                continue
            disturbances.append(disturbance)
            for label, answer in found.items():
                answers[label].append(answer)
        outcome.others = statistics.fmean(disturbances) if disturbances else 0.0
        for label in ready:
            times = [statistics.median(each["times"]) for each in answers[label]]
            if label.endswith(AGAIN):
                outcome.again[label.removesuffix(AGAIN)] = times
            else:
                outcome.engines[label].times = times
                outcome.engines[label].faults = statistics.median(each["faults"] for each in answers[label])

    def _round(
        self, running: Team, ready: dict[str, tuple[Engine, Pace]], block: int, outcome: Outcome
    ) -> tuple[dict[str, dict[str, Any]], float]:
        """One block of everybody, and the share of the machine that others took meanwhile."""
        found = {}
        watch, own = machine.Watch(), 0.0
        for label in order(list(ready), block):
            engine, pace = ready[label]
            answer = self._ask(running, engine, label, do="block", **asdict(pace))
            if "failure" in answer:
                del ready[label]
                if label in outcome.engines:
                    failed = outcome.engines[label]
                    failed.failure, failed.kind = answer["failure"], answer["kind"]
                continue
            own += answer["own"]
            found[label] = answer
        return found, watch.disturbance(own).others

    def _await_quiet(self) -> None:
        """Wait while others are busy; our own processes are all stopped now."""
        while self._waited < self.plan.wait and machine.busy_share(GLANCE) > QUIET:
            self._tell(None, "waiting for a quiet machine")
            time.sleep(1.0)
            self._waited += 1.0 + GLANCE

    def _ask(self, running: Team, engine: Engine, label: str, **message: object) -> dict[str, Any]:
        self._tell(None, f"{message['do']} {label}")
        try:
            return running.process(engine, label).ask(self.plan.patience, **message)
        except WorkerError as error:
            return {"failure": str(error), "kind": "failed"}

    _line = ""

    def _tell(self, line: str | None, detail: str = "") -> None:
        """Show on a terminal what is going on, in one line that is written over."""
        if self.quiet or not sys.stderr.isatty():
            return
        if line is not None:
            self._line = line
        shown = f"{self._line}  {detail}"[:150] if self._line else ""
        print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)


def subjects(benchmark: Benchmark, ours: Sequence[str]) -> list[str]:
    """Our engines that are compared with themselves: those with a target, else the first."""
    targeted = {target.subject for target in benchmark.targets}
    found = [name for name in ours if name in targeted]
    return found or list(ours[:1])
