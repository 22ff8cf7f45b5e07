"""Elementwise operations on scores and shares, as data.

Their other operands are numbers, tensors that broadcast to the scores, and masks. Masks are computed for each score
anew where that needs nothing but truth values, f32 and the positions themselves: a causal mask never gets memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from burn.dtype import DType, bool_, f32
from burn.engine.lower.elements import computed, is_term
from burn.engine.lower.epilogue import Collector
from burn.engine.patterns.attention.form import LATER, TENSOR
from burn.engine.target import computes
from burn.program.fused import MADE, Reference
from burn.program.program import Constant, Node, Program, Scalar
from burn.shape import Shape

DEEPEST = 4
"""Operations on masks that are done again for each score, one upon the other."""


class Unreadable(Exception):
    """An operand that the kernel cannot read."""


class Reader:
    """Turns chains of nodes into terms, for scores of one shape."""

    def __init__(self, program: Program, producer: dict[int, int], shape: Shape) -> None:
        self.program, self.producer, self.shape = program, producer, shape

    def collect(self, chain: Sequence[Node], start: int, into: Collector) -> None:
        """The terms of nodes that follow each other, the first of which reads `start`."""
        current, reference = start, MADE
        for node in chain:
            if node.op.name != "cast":  # numbers stay f32 in the kernel
                reads = [self._read(node, each, current, reference, into, 0) for each in node.operands]
                reference = into.add_node(self.program, node, reads)
            current = node.results[0]

    def number(self, node: Node, operand: Any, into: Collector) -> Reference:
        """The reference of a number."""
        if not isinstance(operand, Constant | Scalar):
            raise Unreadable("a tensor where a number is expected")
        return self._read(node, operand, -1, MADE, into, 0)

    def _read(self, node: Node, operand: Any, current: int, reference: int, into: Collector, depth: int) -> Reference:
        if isinstance(operand, Constant):
            if self._dtype(node) is not f32:
                raise Unreadable("numbers beside other dtypes than f32")
            return operand
        if isinstance(operand, Scalar):
            return into.operand(operand, self._dtype(node).name)
        if not isinstance(operand, int):
            raise Unreadable("an operand that is none")
        return reference if operand == current else self._tensor(operand, current, reference, into, depth)

    def _dtype(self, node: Node) -> DType:
        """The dtype in which a node computes."""
        return computed(self.program.values[node.reads()[0]].dtype)

    def _tensor(self, number: int, current: int, reference: int, into: Collector, depth: int) -> Reference:
        value, position = self.program.values[number], self.producer.get(number)
        node = None if position is None else self.program.nodes[position]
        if node is not None:
            if node.op.name == "full" and isinstance(node.operands[0], Constant) and computed(value.dtype) is f32:
                return node.operands[0]
            if node.op.name == "expand" and isinstance(node.operands[0], int):
                return self._tensor(node.operands[0], current, reference, into, depth)
            offset = self.later(node)
            if offset is not None:
                return into.add(LATER, (Constant(offset),))
            if value.dtype is bool_ and self.is_mask(node) and depth < DEEPEST:
                reads = [self._read(node, each, current, reference, into, depth + 1) for each in node.operands]
                return into.add_node(self.program, node, reads)
        if not computes(value.dtype):
            raise Unreadable(f"operands of {value.dtype}")
        return into.operand(number, TENSOR)

    def is_mask(self, node: Node) -> bool:
        """Whether a node makes truth values of f32 and truth values, one for one."""
        dtypes = {computed(self.program.values[number].dtype) for number in node.reads()}
        single = is_term(node.op) and bool(dtypes) and dtypes <= {f32, bool_}
        return single and self.program.values[node.results[0]].dtype is bool_

    # Positions

    def later(self, node: Node) -> int | None:
        """The offset of `position of key > position of query + offset`, if that is what a node is."""
        if node.op.name not in ("greater", "greater_equal") or len(node.operands) != 2:
            return None
        made = tuple(self.program.values[node.results[0]].shape)
        if made[-2:] != tuple(self.shape[-2:]) or prod(made[:-2]) != 1:
            return None
        key, query = (self._places(operand, dim) for operand, dim in zip(node.operands, (-1, -2), strict=True))
        if key is None or query is None:
            return None
        return query - key - (node.op.name == "greater_equal")

    def _places(self, number: Any, dim: int) -> int | None:
        """What is added to the positions along a dim, if a value is that."""
        if not isinstance(number, int) or number not in self.producer:
            return None
        value, node = self.program.values[number], self.program.nodes[self.producer[number]]
        shape, dtype = value.shape, value.dtype
        if len(shape) < -dim or prod(shape) != shape[dim] or not dtype.is_int or dtype.bits < 32:
            return None
        if node.op.name in ("add", "sub") and isinstance(node.operands[1], Constant):
            base, step = self._places(node.operands[0], dim), node.operands[1].value
            if base is None or int(step) != step:
                return None
            return base + int(step) if node.op.name == "add" else base - int(step)
        if node.op.name == "reshape":
            return self._places(node.operands[0], -1)
        if node.op.name != "arange":
            return None
        start, step = node.operands[:2]
        if not isinstance(start, Constant) or not isinstance(step, Constant):
            return None
        return int(start.value) if step.value == 1 and int(start.value) == start.value else None
