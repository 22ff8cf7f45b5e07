"""Long rows: a reduction over one row, or over a few, shared among threads.

A loop with row reductions gives whole rows to threads, so the sum of a million numbers, which is one row, would be the
work of one. Here such a loop becomes two: the first reduces chunks of the rows, the second the results of the chunks
and goes on as the loop would have. The chunks do not depend on the number of threads, so neither does the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from burn.cube.ir import Buffer, Value
from burn.dtype import DType
from burn.engine.lower.elements import computed
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.loops import LoopWriter
from burn.engine.schedule.units import Schedule, Unit, is_mask
from burn.engine.target import tile_sizes
from burn.program.program import Node, Program

Temporary = Callable[[int], int]
"""From a number of bytes to the number of a new temporary."""


def lower_in_chunks(program: Program, schedule: Schedule, unit: Unit, temporary: Temporary) -> list[Loop] | None:
    """The two kernels of a loop over few long rows; None for every other loop."""
    if unit.rows is None or any(is_mask(program, program.nodes[position]) for position in unit.nodes):
        return None
    rows, length = math.prod(unit.shape[: unit.rows]), math.prod(unit.shape[unit.rows :])
    sizes = tile_sizes()
    chunks = -(-length // sizes.chunk)
    if chunks < sizes.fewest_chunks or rows >= sizes.few_rows:
        return None
    parts = _Parts(program, schedule, unit)
    if not parts.early:
        return None
    partial = {n: temporary(rows * chunks * parts.dtype(n).size) for n in parts.early}
    first = _ChunkWriter(program, schedule, replace(unit, nodes=parts.before), partial, chunks)
    second = _JoiningWriter(program, schedule, replace(unit, nodes=parts.after), partial, chunks)
    return [first.write(), second.write()]


class _Parts:
    """Which nodes of a loop run in chunks, and which in the loop after them; some do in both."""

    def __init__(self, program: Program, schedule: Schedule, unit: Unit) -> None:
        self.program, self.schedule = program, schedule
        self.made = {number: position for position in unit.nodes for number in program.nodes[position].results}
        reduced = [n for n, p in self.made.items() if program.nodes[p].op.group == "reduction"]
        self.early = [n for n in reduced if not self._source(n) & schedule.row_values]
        """Reductions of what is there before any number of a row is."""
        before = set().union(*(self._source(n) for n in self.early)) | set(self.early)
        wanted = [n for n in self.made if n in schedule.stored or (n in schedule.row_values and n not in self.early)]
        after = set(self.early).union(*(self._reach([n], stop=set(self.early)) for n in wanted))
        self.before, self.after = ([p for n, p in self.made.items() if n in each] for each in (before, after))

    def dtype(self, number: int) -> DType:
        """The dtype in which partial results are kept."""
        return partial_dtype(self.program, self.program.nodes[self.made[number]])

    def _source(self, number: int) -> set[int]:
        """Everything that a reduction reads, directly or not, of what this loop makes."""
        return self._reach(self.program.nodes[self.made[number]].reads(), stop=set())

    def _reach(self, numbers: list[int], stop: set[int]) -> set[int]:
        found: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            if number in self.schedule.row_values:
                found.add(number)
            if number in self.made:
                found.add(number)
                if number not in stop:
                    waiting += self.program.nodes[self.made[number]].reads()
            elif number in self.schedule.row_views:  # the number of a row, repeated along it
                waiting.append(self.schedule.row_views[number])
        return found


def partial_dtype(program: Program, node: Node) -> DType:
    """Half precision is added up in f32, as in a loop of one kernel."""
    return computed(program.values[node.results[0]].dtype)


class _PartialWriter(LoopWriter):
    """What both loops know: the buffers of partial results, one number for each row and chunk."""

    def __init__(self, program: Program, schedule: Schedule, unit: Unit, partial: dict[int, int], chunks: int) -> None:
        self.partial, self.chunks = partial, chunks
        super().__init__(program, schedule, unit)

    def _partial_buffer(self, node: Node, *, write: bool) -> Buffer:
        number = self.partial[node.results[0]]
        self.arguments.append(Argument("buffer", number, written=write))
        return self.b.buffer(partial_dtype(self.program, node), write=write)


class _ChunkWriter(_PartialWriter):
    """The first loop: each iteration reduces one chunk of one row."""

    def _collect(self) -> None:
        super()._collect()
        self.stores = {}

    def _write_rows(self, outer: list[Any], inner: list[Any]) -> tuple[int, int]:
        b = self.b
        length = math.prod(size for size, _ in inner)
        rows = math.prod(size for size, _ in outer)
        count, chunks = self.size(length), self.size(self.chunks)
        steps = self._row_steps(inner)
        total = self.size(rows * self.chunks)
        decomposed = self.declared(outer)
        reductions = [node for node in self.nodes if node.results[0] in self.partial]
        buffers = [self._partial_buffer(node, write=True) for node in reductions]
        length_of_chunk = tile_sizes().chunk
        with b.grid(total) as i:
            bases = self._bases(i // chunks, decomposed)
            start = (i % chunks) * length_of_chunk
            here = b.min(count - start, length_of_chunk)
            for node, buffer in zip(reductions, buffers, strict=True):
                b.store(buffer, i, self._reduced(node, here, bases, steps, start))
        return rows * self.chunks, 1


class _JoiningWriter(_PartialWriter):
    """The second loop: reductions of chunks are read instead of computed."""

    def _write_rows(self, outer: list[Any], inner: list[Any]) -> tuple[int, int]:
        self.chunk_count = self.size(self.chunks)
        self.buffers_of = {n.results[0]: self._partial_buffer(n, write=False) for n in self.nodes if self._is_early(n)}
        return super()._write_rows(outer, inner)

    def _is_early(self, node: Node) -> bool:
        return node.results[0] in self.partial

    def _computing(self) -> list[Node]:
        return [node for node in self.nodes if not self._is_early(node)]

    def _reduced(self, node: Node, count: Value, bases: Any, steps: Any, start: Value | None = None) -> Value:
        if not self._is_early(node):
            return super()._reduced(node, count, bases, steps, start)
        begin, buffer = self.row * self.chunk_count, self.buffers_of[node.results[0]]
        assert node.op.reduction is not None
        result: Value = self.b.reduce(self.chunk_count, node.op.reduction, lambda j: self.b.load(buffer, begin + j))
        return result
