"""What one attention does, as data: the attribute of its node.

    out = after(softmax(before(query @ key))) @ value

The node reads query (..., queries, size), key (..., size, keys), value (..., keys, width), and then what the
operations before and after the softmax read.
"""

from __future__ import annotations

from dataclasses import dataclass

from burn.backend.cpu.lower.epilogue import MADE, Reference, Term
from burn.program.program import Constant

LATER = "later"
"""The name of a term that no row has: whether a key comes after a query, moved by a constant."""

TENSOR = "tensor"
"""The kind of an operand that broadcasts to the scores; that of a number given at run time is its dtype."""


@dataclass(frozen=True)
class Form:
    """Operations on scores and on shares; `order` permutes the dims of the result.

    A quiet softmax has one score more, 0, that weighs no value; its largest score counts as at least `floor`.
    """

    before: tuple[Term, ...]
    after: tuple[Term, ...]
    kinds: tuple[str, ...]
    order: tuple[int, ...]
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
