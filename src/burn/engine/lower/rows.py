"""Loops with row reductions: several passes over each row."""

from __future__ import annotations

import collections
import math
from typing import Any

from burn.cube.ir import Value
from burn.engine.lower.elements import computed
from burn.engine.lower.loop_parts import LoopParts
from burn.engine.lower.partial_sums import BLOCK_OF_ROW, is_deep, reduced
from burn.engine.target import grain_of, tile_sizes
from burn.program.program import Node
from burn.symbolic import room


class RowPasses(LoopParts):
    """The passes over a row: reductions first, then what is written for each element."""

    def _write_rows(self, outer: list[Any], inner: list[Any]) -> tuple[int, int]:
        b = self.b
        inner_size = math.prod(size for size, _ in inner)
        rows = math.prod(size for size, _ in outer)
        count = self.size(inner_size)
        steps = self._row_steps(inner)
        total = self.size(rows)
        decomposed = self.declared(outer)
        self._keep(inner_size)
        self._declare_draws(inner_size)
        with b.grid(total) as i:
            self.row = i
            bases = self._bases(i, decomposed)
            self._draw(bases, count)
            for node in self.nodes:
                if node.results[0] in self.schedule.row_values:
                    self._write_row_value(node, count, bases, steps)
            full = [number for number in self.stores if number not in self.schedule.row_values]
            if full:
                with b.lane(count) as j:
                    known: dict[int, Value] = {}
                    values = [self._value(number, bases, steps, j, known) for number in full]
                    for number, value in zip(full, values, strict=True):
                        index = self._index(("store", number), bases, steps, j)
                        b.store(self._buffer(("store", number)), index, value)
            # Last of all: a result may be written over an operand, which the row must have read by then.
            for number in self.stores:
                if number in self.schedule.row_values:
                    b.store(self._buffer(("store", number)), bases["store", number], self.row_results[number])
        return rows, grain_of(inner_size)

    def _row_steps(self, inner: list[Any]) -> dict[Any, Any]:
        """The strides along a row; none where it is not one run of memory, and `inner_dims` tells more."""
        if len(inner) > 1:
            self.inner_dims = self.declared(inner)
            return {}
        return self.steps(inner[0][1] if inner else {})

    def _write_row_value(self, node: Node, count: Value, bases: dict[Any, Any], steps: dict[Any, Any]) -> None:
        """One number per row: a reduction over the row, or a map of such numbers."""
        number = node.results[0]
        if node.op.group == "reduction":
            self.row_results[number] = self._reduced(node, count, bases, steps)
        else:
            self.row_results[number] = self._apply(node, lambda n: self._value(n, bases, steps, None, {}))

    def _reduced(
        self, node: Node, count: Value, bases: dict[Any, Any], steps: dict[Any, Any], start: Value | None = None
    ) -> Value:
        """The reduction of `count` elements of a row, from `start` on."""
        b, source, kind, element = self.b, node.operands[0], node.op.reduction, node.op.element
        assert isinstance(source, int)
        assert kind is not None

        def body(index: Value) -> Value:
            j = index if start is None else start + index
            known: dict[int, Value] = {}
            value = self._value(source, bases, steps, j, known)
            self._hold(known, j)
            return value if element is None else element(b, value)

        dtype = computed(self.program.values[node.results[0]].dtype)
        return reduced(b, count, kind, body, is_deep(kind, dtype, self._longest(), BLOCK_OF_ROW), BLOCK_OF_ROW)

    def _longest(self) -> int:
        """Elements of a row that are reduced at once, at most."""
        return math.prod(self.unit.shape[self.unit.rows :])

    # What passes over a row share

    def _passes(self) -> list[list[int]]:
        """The values along the row that each pass over it needs, in the order of the passes."""
        rows = self.schedule.row_values
        found = [n.reads() for n in self._computing() if n.op.group == "reduction" and n.results[0] in rows]
        return [*found, [number for number in self.stores if number not in rows]]

    def _needed(self, roots: list[int], known: set[int]) -> set[int]:
        """The values along the row that a pass computes, if it finds `known` ones in memory."""
        found: set[int] = set()
        open_ = [number for number in roots if number not in self.schedule.row_values]
        while open_:
            number = open_.pop()
            node = self.made.get(number)
            if node is None or number in found:
                continue
            found.add(number)
            if number not in known:
                open_ += [each for each in node.reads() if each not in self.schedule.row_values]
        return found

    def _keep(self, length: int) -> None:
        """Make room for costly values that several passes compute."""
        if length > tile_sizes().longest_kept:
            return
        passes = self._passes()
        counts = collections.Counter(number for roots in passes for number in self._needed(roots, set()))
        costly = {n for n, count in counts.items() if count > 1 and self.made[n].op.is_costly}
        counts = collections.Counter(number for roots in passes for number in self._needed(roots, costly))
        for number in sorted(costly):
            if counts[number] > 1:
                dtype = computed(self.program.values[number].dtype)
                self.kept[number] = self.b.shared(dtype, room(length, tile_sizes().shortest_kept))

    def _hold(self, known: dict[int, Value], j: Value) -> None:
        """Write what this pass was the first to compute."""
        for number, buffer in self.kept.items():
            if number in known and number not in self.held:
                self.b.store(buffer, j, known[number])
                self.held.add(number)
