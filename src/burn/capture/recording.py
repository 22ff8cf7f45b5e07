"""Recording: a function runs as usual, and what it did becomes a capture, or a reason why it cannot."""

from __future__ import annotations

import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from burn.backend.autodiff import Autodiff
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import Draw, Stream
from burn.capture.call import After, Call, Part
from burn.capture.guards import Guards
from burn.capture.leaves import carries_graph, detached, layers_above, lazy_handle
from burn.capture.looks import same_atom
from burn.capture.numbers import Numbers
from burn.capture.trust import Ignore, where
from burn.capture.watching import Watch
from burn.engine.runtime import AnySize, Plan
from burn.program import Program
from burn.program.composites import slot_values
from burn.scalar import Family, Scalar
from burn.symbolic import Sizes
from burn.tensor import Tensor
from burn.tree import opaque_values

_counting = threading.Lock()
_depth = threading.local()


class Capture:
    """One recording: the program, where its inputs and numbers come from, and how to make what it left behind."""

    def __init__(
        self,
        device: Fusion[Any],
        program: Program,
        sources: list[int],
        scalars: list[Any],
        number_positions: list[int],
        parts: list[Part],
        templates: list[Template],
        values: list[float],
        guards: Guards,
    ) -> None:
        self.device, self.program, self.sources, self.scalars = device, program, sources, scalars
        self.number_positions = number_positions  # the leaves that are run-time numbers
        self.parts, self.templates = parts, templates
        self.values = values  # what these numbers were
        self.fixed = set(range(len(values)))
        """Which of the numbers hold for one value: those that were read, and those that never had another one."""
        self.guards = guards
        self._plan: Plan | None = None
        self.donated: list[int] = []
        self.idle: deque[Any] = deque()  # replays that nobody runs at the moment

    def prepare(self, donated: tuple[bool, ...]) -> None:
        """Make it ready to run."""
        self.donated = [source for source, given in zip(self.sources, donated, strict=True) if given]
        self._plan = self.device.prepare(self.program, donated)
        self._count_numbers()

    def _count_numbers(self) -> None:
        results = [template.value for template in self.templates if template.what == "number"]
        self.numbers = Numbers(self.device, len(self.number_positions), self.scalars, results)

    def bind_plan(self, sizes: Sizes) -> None:
        """Take the plan for numbers in the place of sizes that may be any; the program is for these numbers already."""
        self._count_numbers()
        plan = self.plan
        if isinstance(plan, AnySize):
            self._plan = plan.at(sizes)
        else:
            self._plan = self.device.prepare(self.program, tuple(source in self.donated for source in self.sources))

    @property
    def is_ready(self) -> bool:
        """Whether it can run: after `prepare`."""
        return self._plan is not None

    @property
    def plan(self) -> Plan:
        """What its calls run."""
        assert self._plan is not None
        return self._plan

    def same_as(self, other: Capture) -> str | None:
        """None if two recordings agree, else what differs: its computations of numbers must give ours."""
        if self.program.identity() != other.program.identity() or self.sources != other.sources:
            return "two calls recorded different operations"
        if self.parts != other.parts:
            return "two calls gave results of different structure"
        for mine, theirs in zip(self.scalars, other.scalars, strict=True):
            if not self._agree(mine, theirs, other):
                now, before = getattr(theirs, "value", theirs), getattr(mine, "value", mine)
                return f"the number {now!r} was {before!r} in the call before: a clock, a counter or randomness"
        for one, two in zip(self.templates, other.templates, strict=True):
            if one.is_number and two.is_number:
                if not self._agree(one.value, two.value, other):
                    return f"a result was {one} in one call and {two} in the next"
            elif one.identity() != two.identity():
                return f"a result was {one} in one call and {two} in the next"
        return None

    def _agree(self, mine: Any, theirs: Any, other: Capture) -> bool:
        """Whether a number of this recording and one of another are the same computation, as far as it shows."""
        if isinstance(mine, Scalar) and isinstance(theirs, Scalar):
            return bool(mine.identity() == theirs.identity())
        if isinstance(mine, Draw) or isinstance(theirs, Draw):
            return bool(_literal(mine) == _literal(theirs))
        try:
            if isinstance(theirs, Scalar):
                theirs = theirs.evaluate(self.values)
            elif isinstance(mine, Scalar):
                mine = mine.evaluate(other.values)
        except (ArithmeticError, ValueError):
            return False
        return same_atom(mine, theirs)

    def changed_numbers(self, values: list[float]) -> set[int]:
        """Which of the numbers are others than in this recording."""
        return {i for i, (one, other) in enumerate(zip(self.values, values, strict=True)) if not same_atom(one, other)}

    def takes(self, values: list[float], fixed: Collection[int]) -> bool:
        """Whether these numbers are what they were, as far as they are fixed."""
        mine = self.values
        return all(mine[each] is values[each] or same_atom(mine[each], values[each]) for each in fixed)


