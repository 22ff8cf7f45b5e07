"""Chains: which elementwise operations a kernel can do to its own result.

From a node on, a chain goes from reader to reader as long as each value has one reader and that one works element by
element. Its other operands are images of the same shape, one number a channel, numbers, or themselves elementwise
operations on such, read by nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from burn.backend.cpu.lower.epilogue import CHANNEL, IMAGE, MADE, NUMBER, Collector, Reference
from burn.backend.cpu.lower.scalar_code import CODE
from burn.dtype import bool_, f32
from burn.program.program import Constant, Node, Program, Scalar

MOST_TERMS = 12

MASKED = frozenset(("mask_fill", "mask_where"))
"""Operations with one operand that is a truth value."""

DEEPEST = 2
"""Operations on operands that may stand between an operand and the chain."""


@dataclass
class Chain:
    """A node, the positions of the operations that follow it, and what they are."""

    start: int
    last: int
    positions: list[int]
    collector: Collector = field(default_factory=Collector)


class _Stop(Exception):
    """An operand that the kernel cannot read."""


class ChainFinder:
    """Finds chains; an operation belongs to one of them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.uses, self.producer = program.uses(), program.producer()
        self.outputs = set(program.outputs)
        self.claimed: set[int] = set()

    def find(self, start: int) -> Chain | None:
        """The chain that follows the node at a position, or None."""
        program = self.program
        current = program.nodes[start].results[0]
        shape = program.values[current].shape
        if program.values[current].dtype is not f32 or len(shape) < 3:
            return None
        chain = Chain(start, start, [])
        reference = MADE
        while len(chain.collector.terms) < MOST_TERMS and current not in self.outputs:
            readers = self.uses[current]
            if len(readers) != 1 or readers[0] in self.claimed:
                break
            node = program.nodes[readers[0]]
            made = program.values[node.results[0]]
            if node.op.name not in CODE or node.op.scalar is None or made.dtype is not f32 or made.shape != shape:
                break
            if not self._is_single(node):
                break
            attempt = Collector()
            attempt.terms, attempt.operands = [*chain.collector.terms], [*chain.collector.operands]
            taken: list[int] = []
            try:
                reads = [self._read(each, current, reference, shape, attempt, taken, 0) for each in node.operands]
            except _Stop:
                break
            reference = attempt.add(node.op.name, reads)
            chain.collector, chain.last, current = attempt, readers[0], node.results[0]
            chain.positions += [*taken, readers[0]]
        if chain.last == start:
            return None
        self.claimed.update(chain.positions)
        return chain

    def _read(
        self, operand: Any, current: int, reference: int, shape: Any, into: Collector, taken: list[int], depth: int
    ) -> Reference:
        """The reference of an operand of a chain's operation."""
        if operand == current and isinstance(operand, int):
            return reference
        if isinstance(operand, Constant):
            return operand
        if isinstance(operand, Scalar):
            return into.operand(operand, NUMBER)
        if not isinstance(operand, int):
            raise _Stop
        value = self.program.values[operand]
        position = self.producer.get(operand)
        node = self.program.nodes[position] if position is not None else None
        if node is not None and node.op.name == "full" and isinstance(node.operands[0], Constant):
            return node.operands[0]
        if node is not None and node.op.name == "expand" and isinstance(node.operands[0], int):
            return self._read(node.operands[0], current, reference, shape, into, taken, depth)
        if node is not None and position is not None and self._joins(node, position, operand, shape, depth):
            before = len(into.terms), len(into.operands)
            try:
                reads = [self._read(each, -1, reference, shape, into, taken, depth + 1) for each in node.operands]
                taken.append(position)
                return into.add(node.op.name, reads)
            except _Stop:
                del into.terms[before[0] :], into.operands[before[1] :]
        if value.dtype is not f32:
            raise _Stop
        if value.shape == shape:
            return into.operand(operand, IMAGE)
        given = (1,) * (len(shape) - len(value.shape)) + tuple(value.shape)
        if len(given) == len(shape) and given == (1, shape[1], *(1 for _ in shape[2:])):
            return into.operand(operand, CHANNEL)
        if value.shape.num_elements() == 1:
            return into.operand(operand, NUMBER)
        raise _Stop

    def _joins(self, node: Node, position: int, number: int, shape: Any, depth: int) -> bool:
        """Whether an operand is itself computed in the chain: elementwise, and nobody else wants it."""
        value = self.program.values[number]
        alone = len(self.uses[number]) == 1 and number not in self.outputs and position not in self.claimed
        known = node.op.name in CODE and node.op.scalar is not None and value.dtype in (f32, bool_)
        return alone and known and value.shape == shape and depth < DEEPEST and self._is_single(node)

    def _is_single(self, node: Node) -> bool:
        """Whether its operands are of the dtype in which epilogues compute: f32, except for masks."""
        masks = 1 if node.op.name in MASKED else 0
        return sum(self.program.values[number].dtype is not f32 for number in node.reads()) <= masks
