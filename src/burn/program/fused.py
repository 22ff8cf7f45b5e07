"""Fused work: what a node does beside its row. Passes write it, kernels do it, and it can always be written out again.

A fused node has the operands and attributes of its row, then the operands of its *epilogue*: operations that are done
to each element of the result before it is stored. In the layout `CHANNELS_LAST` the images that it reads and makes have
the shape (batch, *spatial, channels), in row-major memory as every value. A block puts several rows behind each other:
`stages` are those before the node's own.

`unfused` gives the rows that such a node stands for. So the rules of the rows check it, and the reference can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.classes import dataclass
from burn.dtype import f32, i64
from burn.ops.op import TABLE, Op
from burn.program.builder import ProgramBuilder
from burn.program.lawful import nowhere
from burn.program.node import Constant, Node, Operand, Scalar, Value
from burn.program.program import Program

CHANNELS_LAST = "channels last"

MADE = -1
"""Refers to the value that the row itself made."""

IMAGE, CHANNEL, NUMBER = "image", "channel", "number"
"""What an operand of an epilogue is: as large as the result, one number a channel, or one number."""

Reference = int | Constant


@dataclass(frozen=True)
class Term:
    """One operation: its row, and what it reads: `MADE`, earlier terms as -2 - index, operands by index, constants."""

    name: str
    reads: tuple[Reference, ...]
    code: str = ""
    """What its element does, where the name does not tell."""


@dataclass(frozen=True)
class Epilogue:
    """Operations in order; the last one is what is stored. `kinds` tells what each operand is."""

    terms: tuple[Term, ...]
    kinds: tuple[str, ...]

    def __repr__(self) -> str:
        return "then " + ", ".join(term.name for term in self.terms)


@dataclass(frozen=True)
class Stage:
    """A row of a block before the last one: it reads the image before it, `operands` others, and its epilogue's."""

    op: Op
    attributes: tuple[Any, ...]
    operands: int
    epilogue: Epilogue | None = None


@dataclass(frozen=True)
class Fused:
    """What a node does beside its row; `plan` is what a device has chosen for it, and no part of what it computes."""

    layout: str | None = None
    epilogue: Epilogue | None = None
    stages: tuple[Stage, ...] = ()
    plan: Any = None

    def __str__(self) -> str:
        before = [f"after {', '.join(stage.op.name for stage in self.stages)}"] if self.stages else []
        after = [str(self.epilogue)] if self.epilogue is not None else []
        return ", ".join([*before, *after, *([f"in {self.layout}"] if self.layout else [])])

    def write(self, rows: Rows) -> tuple[int, ...]:
        """Write the rows that this work stands for: the numbers of the results."""
        return rows.stages()


def to_last(rank: int) -> tuple[int, ...]:
    """The permutation that moves channels to the end."""
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> tuple[int, ...]:
    """The permutation that moves them back."""
    return (0, rank - 1, *range(1, rank - 1))


_IMAGES = {"conv": ((0,), True), "conv_x_backward": ((0,), True), "conv_weight_backward": ((0, 1), False)}
"""Which operands of a row are images, and whether its result is one; of other rows all are."""


def unfused(node: Node, values: Sequence[Value]) -> Program:
    """The rows that a fused node stands for: a program of the values that it reads, in the order of `node.reads()`."""
    assert node.fused is not None
    rows = Rows(node, values)
    return rows.builder.finish(node.fused.write(rows))


