"""Chains: which elementwise operations a kernel can do to its own result.

From a node on, a chain goes from reader to reader as long as each value has one reader and that one works element by
element. Its other operands are images of the same shape, one number a channel (for a product: a column), numbers, or
themselves elementwise operations on such, read by nobody else.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from burn.classes import dataclass
from burn.dtype import bool_, f32
from burn.engine.lower.elements import is_term
from burn.engine.lower.epilogue import Collector
from burn.program.fused import CHANNEL, IMAGE, MADE, NUMBER, Reference
from burn.program.program import Constant, Node, Program, Scalar
from burn.symbolic import alike

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
        self.per_channel: tuple[int, ...] = ()

    def find(self, start: int, channel: int = 1, *, branches: bool = False) -> Chain | None:
        """The chain that follows the node at a position, or None; `channel` is the dim of its channels.

        With `branches`, a value may have several readers if they all meet again in one value of the chain.
        """
        program = self.program
        first = program.nodes[start].results[0]
        shape = program.values[first].shape
        if program.values[first].dtype is not f32 or len(shape) < (3 if channel == 1 else 2):
            return None
        self.per_channel = tuple(size if dim == channel % len(shape) else 1 for dim, size in enumerate(shape))
        found: Chain | None = None
        chain = Chain(start, start, [])
        references = {first: MADE}
        waiting = self._readers(first)
        while waiting and len(chain.collector.terms) < MOST_TERMS and (branches or len(waiting) == 1):
            position = min(waiting)
            node = program.nodes[position]
            attempt = self._joined(node, position, references, shape, chain)
            if attempt is None or any(number in self.outputs for number in references):
                break
            chain = attempt
            result = node.results[0]
            references[result] = -1 - len(chain.collector.terms)
            waiting = (waiting | self._readers(result)) - {position}
            inner = references.keys() - {result}
            if all(inner.isdisjoint(program.nodes[reader].reads()) for reader in waiting):
                found = chain
        if found is None:
            return None
        self.claimed.update(found.positions)
        return found

    def _readers(self, number: int) -> set[int]:
        """The positions of the nodes that read a value; of an output, which nobody may take away, none."""
        return set() if number in self.outputs else set(self.uses[number])

    def _joined(self, node: Node, position: int, references: dict[int, int], shape: Any, chain: Chain) -> Chain | None:
        """The chain with one operation more, or None where the kernel cannot do it."""
        made = self.program.values[node.results[0]]
        known = is_term(node.op) and made.dtype is f32 and alike(made.shape, shape)
        if not known or position in self.claimed or not self._is_single(node):
            return None
        attempt, taken = Collector(), list[int]()
        attempt.terms, attempt.operands = [*chain.collector.terms], [*chain.collector.operands]
        try:
            reads = [self._read(each, references, shape, attempt, taken, 0) for each in node.operands]
        except _Stop:
            return None
        attempt.add_node(self.program, node, reads)
        return Chain(chain.start, position, [*chain.positions, *taken, position], attempt)

    def _read(
        self, operand: Any, references: dict[int, int], shape: Any, into: Collector, taken: list[int], depth: int
    ) -> Reference:
        """The reference of an operand of a chain's operation; `references` are those of the chain's own values."""
        if isinstance(operand, int) and operand in references:
            return references[operand]
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
            return self._read(node.operands[0], references, shape, into, taken, depth)
        if node is not None and position is not None and self._joins(node, position, operand, shape, depth):
            before = len(into.terms), len(into.operands), len(taken)
            try:
                reads = [self._read(each, {}, shape, into, taken, depth + 1) for each in node.operands]
                taken.append(position)
                return into.add_node(self.program, node, reads)
            except _Stop:
                del into.terms[before[0] :], into.operands[before[1] :], taken[before[2] :]
        if value.dtype is not f32:
            raise _Stop
        if alike(value.shape, shape):
            return into.operand(operand, IMAGE)
        given = (1,) * (len(shape) - len(value.shape)) + tuple(value.shape)
        if value.shape.num_elements() == 1:
            return into.operand(operand, NUMBER)
        if given == self.per_channel:
            return into.operand(operand, CHANNEL)
        raise _Stop

    def _joins(self, node: Node, position: int, number: int, shape: Any, depth: int) -> bool:
        """Whether an operand is itself computed in the chain: elementwise, and nobody else wants it."""
        value = self.program.values[number]
        alone = len(self.uses[number]) == 1 and number not in self.outputs and position not in self.claimed
        known = is_term(node.op) and value.dtype in (f32, bool_)
        return alone and known and alike(value.shape, shape) and depth < DEEPEST and self._is_single(node)

    def _is_single(self, node: Node) -> bool:
        """Whether its operands are of the dtype in which epilogues compute: f32, except for masks."""
        masks = 1 if node.op.name in MASKED else 0
        return sum(self.program.values[number].dtype is not f32 for number in node.reads()) <= masks