def _literal(scalar: Any) -> Any:
    if not isinstance(scalar, Draw):
        return scalar
    return (scalar.what, scalar.count, scalar.value if scalar.what == "fixed" else None)


class Template:
    """How a leaf that a call made is made again: `what` is one of output, input, argument, number, literal, same."""

    __slots__ = ("device", "layers", "tracked", "value", "what")

    def __init__(self, what: str, value: Any, device: Any = None, tracked: bool = False) -> None:
        self.what, self.value, self.device, self.tracked = what, value, device, tracked
        self.layers = 0 if device is None else layers_above(device)

    @property
    def is_number(self) -> bool:
        """Whether it is a number: a literal, or computed at every call."""
        return self.what in ("literal", "number")

    def identity(self) -> Any:
        """It in plain data: equal for equal recordings."""
        return (self.what, self.value, self.device, self.tracked)

    def __repr__(self) -> str:
        return f"{self.what} {getattr(self.value, 'value', self.value)}"


class Recording:
    """A function being recorded: what it did that a replay could not do."""

    active = 0
    """How many functions are being recorded, in all threads."""

    def __init__(
        self,
        device: Fusion[Any],
        call: Call,
        by_value: Collection[int] | None,
        ignore: Ignore,
        leaves: list[Any] | None = None,
    ) -> None:
        self.device, self.call = device, call
        self.reason = ""
        self.stream: Stream = device.stream
        self.numbers = call.number_positions()
        self.values = call.numbers()
        if by_value is None:  # the numbers that stay plain floats
            by_value = range(len(self.numbers))
        self.read: dict[int, str] = {}
        self.is_final = True
        """Whether calls of this kind can never be replayed."""
        self.leaves = list(call.leaves if leaves is None else leaves)
        self.family = Family(self.note_read)
        for index, position in enumerate(self.numbers):
            if index not in by_value:
                self.leaves[position] = Scalar(call.leaves[position], index, family=self.family)
        self.watch = Watch(ignore, call, self.family)
        self.seed = device.generator().state()

    def run(self, function: Callable[..., Any]) -> After:
        """Call the function on numbers of the moment; what an exception leaves behind is what a plain call leaves."""
        call, stream = self.call, self.stream
        stream.flush()
        stream.on_flush = self._note_flush
        with _counting:
            Recording.active += 1
        args, kwargs = call.arguments(self.leaves)
        try:
            call.put(self.leaves)
            before, _depth.recording = Recording.here(), True
            try:
                with self.watch:
                    result = function(*args, **kwargs)
            finally:
                _depth.recording = before
            if not before:
                result = detached(result)
            return After(call, self.leaves, args, kwargs, result)
        except BaseException:
            self.family.is_open = False
            call.settle_failed(args, kwargs)
            raise
        finally:
            with _counting:
                Recording.active -= 1
            stream.on_flush = None

    @staticmethod
    def here() -> bool:
        """Whether this thread is inside of a function that is recorded."""
        return getattr(_depth, "recording", False)

    def note_read(self, index: int) -> None:
        """A run-time number became a Python number."""
        if index not in self.read:
            self.read[index] = f"a number that may change is read at {_users_line()}"

    def _note_flush(self) -> None:
        self.note("a value is read")

    def note(self, what: str) -> None:
        """Remember the first thing that cannot be replayed, and the user's line that did it."""
        if not self.reason:
            self.reason = f"{what} at {_users_line()}"

    def capture(self, after: After) -> Capture | None:
        """The capture of what was recorded, or None with a reason."""
        if self.reason:
            self.watch.guards()
            return None
        templates = self._templates(after.leaves)
        if templates is None:
            return None
        wanted = self._wanted
        leaked = self._leaked(wanted)
        if leaked:
            self.reason = f"a value of shape {leaked[0]} outlives the call without being among its results"
            return None
        self.reason = self.watch.finish() or after.in_place or self._seeded() or self._fresh(after)
        guards = self.watch.guards()
        for number in range(len(self.numbers)) if self.watch.names_classes else ():
            self.read.setdefault(number, "the class of a number is asked for")
        self.is_final = not (self.watch.reason or after.fills_cache)
        sources = self._sources()
        if self.reason or sources is None:
            return None
        program = self.stream.program(tuple(handle.number for handle in wanted))
        scalars = [each.copy() if isinstance(each, Scalar) else each for each in self.stream.scalars]
        self.stream.scalars[:] = [each.value if isinstance(each, Scalar) else each for each in self.stream.scalars]
        program, slots = self.device.expanded(program)
        scalars = slot_values(slots, scalars)
        return Capture(
            self.device, program, sources, scalars, self.numbers, after.parts, templates, self.values, guards
        )

    def _seeded(self) -> str:
        """What is wrong if the device's stream of random numbers is not where the draws of the recording leave it."""
        seed, offset = self.seed
        for each in self.stream.scalars:
            if isinstance(each, Draw) and each.what == "seed":
                offset += (each.count + 3) // 4
        return (
            "" if self.device.generator().state() == (seed, offset) else "the device is seeded, or drawn from, inside"
        )

    def _fresh(self, after: After) -> str:
        """What is wrong if a result is an object that a replay could not make."""
        known = self.watch.known
        for part in after.parts:
            for value in opaque_values(part.structure):
                if id(value) not in known and not _is_lasting(value):
                    return f"a result is a {type(value).__name__} that was made in the call"
        return ""

    def leaked_number(self) -> str:
        """What is wrong if somebody still holds a run-time number; asked when the call is forgotten, as this is now."""
        self.leaves = []
        self.family.is_open = False
        alive = [each for each in self.family.members if each() is not None]
        if alive:
            gc.collect()
        if all(each() is None for each in alive):
            return ""
        return "a number that may change outlives the call without being among its results; return it"

    def _templates(self, made: list[Any]) -> list[Template] | None:
        """How each leaf that the call left behind is made at replay; None with a reason."""
        self._wanted: list[Lazy] = []
        owned = {id(leaf): index for index, leaf in reversed(list(enumerate(self.leaves)))}
        handles = {id(lazy_handle(leaf)): index for index, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)}
        outputs: dict[int, int] = {}
        first: dict[int, int] = {}
        templates: list[Template] = []
        for position, leaf in enumerate(made):
            if isinstance(leaf, Scalar):
                templates.append(Template("number", leaf.copy()))
                continue
            if leaf.__class__ is float:
                templates.append(Template("literal", leaf))
                continue
            if id(leaf) in owned:
                templates.append(Template("argument", owned[id(leaf)]))
                continue
            if id(leaf) in first:
                templates.append(Template("same", first[id(leaf)]))
                continue
            first[id(leaf)] = position
            if not isinstance(leaf, Tensor):
                self.reason = f"a result of type {type(leaf).__name__}"
                return None
            tracked = False
            if isinstance(leaf.device, Autodiff):
                if carries_graph(leaf):
                    self.reason = "what is kept carries a graph; keep .detach() of the tensor"
                    return None
                tracked = leaf.handle.node is not None
            handle = lazy_handle(leaf)
            if id(handle) in handles:
                templates.append(Template("input", handles[id(handle)], leaf.device, tracked))
            elif handle.stream is self.stream:
                place = outputs.setdefault(id(handle), len(self._wanted))
                if place == len(self._wanted):
                    self._wanted.append(handle)
                templates.append(Template("output", place, leaf.device, tracked))
            else:
                self.reason = "a result was computed outside the recorded stream"
                return None
        return templates

    def _leaked(self, wanted: list[Lazy]) -> list[Any]:
        known = {id(handle) for handle in wanted}

        def alive() -> list[Any]:
            handles = [ref() for ref in self.stream.results]
            return [handle.shape for handle in handles if handle is not None and id(handle) not in known]

        if alive():
            gc.collect()
        return alive()

    def _sources(self) -> list[int] | None:
        """Which leaf each input of the program is."""
        by_storage: dict[int, int] = {}
        for index, leaf in enumerate(self.leaves):
            if isinstance(leaf, Tensor) and lazy_handle(leaf).storage is not None:
                by_storage.setdefault(id(lazy_handle(leaf).storage), index)
        sources = []
        for storage in self.stream.inputs:
            if id(storage) not in by_storage:
                shape = np.shape(storage.value)
                self.reason = f"a tensor of shape {tuple(shape)} comes from neither arguments, closure nor globals"
                return None
            sources.append(by_storage[id(storage)])
        return sources


def _is_lasting(value: Any) -> bool:
    return isinstance(value, type | ModuleType | BuiltinFunctionType) or value is None


def _users_line() -> str:
    """The innermost line of the user's."""
    return where(sys._getframe())
