"""Convolutions of f16 and bf16: they are stored so, computed in f32, and rounded once.

Their kernels know f32 alone. Operands are cast before and results after; the casts join whatever loops are there.
"""

from __future__ import annotations

from burn.dtype import HALVES, DType, f32
from burn.engine.patterns.convolutions import CONVOLUTIONS
from burn.ops.op import TABLE
from burn.program.passes import Explanation
from burn.program.program import Node, Operand, Program, Value


def widen_halves(program: Program, notes: Explanation) -> Program:
    """The program with casts around convolutions of halves."""
    if not any(_is_half(program, node) for node in program.nodes):
        return program
    return _Widening(program).run()


def _is_half(program: Program, node: Node) -> bool:
    return node.op.name in CONVOLUTIONS and program.values[node.results[0]].dtype in HALVES


class _Widening:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.values = list(program.values[: program.inputs])
        self.nodes: list[Node] = []
        self.numbers = {number: number for number in range(program.inputs)}

    def run(self) -> Program:
        program = self.program
        for node in program.nodes:
            operands = tuple(self._current(each) for each in node.operands)
            made = [program.values[number] for number in node.results]
            if not _is_half(program, node):
                self.numbers.update(zip(node.results, self._add(node, operands, made), strict=True))
                continue
            wide = tuple(self._cast(each, f32) if isinstance(each, int) else each for each in operands)
            results = self._add(node, wide, [Value(value.shape, f32) for value in made])
            for number, result, value in zip(node.results, results, made, strict=True):
                self.numbers[number] = self._cast(result, value.dtype)
        outputs = tuple(self.numbers[number] for number in program.outputs)
        return Program(tuple(self.values), program.inputs, program.scalars, tuple(self.nodes), outputs, program.names)

    def _current(self, operand: Operand) -> Operand:
        if isinstance(operand, int):
            return self.numbers[operand]
        return tuple(self.numbers[number] for number in operand) if isinstance(operand, tuple) else operand

    def _cast(self, number: int, dtype: DType) -> int:
        value = self.values[number]
        if value.dtype is dtype:
            return number
        cast = Node(TABLE["cast"], (), (dtype,), ())
        return self._add(cast, (number,), [Value(value.shape, dtype)])[0]

    def _add(self, like: Node, operands: tuple[Operand, ...], made: list[Value]) -> tuple[int, ...]:
        results = tuple(range(len(self.values), len(self.values) + len(made)))
        self.values += made
        self.nodes.append(Node(like.op, operands, like.attributes, results))
        return results
