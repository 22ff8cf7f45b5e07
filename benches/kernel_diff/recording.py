"""A device that keeps every program it is asked to run, and runs none: results are zeros."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import burn
from burn import Cpu
from burn.engine.runtime import Plan, Stored
from burn.program import Program

Run = Callable[[Any], None]
"""What is recorded: it is given the device, and may compute, read, differentiate and capture on it."""

Recorded = tuple[Program, tuple[bool, ...]]
"""A program, and which of its inputs may be overwritten."""

_programs: list[Recorded] = []


class RecordingCpu(Cpu):
    """`Cpu()` up to the plan."""

    def prepare_program(self, program: Program, free: tuple[bool, ...]) -> Plan:
        """Stands in for a plan."""
        return Noted(program, free)


class Noted(Plan):
    """Notes that its program ran."""

    def __init__(self, program: Program, free: tuple[bool, ...]) -> None:
        self.recorded = (program, free)

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        """Zeros."""
        program, _ = self.recorded
        if not any(each is self.recorded for each in _programs):
            _programs.append(self.recorded)
        values = [program.values[number] for number in program.outputs]
        return [np.zeros(tuple(value.shape), value.dtype.numpy) for value in values]


def record(run: Run) -> list[Recorded]:
    """The programs of a run, in their order, each once. Runs follow each other inside of `undisturbed`."""
    gc.collect()
    _programs.clear()
    device = RecordingCpu()
    device.generator().seed(0)
    run(device)
    device.sync()
    return list(_programs)


@contextmanager
def undisturbed() -> Iterator[None]:
    """What nobody holds any more is not computed: cycles are collected between runs, at no other time."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # what is there already is not looked at again
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", burn.CaptureWarning)
            yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()
