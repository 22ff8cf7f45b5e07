"""Attention on a program: two products with a softmax between them that nobody else reads.

    products = query @ key                     one reader each,
    scores   = ... products ...                any elementwise operations: scales, biases, caps, masks
    powers   = exp(scores - max(scores))       along the last dim
    shares   = powers / sum(powers)
    result   = ... shares ... @ value          and where its dims are then permuted, it is made so

The quiet softmax, whose largest score is at least a number and whose sum has its exponential, is one too. What training
keeps of all this is read by the gradients, so it stays in steps there. f16 and bf16 are rounded once, at the end.
"""

from __future__ import annotations

from math import prod
from typing import Any

from burn.dtype import f32
from burn.engine.lower.elements import computed, is_term
from burn.engine.lower.epilogue import Collector
from burn.engine.patterns.attention.form import Form
from burn.engine.patterns.attention.operations import Reader, Unreadable
from burn.engine.patterns.attention.softmax import Declined, Graph, Softmax, softmax_of
from burn.engine.patterns.kernels import Kernels, Sizes
from burn.ops.op import TABLE
from burn.program.passes import Explanation, rebuild, remove_dead
from burn.program.program import Node, Program

LONGEST = 12
"""Operations between a product and the softmax, at most."""


def fuse_attention(program: Program, notes: Explanation, kernels: Kernels) -> Program:
    """Make each attention one node."""
    names = {node.op.name for node in program.nodes}
    return _Finder(program, notes, kernels).run() if {"matmul", "exp", "max_dims"} <= names else program


def is_known(node: Node) -> bool:
    """Whether the kernel can do what a node does to each element."""
    return is_term(node.op) or node.op.name == "cast"


class _Finder:
    def __init__(self, program: Program, notes: Explanation, kernels: Kernels) -> None:
        self.program, self.notes, self.kernels, self.graph = program, notes, kernels, Graph(program)
        self.leads = self._lead()

    def run(self) -> Program:
        made: dict[int, Node] = {}
        dropped: set[int] = set()
        for position, node in enumerate(self.program.nodes):
            if node.op.name != "matmul" or len(node.operands) != 2:
                continue
            try:
                made[position], moves = self._attention(position, node)
                dropped.update(moves)
            except (Declined, Unreadable) as reason:
                if str(reason):
                    self.notes.decline("attention", str(reason))
        if not made:
            return self.program
        nodes = [made.get(at, node) for at, node in enumerate(self.program.nodes) if at not in dropped]
        return remove_dead(rebuild(self.program, nodes, {}, self.program.outputs), self.notes)

    def _attention(self, position: int, node: Node) -> tuple[Node, list[int]]:
        """The node of an attention that ends with a product, and the positions of the moves that it takes in."""
        weights, value = node.reads()
        self.reader = Reader(self.program, self.graph.producer, self.program.values[weights].shape)
        after, softmax = self._back(weights, position, self._softmax)
        before, products = self._back(softmax.scores, None, self._product)
        query, key = products.reads()
        values = [self.program.values[number] for number in (query, key, value, node.results[0])]
        if any(computed(each.dtype) is not f32 for each in values):
            raise Declined("it is neither of f32 nor of a half of it")
        shape, made = self.program.values[weights].shape, values[-1].shape
        if made[:-1] != shape[:-1]:
            raise Declined("values with more dims than scores have no kernel")
        first, second = Collector(), Collector()
        second.operands = first.operands
        self.reader.collect(before, products.results[0], first)
        self.reader.collect(after, softmax.shares, second)
        floor = None if softmax.floor is None else self.reader.number(softmax.floor, softmax.floor.operands[1], first)
        order, result, moves = self._moved(node.results[0])
        kinds = tuple(kind for _, kind in first.operands)
        form = Form(before=tuple(first.terms), after=tuple(second.terms), kinds=kinds, order=order, floor=floor)
        sizes = Sizes(prod(made[:-2]), made[-2], shape[-1], values[0].shape[-1], made[-1])
        if 0 in made or not self.kernels.attention(sizes, form.needs_all):
            raise Declined("these sizes are faster in steps")
        operands = (query, key, value, *(given for given, _ in first.operands))
        return Node(TABLE["attention"], operands, (), (result,), form), moves

    def _moved(self, number: int) -> tuple[tuple[int, ...], int, list[int]]:
        """The order in which the result is made, its number, and the positions of the moves that this saves."""
        order: tuple[int, ...] = tuple(range(len(self.program.values[number].shape)))
        taken: list[int] = []
        for name in ("permute", "reshape"):
            readers = self.graph.uses[number]
            if len(readers) != 1 or number in self.graph.outputs:
                break
            reader = self.program.nodes[readers[0]]
            if reader.op.name == name:
                order = tuple(reader.attributes[0]) if name == "permute" else order
                number = reader.results[0]
                taken.append(readers[0])
        return order, number, taken

    # Backwards from a value

    def _back(self, number: int, reader: int | None, ends: Any) -> tuple[list[Node], Any]:
        """The elementwise operations that lead to a value, first to last, and what `ends` says of their beginning.

        Each value is read by the next operation and nobody else, but for masks that are made for that operation.
        """
        chain: list[Node] = []
        shape = self.program.values[number].shape
        while True:
            if reader is not None and not self.graph.only(number, reader, *self._masks(number, reader)):
                raise Declined
            found = ends(number)
            if found is not None:
                return chain[::-1], found
            node, reader = self.graph.maker(number), self.graph.producer[number]
            if len(chain) == LONGEST or not is_known(node) or self.program.values[number].shape != shape:
                raise Declined
            chain.append(node)
            number = self._through(node)

    def _masks(self, number: int, reader: int) -> list[int]:
        """The operations that make a mask of a value, for an operation on the same value alone."""
        found: list[int] = []
        for position in self.graph.uses[number]:
            node = self.program.nodes[position]
            if position != reader and self.reader.is_mask(node) and self.graph.only(node.results[0], reader):
                found.append(position)
        return found

    def _through(self, node: Node) -> int:
        """The operand by which a chain goes on: a product lies behind it."""
        shape = self.program.values[node.results[0]].shape
        for number in node.reads():
            if number in self.leads and self.program.values[number].shape == shape:
                return number
        raise Declined

    def _lead(self) -> set[int]:
        """The values that come from a product by elementwise operations on f32 of one shape."""
        found: set[int] = set()
        for node in self.program.nodes:
            result = node.results[0]
            value = self.program.values[result]
            if computed(value.dtype) is not f32:
                continue
            if node.op.name == "matmul" or (
                is_known(node)
                and any(each in found and self.program.values[each].shape == value.shape for each in node.reads())
            ):
                found.add(result)
        return found

    def _softmax(self, number: int) -> Softmax | None:
        """The softmax that a value is."""
        return softmax_of(self.graph, number)

    def _product(self, number: int) -> Node | None:
        """The product that made a value."""
        node = self.graph.maker(number)
        return node if node.op.name == "matmul" and len(node.operands) == 2 else None
