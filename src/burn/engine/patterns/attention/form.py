"""What one attention does, as data: the fused work of its node.

    out = after(softmax(before(query @ key))) @ value

The node reads query (..., queries, size), key (..., size, keys), value (..., keys, width), and then what the
operations before and after the softmax read.
"""

from __future__ import annotations

from burn.classes import dataclass
from burn.dtype import HALVES, f32, i64
from burn.program.fused import MADE, Fused, Reference, Rows, Term
from burn.program.program import Constant, Operand

LATER = "later"
"""The name of a term that no row has: whether a key comes after a query, moved by a constant."""

TENSOR = "tensor"
"""The kind of an operand that broadcasts to the scores; that of a number given at run time is its dtype."""


@dataclass(frozen=True)
class Form(Fused):
    """Operations on scores and on shares; `order` permutes the dims of the result.

    A quiet softmax has one score more, 0, that weighs no value; its largest score counts as at least `floor`.
    """

    before: tuple[Term, ...] = ()
    after: tuple[Term, ...] = ()
    kinds: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    floor: Reference | None = None

    @property
    def needs_all(self) -> bool:
        """Whether the operations on shares need them all at once; those that only make zeros do not."""
        if not self.after:
            return False
        *masks, last = self.after
        if last.name != "mask_fill" or last.reads[0] != MADE or any(MADE in term.reads for term in masks):
            return True
        zero = last.reads[2]
        return not isinstance(zero, Constant) or zero.value != 0

    def __repr__(self) -> str:
        before, after = (", ".join(term.name for term in terms) for terms in (self.before, self.after))
        return f"({before or 'nothing'} before, {after or 'nothing'} after)"

    __str__ = __repr__

    def write(self, rows: Rows) -> tuple[int, ...]:
        query, key, value, *extra = rows.node.operands
        operands = [self._wide(rows, each) for each in extra]
        scores = rows.apply("matmul", (self._wide(rows, query), self._wide(rows, key)))
        scores = self._terms(rows, self.before, scores, operands)
        last = (len(rows.builder.values[scores].shape) - 1,)
        largest = rows.apply("max_dims", (scores,), last)
        if self.floor is not None:
            floor = self.floor if isinstance(self.floor, Constant) else operands[self.floor]
            largest = rows.apply("clamp_min", (largest, floor))
        powers = rows.apply("exp", (rows.apply("sub", (scores, largest)),))
        total = rows.apply("sum_dims", (powers,), last)
        if self.floor is not None:
            total = rows.apply("add", (total, rows.apply("exp", (rows.apply("neg", (largest,)),))))
        shares = self._terms(rows, self.after, rows.apply("true_div", (powers, total)), operands)
        made = rows.apply("permute", (rows.apply("matmul", (shares, self._wide(rows, value))),), self.order)
        result = rows.values[rows.node.results[0]]
        if result.dtype is not f32:
            made = rows.apply("cast", (made,), result.dtype)
        return (rows.apply("reshape", (made,), tuple(result.shape)),)

    def _wide(self, rows: Rows, operand: Operand) -> Operand:
        """An operand in the dtype in which the kernel computes."""
        if not isinstance(operand, int):
            return operand
        number = rows.inputs[operand]
        return rows.apply("cast", (number,), f32) if rows.builder.values[number].dtype in HALVES else number

    def _terms(self, rows: Rows, terms: tuple[Term, ...], made: int, operands: list[Operand]) -> int:
        done: list[int] = []
        for term in terms:
            if term.name == LATER:
                (offset,) = term.reads
                done.append(self._later(rows, made, offset))
            else:
                done.append(rows.term(term, made, done, operands.__getitem__))
        return done[-1] if done else made

    def _later(self, rows: Rows, made: int, offset: Reference) -> int:
        *_, queries, keys = rows.builder.values[made].shape
        key, query = (
            rows.apply("arange", (Constant(0), Constant(1), Constant(count)), i64) for count in (keys, queries)
        )
        moved = rows.apply("add", (rows.apply("reshape", (query,), (queries, 1)), offset))
        return rows.apply("greater", (key, moved))