class Rows:
    """Writes what a fused node stands for, row by row. `inputs` are the numbers of the values that it reads."""

    def __init__(self, node: Node, values: Sequence[Value]) -> None:
        assert node.fused is not None
        self.node, self.values, self.fused = node, values, node.fused
        ints = [values[number].dtype for number in node.results if values[number].dtype.is_int]
        self.builder = ProgramBuilder(nowhere(f32, ints[0] if ints else i64))
        self.inputs = {number: self.builder.input(*self._described(number)) for number in dict.fromkeys(node.reads())}
        self.builder.scalars = 1 + max((each.slot for each in node.operands if isinstance(each, Scalar)), default=-1)
        self.is_last = self.fused.layout == CHANNELS_LAST

    def _described(self, number: int) -> tuple[Any, Any]:
        return self.values[number].shape, self.values[number].dtype

    def stages(self) -> tuple[int, ...]:
        """Row after row, each with its epilogue."""
        node, operands = self.node, list(self.node.operands)
        own = Stage(node.op, node.attributes, 0, self.fused.epilogue)
        kinds = 0 if own.epilogue is None else len(own.epilogue.kinds)
        image: Operand = None
        for stage in self.fused.stages:
            taken = stage.operands + (0 if stage.epilogue is None else len(stage.epilogue.kinds))
            first = operands[:1] if image is None else []
            given, operands = operands[len(first) : len(first) + taken], operands[len(first) + taken :]
            (image,) = self._stage(stage, [*first, *given[: stage.operands]], given[stage.operands :], image)[:1]
        count = len(operands) - kinds
        results = self._stage(own, operands[:count], operands[count:], image)
        _, made_last = _IMAGES.get(node.op.name, ((), True))
        if self.is_last and made_last:
            results = tuple(self._permuted(each, to_last) for each in results)
        return results

    def _stage(self, stage: Stage, own: list[Operand], extra: list[Operand], image: Operand) -> tuple[int, ...]:
        """The results of a row in logical order, with its epilogue."""
        positions, _ = _IMAGES.get(stage.op.name, (range(len(own)), True))
        shift = 0 if image is None else 1
        operands = [self._logical(each, at + shift in positions) for at, each in enumerate(own)]
        results = self.builder.apply(stage.op, (*([] if image is None else [image]), *operands), stage.attributes)
        return results if stage.epilogue is None else (self._finished(stage.epilogue, results[0], extra), *results[1:])

    def _logical(self, operand: Operand, is_image: bool) -> Operand:
        if not isinstance(operand, int):
            return operand
        number = self.inputs[operand]
        return self._permuted(number, to_first) if is_image and self.is_last else number

    def _permuted(self, number: int, order: Any) -> int:
        axes = order(len(self.builder.values[number].shape))
        return self.apply("permute", (number,), axes)

    def apply(self, name: str, operands: tuple[Operand, ...], *attributes: Any) -> int:
        """The result of a row."""
        return self.builder.apply(TABLE[name], operands, attributes)[0]

    def _finished(self, epilogue: Epilogue, made: int, operands: list[Operand]) -> int:
        """What an epilogue makes of a value."""
        terms: list[int] = []
        for term in epilogue.terms:
            terms.append(self.term(term, made, terms, lambda at: self._operand(operands[at], epilogue.kinds[at])))
        return terms[-1]

    def term(self, term: Term, made: int, terms: list[int], operand: Callable[[int], Operand]) -> int:
        """What one operation makes; `operand` gives those that are neither made here nor constant."""
        op, reads = TABLE[term.name], list[Operand]()
        for name, reference in zip(op.operands, term.reads, strict=True):
            if isinstance(reference, Constant):
                reads.append(self._constant(op, name, reference))
            elif reference < 0:
                reads.append(made if reference == MADE else terms[-2 - reference])
            else:
                reads.append(operand(reference))
        if op.is_elementwise and not any(isinstance(each, int) for each in reads):
            reads[0] = self._filled(reads[0])
        return self.builder.apply(op, tuple(reads))[0]

    def _operand(self, operand: Operand, kind: str) -> Operand:
        if not isinstance(operand, int):
            return operand
        number = self._logical(operand, kind == IMAGE)
        assert isinstance(number, int)
        if kind == NUMBER and self.builder.values[number].shape:
            return self.apply("reshape", (number,), ())
        return number

    def _constant(self, op: Op, name: str, constant: Constant) -> Operand:
        """A number where the row takes one, else a tensor of it."""
        takes_numbers = op.is_elementwise or "Tensor" not in str(op.function.__annotations__.get(name))
        return constant if takes_numbers else self._filled(constant)

    def _filled(self, number: Operand) -> int:
        value = Constant(float(number.value)) if isinstance(number, Constant) else number
        return self.apply("full", (value,), (), f32)
