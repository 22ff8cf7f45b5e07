"""From a Python function to the program of a region.

The function runs once, on tensors without values, in a stream of its own: what it asks for becomes the program, and the
tensors that it finds around itself become inputs of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from burn.backend.autodiff.graph import Node, next_order, older_recipes
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import Stream
from burn.dtype import DType
from burn.errors import ArgumentError
from burn.program import Program
from burn.program.composites import expanded_alone, with_numbers
from burn.program.node import Value
from burn.program.passes import Explanation, remove_dead
from burn.shape import Shape


class Region(Stream):
    """A stream that never runs: it is what one step of a loop, or one side of a condition, would do."""

    def __init__(self, device: Fusion[Any], name: str) -> None:
        self.name, self.outside, self.since = name, device.stream, next_order()
        self.handles: list[Lazy] = []
        """What it reads from outside, in the order of its inputs."""
        super().__init__(device)
        self.on_flush = self.outside.on_flush or _nothing

    def placeholder(self, shape: Any, dtype: DType) -> Lazy:
        """An input: a value that each step is given."""
        handle = Lazy(Shape(shape), dtype, self.device, None, None, -1)
        handle.error = self.refusal()
        self.reference(handle)
        return handle

    def refusal(self) -> ArgumentError:
        """The error for a function that looks into a value."""
        return ArgumentError(
            f"{self.name}: the function reads a value while it is recorded, and there is none yet; compute with "
            "tensors, choose with burn.control.cond or mask_where, or write a Python loop"
        )

    def reference(self, handle: Lazy) -> int:
        if handle.stream is self:
            return handle.number
        number = self.input_numbers.get(id(handle))
        if number is None:
            number = self.input_numbers[id(handle)] = -1 - len(self.handles)
            self.handles.append(handle)
        return number

    def draw(self, seed: int, offset: int, count: int) -> tuple[str, str]:
        raise ArgumentError(
            f"{self.name}: the function draws random numbers, which would be the same in every step; draw them before, "
            "for all steps, and give them as inputs"
        )

    def cut(self) -> None:
        """A region is one program, however long."""

    def repair(self) -> None:
        """After an exception the region is given up as a whole."""

    def flush(self, cut: bool = False) -> None:
        if self.entries:
            raise self.refusal()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A block in which this thread records into the region."""
        with _into(self):
            yield

    def prepare_backward(self, roots: Sequence[Node]) -> None:
        """Compute again what a backward of the region needs from around it: there, where it was computed first."""
        for recipe in older_recipes(roots, self.since):
            stream: Stream = self
            while isinstance(stream, Region) and recipe.order < stream.since:
                stream = stream.outside
            with _into(stream):
                recipe.compute()

    def part(self, outputs: Sequence[Lazy], inputs: Sequence[Lazy]) -> Program:
        """The program of some values, whose first inputs are these; the others that it reads follow."""
        results = [self.reference(each) for each in outputs]
        self.inputs = [None] * len(self.handles)  # type: ignore[list-item]
        self.input_descriptions = [(each.shape, each.dtype) for each in self.handles]
        program, count = self.program(()), len(self.handles)
        program = replace(program, outputs=tuple(n + count if n >= 0 else -1 - n for n in results))
        program = with_numbers(program, tuple([float(each) for each in self.scalars]))
        device = self.device
        program = expanded_alone(program, device.keeps, device.float_dtype, device.int_dtype)
        program = remove_dead(program, Explanation())
        first = [-1 - self.reference(each) for each in inputs]
        read = {number for node in program.nodes for number in node.reads()}.union(program.outputs)
        others = [number for number in range(count) if number not in first and number in read]
        self.closed = [self.handles[number] for number in others]
        return _reordered(program, [*first, *others])

    closed: Sequence[Lazy] = ()
    """The handles of the inputs that follow on those that were named, of the last part."""


@contextmanager
def _into(stream: Stream) -> Iterator[None]:
    """A block in which this thread records into a stream."""
    streams = stream.device._streams
    before, streams.stream = streams.stream, stream
    try:
        yield
    finally:
        streams.stream = before


def _nothing() -> None:
    """Nobody has to be told of a read."""


def _reordered(program: Program, inputs: Sequence[int], more: Sequence[Value] = ()) -> Program:
    """The program with these of its inputs, in this order, and with `more` that it does not read."""
    made = range(program.inputs, len(program.values))
    numbers = {number: position for position, number in enumerate(inputs)}
    count = len(inputs) + len(more)
    numbers.update((number, count + position) for position, number in enumerate(made))

    def operand(each: Any) -> Any:
        if isinstance(each, int):
            return numbers[each]
        return tuple(numbers[number] for number in each) if isinstance(each, tuple) else each

    nodes = tuple(
        replace(node, operands=tuple(map(operand, node.operands)), results=operand(node.results))
        for node in program.nodes
    )
    taken, results = ([program.values[number] for number in numbers] for numbers in (inputs, made))
    return Program((*taken, *more, *results), count, program.scalars, nodes, operand(program.outputs))


def joined(programs: Sequence[tuple[Program, Sequence[Lazy]]], count: int) -> tuple[list[Program], list[Lazy]]:
    """Programs that take the same: the first `count` inputs of each, then what any of them reads from outside."""
    closed = {id(handle): handle for _, handles in programs for handle in handles}
    found = []
    for program, handles in programs:
        own = {id(handle): count + position for position, handle in enumerate(handles)}
        missing = [handle for handle in closed.values() if id(handle) not in own]
        values = [Value(handle.shape, handle.dtype) for handle in missing]
        wide = _reordered(program, range(program.inputs), values)
        places = {**own, **{id(handle): program.inputs + at for at, handle in enumerate(missing)}}
        found.append(_reordered(wide, [*range(count), *(places[each] for each in closed)]))
    return found, list(closed.values())
