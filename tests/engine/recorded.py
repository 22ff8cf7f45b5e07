"""Programs as plans get them, with what they were run on: recorded while tensors are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import burn
from burn import Tensor
from burn.backend.cpu.device import Cpu
from burn.control.tracing import Region
from burn.dtype import dtype
from burn.engine.runtime import Plan, Stored
from burn.program import Program

Array = np.ndarray[Any, Any]


@dataclass
class Recorded:
    """A program, and copies of what it was run on."""

    program: Program
    inputs: list[Array]
    scalars: list[Any]


class Recording(Plan):
    """A plan that notes what it is given before it runs it."""

    def __init__(self, plan: Plan, program: Program, found: list[Recorded]) -> None:
        self.plan, self.program, self.found = plan, program, found

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        self.found.append(Recorded(self.program, [np.array(each.value) for each in inputs], list(scalars)))
        return self.plan(inputs, scalars)


@contextmanager
def recording() -> Iterator[list[Recorded]]:
    """The programs that new plans run inside of the block."""
    found: list[Recorded] = []
    prepare = Cpu.prepare_program
    with pytest.MonkeyPatch.context() as patch:

        def prepare_program(self: Cpu, program: Program, free: tuple[bool, ...]) -> Plan:
            return Recording(prepare(self, program, free), program, found)

        patch.setattr(Cpu, "prepare_program", prepare_program)
        yield found


def traced(function: Any, *inputs: tuple[tuple[Any, ...], str]) -> Program:
    """The program of a function of tensors with these shapes, whose sizes may be named ones, and dtypes."""
    device: Any = burn.Cpu()
    region = Region(device, "traced")
    with region.recording():
        handles = [region.placeholder(shape, dtype(kind)) for shape, kind in inputs]
        made = function(*(Tensor(each, device, each.dtype, each.shape) for each in handles))
        results = [each.handle for each in (made if isinstance(made, tuple) else (made,))]
    return region.part(results, handles)
