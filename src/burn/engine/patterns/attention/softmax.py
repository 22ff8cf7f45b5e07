"""A softmax on a program, along the last dim: five operations, or nine where it is a quiet one."""

from __future__ import annotations

from typing import Any

from burn.classes import dataclass
from burn.program.program import Node, Program

DIVISIONS = frozenset(("true_div", "div"))


class Declined(Exception):
    """Something else than attention; or attention that stays as it is, then with the reason."""


class Graph:
    """Who makes and who reads the values of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.uses, self.producer = program.uses(), program.producer()
        self.outputs = set(program.outputs)

    def maker(self, number: Any) -> Node:
        """The node that makes a value."""
        position = self.producer.get(number) if isinstance(number, int) else None
        if position is None:
            raise Declined
        return self.program.nodes[position]

    def only(self, number: int, *readers: int) -> bool:
        """Whether a value is read by the nodes at these positions and nobody else."""
        return number not in self.outputs and set(self.uses[number]) == set(readers)

    def alone(self, number: Any) -> int:
        """A value that has one reader, without the repetitions along the row that lead to it."""
        if not isinstance(number, int) or number in self.outputs or len(self.uses[number]) != 1:
            raise Declined
        node = self.maker(number)
        return self.alone(node.operands[0]) if node.op.name == "expand" else number

    def reduced(self, name: str, number: int) -> int:
        """What a value is the reduction of, along the last dim."""
        node = self.maker(number)
        source = node.operands[0] if node.operands else None
        if node.op.name != name or not isinstance(source, int):
            raise Declined
        if tuple(node.attributes[0]) != (len(self.program.values[source].shape) - 1,):
            raise Declined
        return source


@dataclass
class Softmax:
    """The value that is made, the scores, and the node that keeps the largest score of a quiet one from sinking."""

    shares: int
    scores: int
    floor: Node | None


def softmax_of(graph: Graph, number: int) -> Softmax | None:
    """The softmax that a value is, or None; its scores and its exponentials have no other readers."""
    division = graph.maker(number)
    if division.op.name not in DIVISIONS or not isinstance(division.operands[0], int):
        return None
    powers = division.operands[0]
    if powers not in graph.producer or graph.maker(powers).op.name != "exp":
        return None
    (shifted,) = graph.maker(powers).reads()
    shift = graph.maker(shifted)
    scores, top = [*shift.operands, None][:2]
    if shift.op.name != "sub" or not isinstance(scores, int) or not graph.only(shifted, graph.producer[powers]):
        raise Declined
    maker, total = graph.maker(top), graph.alone(division.operands[1])
    floor = maker if maker.op.name == "clamp_min" else None
    if floor is None:
        largest = graph.alone(top)
    else:
        assert isinstance(top, int)
        total, negated = _quiet_total(graph, total)
        if graph.maker(negated).operands[0] != top:
            raise Declined
        if not graph.only(top, graph.producer[shifted], graph.producer[negated]):
            raise Declined
        largest = graph.alone(floor.operands[0])
    if graph.reduced("sum_dims", total) != powers or graph.reduced("max_dims", largest) != scores:
        raise Declined
    if not graph.only(powers, graph.producer[total], graph.producer[number]):
        raise Declined("its exponentials are read elsewhere too")
    if not graph.only(scores, graph.producer[largest], graph.producer[shifted]):
        raise Declined("its scores are read elsewhere too")
    return Softmax(number, scores, floor)


def _quiet_total(graph: Graph, number: int) -> tuple[int, int]:
    """The sum of a total that has one exponential more, and what that is the exponential of."""
    node = graph.maker(number)
    for total, more in (node.operands, node.operands[::-1]) if node.op.name == "add" else ():
        if isinstance(more, int) and more in graph.producer and graph.maker(more).op.name == "exp":
            negated = graph.alone(graph.maker(graph.alone(more)).operands[0])
            if graph.maker(negated).op.name == "neg":
                return graph.alone(total), negated
    raise Declined
