"""Recording: a function runs as usual, and what it did becomes a capture, or a reason why it cannot."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from burn.backend.autodiff import Autodiff
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import Draw, Stream
from burn.capture.call import After, Call, Part
from burn.capture.leaves import layers_above, lazy_handle
from burn.capture.numbers import Numbers
from burn.program import Program
from burn.scalar import Scalar
from burn.tensor import Tensor

_counting = threading.Lock()

PACKAGE = str(Path(__file__).parents[1])


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
    ) -> None:
        self.device, self.program, self.sources, self.scalars = device, program, sources, scalars
        self.number_positions = number_positions  # the leaves that are run-time numbers
        self.parts, self.templates = parts, templates
        self.plan: Any = None
        self.donated: list[int] = []
        self.idle: deque[Any] = deque()  # replays that nobody runs at the moment

    def prepare(self, donated: tuple[bool, ...]) -> None:
        """Make it ready to run."""
        self.donated = [source for source, given in zip(self.sources, donated, strict=True) if given]
        self.plan = self.device.prepare(self.program, donated)
        results = [template.value for template in self.templates if template.what == "number"]
        self.numbers = Numbers(self.device, len(self.number_positions), self.scalars, results)

    def same_as(self, other: Capture) -> str | None:
        """None if two recordings agree, else what differs."""
        if self.program.identity() != other.program.identity() or self.sources != other.sources:
            return "two calls recorded different operations"
        if self.parts != other.parts:
            return "two calls gave results of different structure"
        for mine, theirs in zip(self.scalars, other.scalars, strict=True):
            if _literal(mine) != _literal(theirs):
                return f"the number {theirs!r} was {mine!r} in the call before: a clock, a counter or randomness"
        for one, two in zip(self.templates, other.templates, strict=True):
            if one.identity() != two.identity():
                return f"a result was {one} in one call and {two} in the next"
        return None


def _literal(scalar: Any) -> Any:
    if isinstance(scalar, Scalar):
        return scalar.identity()
    if not isinstance(scalar, Draw):
        return scalar
    return (scalar.what, scalar.count, scalar.value if scalar.what == "fixed" else None)


class Template:
    """How a leaf that a call made is made again: `what` is one of output, input, argument, number, literal, same."""

    __slots__ = ("device", "layers", "tracked", "value", "what")

    def __init__(self, what: str, value: Any, device: Any = None, tracked: bool = False) -> None:
        self.what, self.value, self.device, self.tracked = what, value, device, tracked
        self.layers = 0 if device is None else layers_above(device)

    def identity(self) -> Any:
        """It in plain data: equal for equal recordings."""
        value = self.value.identity() if isinstance(self.value, Scalar) else self.value
        return (self.what, value, self.device, self.tracked)

    def __repr__(self) -> str:
        return f"{self.what} {self.value}"


class Recording:
    """A function being recorded: what it did that a replay could not do."""

    active = 0
    """How many functions are being recorded, in all threads."""

    def __init__(self, device: Fusion[Any], call: Call) -> None:
        self.device, self.call = device, call
        self.reason = ""
        self.stream: Stream = device.stream
        self.numbers = call.number_positions()
        self.leaves = list(call.leaves)
        self.family: list[weakref.ref[Scalar]] = []
        for index, position in enumerate(self.numbers):
            self.leaves[position] = Scalar(call.leaves[position], index, note_read=self.note_read, family=self.family)

    def run(self, function: Callable[..., Any]) -> After:
        """Call the function on numbers of the moment; if it fails, everything is as it was."""
        call, stream = self.call, self.stream
        stream.flush()
        stream.on_flush = self._note_flush
        with _counting:
            Recording.active += 1
        try:
            call.put(self.leaves)
            args, kwargs = call.arguments(self.leaves)
            result = function(*args, **kwargs)
            return After(call, self.leaves, args, kwargs, result)
        except BaseException:
            call.restore()
            raise
        finally:
            with _counting:
                Recording.active -= 1
            stream.on_flush = None

    def note_read(self) -> None:
        """A run-time number became a Python number."""
        self.note("a number that may change is read")

    def _note_flush(self) -> None:
        self.note("a value is read")

    def note(self, what: str) -> None:
        """Remember the first thing that cannot be replayed, and the user's line that did it."""
        if not self.reason:
            self.reason = f"{what} at {_users_line()}"

    def capture(self, after: After) -> Capture | None:
        """The capture of what was recorded, or None with a reason."""
        if self.reason:
            return None
        templates = self._templates(after.leaves)
        if templates is None:
            return None
        wanted = self._wanted
        leaked = self._leaked(wanted)
        if leaked:
            self.reason = f"a value of shape {leaked[0]} outlives the call without being among its results"
            return None
        self.reason = after.in_place
        sources = self._sources()
        if self.reason or sources is None:
            return None
        program = self.stream.program(tuple(handle.number for handle in wanted))
        scalars = [each.copy() if isinstance(each, Scalar) else each for each in self.stream.scalars]
        self.stream.scalars[:] = [each.value if isinstance(each, Scalar) else each for each in self.stream.scalars]
        return Capture(self.device, program, sources, scalars, self.numbers, after.parts, templates)

    def leaked_number(self) -> str:
        """What is wrong if somebody still holds a run-time number; asked when the call is forgotten, as this is now."""
        self.leaves = []
        alive = [each for each in self.family if each() is not None]
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
                node = leaf.handle.node
                if node is not None and (not node.keep or node.parents):
                    self.reason = "a result carries a graph; return results of backward, or .inner() of the tensor"
                    return None
                tracked = node is not None
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


def _users_line() -> str:
    """The innermost line outside this package."""
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(PACKAGE):
            return f"{Path(frame.filename).name}, line {frame.lineno}: {frame.line}"
    return "an unknown line"
