"""Epilogues: what is done to a result before it is stored.

A convolution is mostly followed by elementwise operations: a bias, an activation, a mask, a residual sum. A kernel
that has the result in registers does them there, and the image goes to memory once. `burn.program.fused` has them as
data; the values that an epilogue reads are the last operands of its node.

Code comes from the same table as that of loops, so NaN and rounding are the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Value
from burn.dtype import f32
from burn.engine.lower.elements import term, written_out
from burn.engine.lower.loop import Argument, Loop
from burn.program.fused import CHANNEL, IMAGE, MADE, NUMBER, Epilogue, Reference, Term
from burn.program.program import Constant, Node, Operand, Program, Scalar

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls


def epilogue_of(node: Node) -> tuple[Epilogue | None, tuple[Operand, ...]]:
    """The epilogue of a node and the operands it reads."""
    found = None if node.fused is None else node.fused.epilogue
    return found, () if found is None else node.operands[len(node.operands) - len(found.kinds) :]


def own_operands(node: Node) -> tuple[Operand, ...]:
    """The operands of the row itself."""
    epilogue, _ = epilogue_of(node)
    return node.operands if epilogue is None else node.operands[: len(node.operands) - len(epilogue.kinds)]


class EpilogueWriter:
    """Writes the epilogue of a node, if any, into its kernel. `before` are steps that bring operands into order."""

    def __init__(self, b: KernelBuilder, node: Node | None, calls: Calls, arguments: list[Argument]) -> None:
        self.b = b
        self.before: list[Loop] = []
        self.epilogue, operands = (None, ()) if node is None else epilogue_of(node)
        self.given: list[Buffer | Value] = []
        for operand in operands:
            if isinstance(operand, Scalar):
                arguments.append(Argument("scalar", operand.slot, dtype=f32))
                self.given.append(b.scalar(f32))
            else:
                assert isinstance(operand, int)
                access = calls.schedule.accesses[operand]
                steps, access = calls.in_order(access, f32)
                self.before.extend(steps)
                arguments.append(Argument("buffer", access.value, access.offset * f32.size))
                self.given.append(b.buffer(f32))

    def key_parts(self) -> tuple[Any, ...]:
        """What the code of the epilogue depends on."""
        terms = None if self.epilogue is None else (self.epilogue.terms, self.epilogue.kinds)
        return terms, tuple(isinstance(held, Buffer) for held in self.given)

    def applied(self, made: Value, place: Value, channel: Value) -> Value:
        """The value to store at `place` of the result, which belongs to `channel`."""
        if self.epilogue is None:
            return made
        b = self.b
        terms: list[Value] = []
        indices: dict[str, Value | int] = {IMAGE: place, CHANNEL: channel, NUMBER: 0}
        loaded: dict[int, Value] = {}

        def read(reference: int | Constant) -> Value:
            if isinstance(reference, Constant):
                return b.const(f32, reference.value)
            if reference < 0:
                return made if reference == MADE else terms[-2 - reference]
            if reference not in loaded:
                held = self.given[reference]
                kind = self.epilogue.kinds[reference] if self.epilogue else NUMBER
                loaded[reference] = b.load(held, indices[kind]) if isinstance(held, Buffer) else held
            return loaded[reference]

        for each in self.epilogue.terms:
            terms.append(term(b, each.name, *(read(reference) for reference in each.reads)))
        return terms[-1]


class Collector:
    """Collects the terms of one epilogue and the operands they read."""

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.operands: list[tuple[Any, str]] = []  # numbers of values or scalars, and what they are

    def operand(self, given: Any, kind: str) -> int:
        """The reference of an operand; the same one is read once."""
        if (given, kind) not in self.operands:
            self.operands.append((given, kind))
        return self.operands.index((given, kind))

    def add(self, name: str, reads: Sequence[Reference], code: str = "") -> int:
        """Another term; gives its reference."""
        self.terms.append(Term(name, tuple(reads), code))
        return -1 - len(self.terms)

    def add_node(self, program: Program, node: Node, reads: Sequence[Reference]) -> int:
        """A node as a term."""
        numbers = {position: each.value for position, each in enumerate(reads) if isinstance(each, Constant)}
        return self.add(node.op.name, reads, written_out(program, node, numbers))

    def finish(self) -> Epilogue:
        """The epilogue."""
        return Epilogue(tuple(self.terms), tuple(kind for _, kind in self.operands))
