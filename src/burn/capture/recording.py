"""Recording: a function runs as usual, and what it did becomes a capture, or a reason why it cannot."""

from __future__ import annotations

import gc
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from burn.backend.autodiff import Autodiff
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import Draw, Stream
from burn.capture.leaves import lazy_handle
from burn.program import Program
from burn.scalar import Scalar
from burn.tensor import Tensor
from burn.tree import Structure, flatten

PACKAGE = str(Path(__file__).parents[1])


class Capture:
    """One recording: the program, where its inputs and numbers come from, and how its results look."""

    def __init__(self, device: Fusion[Any], program: Program, sources: list[int], scalars: list[Any],
                 results: Structure, leaves: list[Any]) -> None:  # fmt: skip
        self.device, self.program, self.sources, self.scalars = device, program, sources, scalars
        self.results, self.leaves = results, leaves
        self.plan: Any = None
        self.donated: list[int] = []

    def same_as(self, other: Capture) -> str | None:
        """None if two recordings agree, else what differs."""
        if self.program.identity() != other.program.identity() or self.sources != other.sources:
            return "two calls recorded different operations"
        if self.results != other.results:
            return "two calls gave results of different structure"
        for mine, theirs in zip(self.scalars, other.scalars, strict=True):
            if _literal(mine) != _literal(theirs):
                return f"the number {theirs!r} was {mine!r} in the call before: a clock, a counter or randomness"
        return None


def _literal(scalar: Any) -> Any:
    if isinstance(scalar, Scalar):
        return scalar.identity()
    return (scalar.what, scalar.count) if isinstance(scalar, Draw) else scalar


class Recording:
    """A function being recorded: what it did that a replay could not do."""

    def __init__(self, device: Fusion[Any]) -> None:
        self.device = device
        self.reason = ""
        self.stream: Stream = device.stream

    def __enter__(self) -> Recording:
        self.stream.flush()
        self.stream.on_flush = lambda: self.note("a value is read")
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.on_flush = None

    def note_read(self) -> None:
        """A run-time number became a Python number."""
        self.note("a number that may change is read")

    def note(self, what: str) -> None:
        """Remember the first thing that cannot be replayed, and the user's line that did it."""
        if not self.reason:
            self.reason = f"{what} at {_users_line()}"

    def finish(self, result: Any, leaves: list[Any]) -> Capture | None:
        """The capture of what was recorded, or None with a reason."""
        if self.reason:
            return None
        stream = self.stream
        result_leaves, structure = flatten(result)
        templates: list[Any] = []
        wanted: list[Lazy] = []
        owned = {id(leaf): index for index, leaf in enumerate(leaves)}
        for leaf in result_leaves:
            template = self._template(leaf, wanted, owned)
            if template is None:
                return None
            templates.append(template)
        leaked = self._leaked(wanted)
        if leaked:
            self.reason = f"a value of shape {leaked[0]} outlives the call without being among its results"
            return None
        sources = self._sources(leaves)
        if sources is None:
            return None
        numbers = tuple(handle.number for handle in wanted)
        program = stream.program(numbers)
        return Capture(self.device, program, sources, list(stream.scalars), structure, templates)

    def _template(self, leaf: Any, wanted: list[Lazy], owned: dict[int, int]) -> Any:
        """How to make a result leaf at replay: from an output, an argument, or a number."""
        if isinstance(leaf, Scalar):
            return ("number", leaf)
        if leaf.__class__ is float:
            return ("literal", leaf)
        if id(leaf) in owned:
            return ("argument", owned[id(leaf)])
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
        if handle.stream is not self.stream:
            self.reason = "a result was computed outside the recorded stream"
            return None
        if not any(each is handle for each in wanted):
            wanted.append(handle)
        position = next(i for i, each in enumerate(wanted) if each is handle)
        return ("output", position, leaf.device, tracked)

    def _leaked(self, wanted: list[Lazy]) -> list[Any]:
        def alive() -> list[Any]:
            handles = [ref() for ref in self.stream.results]
            return [h.shape for h in handles if h is not None and not any(h is each for each in wanted)]

        if alive():
            gc.collect()
        return alive()

    def _sources(self, leaves: list[Any]) -> list[int] | None:
        """Which argument each input of the program is."""
        by_storage: dict[int, int] = {}
        for index, leaf in enumerate(leaves):
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
