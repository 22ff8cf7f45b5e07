"""What running needs: plans, runs of them, and the device that makes both.

`Fusion` and captured functions know these classes and nothing else of a device:

- an `Engine` is a device that takes whole programs. It has a `Target`, makes plans, and moves memory;
- a `Plan` is a program made ready; calling it runs it;
- a `Loop` is the body of a loop made ready to run for all steps, on an engine that can;
- a `BoundPlan` also hands out a `Run`: memory that stays bound from call to call, for one caller at a time.

A handle is what an engine computes with: it has a `shape` and a `dtype`, can be weakly referenced, and its memory is
given back when nobody holds it any more.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from burn.device import Device
from burn.engine.target import Target
from burn.program.interpreter import interpreted
from burn.symbolic import Sizes

if TYPE_CHECKING:
    from burn.dtype import DType
    from burn.program.program import Program


class Stored(Protocol):
    """An input of a plan: a handle of the device, as `value`."""

    value: Any


class _Held:
    """A handle as an input of a plan."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Plan(ABC):
    """A program made ready to run again and again. Several threads may call it at once."""

    distinct = False
    """Whether every result is memory of its own, made for it: no two share any, and none shares it with an input."""

    @abstractmethod
    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        """The outputs of the program, from its inputs and its run-time numbers."""

    def release(self) -> None:  # noqa: B027
        """Give back the memory that waits for the next call."""

    def tune(self, again: bool = False, progress: Any = None) -> Any:
        """Measure which kernels are best: a report, or None where there is nothing to choose."""
        return None

    def describe(self) -> str:
        """The steps, a line each; nothing where there are none to tell."""
        return ""


@runtime_checkable
class AnySize(Protocol):
    """A plan that can be bound to other sizes, where it was made for sizes that may be any."""

    def at(self, sizes: Sizes) -> Plan:
        """The same plan for numbers in their place."""


class NodeByNode(Plan):
    """A plan that calls one kernel of a device for each node."""

    def __init__(self, program: Program, device: Device) -> None:
        self._run = interpreted(program, device)

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        return self._run(inputs, scalars)


class Refused(Plan):
    """What stands for a plan that could not be made: calling it raises the reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        raise self._error


Launch = Callable[[list[Any]], "list[Any] | None"]
"""Runs once more, with these handles for the inputs that change: the outputs, or None where the run before was of
another kind, and then nothing has happened."""


class Holder(Protocol):
    """Keeps a run between calls, and can do without."""

    def let_go(self) -> None:
        """Forget the run; a call that uses it goes on."""


class Run(ABC):
    """Memory of a plan for one caller at a time: what was bound stays bound until it is bound anew."""

    holder: weakref.ref[Holder] | None = None
    """Who has taken it for good."""
    distinct: bool
    """As the plan's."""
    watched: frozenset[int] = frozenset()
    """Inputs whose identity tells which steps may be skipped; run-time numbers are -1 - slot."""
    steady: bool = False
    """Whether the last run took the steps of the one before it."""

    @abstractmethod
    def bind(self, number: int, value: Any) -> None:
        """Say which handle an input is. It must live until the run has ended."""

    @abstractmethod
    def run_bound(self, inputs: Any, scalars: list[Any], changed: list[int]) -> list[Any]:
        """Run with the inputs of the run before, except those that `changed`, which the caller has bound.

        Where results are `distinct`, `inputs` need only have, by number, those that changed and, unless the
        run `is_steady`, those that are watched.
        """

    def is_current(self) -> bool:
        """Whether it may still run: its plan would be made the same way now."""
        return True

    def is_steady(self, changed: list[int]) -> bool:
        """Whether a run in which only these inputs changed takes the steps of the run before."""
        return self.steady and self.watched.isdisjoint(changed)

    def launcher(self, changing: list[int]) -> Launch | None:
        """The shortest way to run as the last time, but for inputs that are `changing`; None where there is none."""
        return None


class Loop(ABC):
    """The body of a loop, and its condition where it has one, made ready to run again and again."""

    @abstractmethod
    def refusal(self) -> str:
        """Why each step has to be run by itself; empty if the engine runs the loop."""

    @abstractmethod
    def describe(self) -> str:
        """The steps of one turn, a line each."""

    @abstractmethod
    def scan(
        self, carries: Sequence[Any], xs: Sequence[Any], constants: Sequence[Any], length: int, reverse: bool
    ) -> list[Any]:
        """The results of the row `scan`, each in memory of its own."""

    @abstractmethod
    def while_loop(self, carries: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """The results of the row `while_loop`, each in memory of its own."""


class BoundPlan(Plan):
    """A plan that keeps memory, and what was bound to it, from run to run."""

    @abstractmethod
    def take(self) -> Run:
        """Memory for a run, for the calling thread alone."""


Fixed = Callable[[Sequence[Any]], list[Any]]
"""A program of which some inputs never change, made ready: from handles for the other inputs, in order, the outputs."""


def with_constants(plan: Plan, program: Program, constants: Mapping[int, Any], numbers: Sequence[float]) -> Fixed:
    """What runs the plan of a program with inputs and run-time numbers that never change."""
    held = [_Held(constants[number]) if number in constants else None for number in range(program.inputs)]
    scalars = list(numbers)

    def run(given: Sequence[Any]) -> list[Any]:
        others = iter(given)
        return plan([_Held(next(others)) if each is None else each for each in held], scalars)

    return run


class Engine(Device):
    """A device that takes whole programs."""

    host_memory: ClassVar[bool] = False
    """Whether its handles are NumPy arrays, and any contiguous array can be one."""

    @property
    def target(self) -> Target:
        """What its kernels are written for; one that tells nothing keeps no composite."""
        return Target(self.label)

    def prepare_program(self, program: Program, free: tuple[bool, ...]) -> Plan:
        """The plan of a program; `free` tells which inputs may be overwritten."""
        raise NotImplementedError

    def prepare_fixed(self, program: Program, constants: Mapping[int, Any], numbers: Sequence[float] = ()) -> Fixed:
        """What runs a program whose inputs in `constants`, by number, never change, and whose run-time numbers neither.

        Nobody writes to the handles of constants, which may be given up once what is made of them is there. Inputs may
        have sizes that stand for several: for handles of other sizes the callable raises a `DoesNotFit`, and where
        there can be no such callable this raises a `NotForSizes`.
        """
        return with_constants(self.prepare_program(program, (False,) * program.inputs), program, constants, numbers)

    def prepare_loop(
        self, body: Program, carried: int, scanned: int = 0, condition: Program | None = None
    ) -> Loop | None:
        """What runs a loop of so many carried values and elements; None where the engine knows no loops."""
        return None

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """A handle over memory that nobody has written to."""
        raise NotImplementedError

    def settled(self, handle: Any) -> Any:
        """A handle of the device as plans expect it: row-major, without gaps."""
        return handle

    def fused_name(self) -> str:
        """What `Fusion` around this device is called: how users write the device that records."""
        return f"Fusion({self!r})"
