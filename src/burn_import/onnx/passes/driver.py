"""Passes and the driver that runs them: named steps that say what they need, what they establish, and whether they
changed anything.

    pipeline = Driver([Sort(), Inline(), Lift(), Repeat("clean", [Fold(), Dead()])], verify=True)
    report = pipeline.run(model)

Facts are words in `model.properties`: "sorted", "inlined", "lifted", "typed". A pass that needs a fact which no pass
before it established is an error of the pipeline, found before the first pass runs. A pass that fails is named in the
error together with those that ran before it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field

from burn.classes import dataclass
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.verifier import verify as check


class Pass:
    """One step. A subclass sets the class attributes and writes `run`, which gives whether it changed the model."""

    name: str = ""
    requires: frozenset[str] = frozenset()
    ensures: frozenset[str] = frozenset()
    breaks: frozenset[str] = frozenset()  # facts that no longer hold when the pass changed something

    def run(self, model: Model) -> bool:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Step:
    """What one run of a pass did."""

    name: str
    changed: bool
    seconds: float
    nodes: int


@dataclass(slots=True)
class Report:
    """What a pipeline did, step by step."""

    steps: list[Step] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return any(step.changed for step in self.steps)

    def __str__(self) -> str:
        width = max((len(step.name) for step in self.steps), default=0)
        return "\n".join(
            f"{step.name:{width}}  {step.seconds * 1e3:8.1f} ms  {step.nodes:6} nodes"
            + ("" if step.changed else "  (same)")
            for step in self.steps
        )


class Repeat(Pass):
    """Several passes over and over until none of them changes anything, `limit` times at the most."""

    def __init__(self, name: str, passes: Sequence[Pass], limit: int = 10) -> None:
        self.name = name
        self.passes = tuple(passes)
        self.limit = limit
        have: set[str] = set()
        need: set[str] = set()
        for each in self.passes:
            need |= each.requires - have
            have |= each.ensures
        self.requires, self.ensures = frozenset(need), frozenset(have)

    def run(self, model: Model) -> bool:
        raise AssertionError("the driver runs the passes inside")


class Driver:
    """Runs passes in order. `verify=True` checks the laws of the graph after each one."""

    def __init__(self, passes: Sequence[Pass], *, verify: bool = False) -> None:
        self.passes = tuple(passes)
        self.verify = verify

    def run(self, model: Model) -> Report:
        self._check(set(model.properties))
        report = Report()
        for each in self.passes:
            if isinstance(each, Repeat):
                for _ in range(each.limit):
                    changed = [self._step(inner, model, report) for inner in each.passes]
                    if not any(changed):
                        break
            else:
                self._step(each, model, report)
        return report

    def _check(self, facts: set[str]) -> None:
        for each in self.passes:
            missing = each.requires - facts
            if missing:
                raise OnnxError("run", [f"pass {each.name!r} needs {sorted(missing)}; no pass before it ensures that"])
            facts |= each.ensures

    def _step(self, each: Pass, model: Model, report: Report) -> bool:
        start = time.perf_counter()
        try:
            changed = each.run(model)
        except OnnxError:
            raise
        except Exception as error:
            before = ", ".join(step.name for step in report.steps) or "nothing"
            error.add_note(f"in pass {each.name!r} of the ONNX importer, after {before}")
            raise
        if changed:
            model.properties -= each.breaks
        model.properties |= each.ensures
        seconds = time.perf_counter() - start
        last = report.steps[-1].nodes if report.steps and not changed else None
        nodes = sum(len(graph) for graph in model.graphs()) if last is None else last
        report.steps.append(Step(each.name, changed, seconds, nodes))
        if self.verify:
            try:
                check(model)
            except OnnxError as error:
                raise OnnxError(f"pass {each.name!r} broke the graph", error.faults) from None
        return changed
