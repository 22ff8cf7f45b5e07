"""Which keys no query of a tile sees: where a mask hides what comes later, the tiles of those keys are left out.

Nothing is guessed. The mask must be made of the positions themselves, possibly joined to others by `or`, and what
hidden scores are filled with must make their shares zero; a fill that is given at run time is tested there.
"""

from __future__ import annotations

from burn.classes import dataclass
from burn.engine.patterns.attention.form import LATER, TENSOR, Form
from burn.program.fused import MADE, Reference, Term
from burn.program.program import Constant

OR = frozenset(("bitwise_or", "bool_or"))

NOTHING = -1e30
"""Scores at most this large have a share of zero beside a score that a query and a key can have."""

INFINITE = float("-inf")


@dataclass(frozen=True)
class Causal:
    """Query q sees no key after q + offset, if `fill` is at most `limit` and `zero` (where there is one) is 0."""

    offset: int
    fill: Reference
    limit: float
    zero: Reference | None


def causal_of(form: Form) -> Causal | None:
    """What is known of the keys that come later, or None."""
    if not form.before or form.before[-1].name != "mask_fill":
        return None
    _, mask, fill = form.before[-1].reads
    offset = _offset(form.before, mask)
    if offset is None:
        return None
    if not form.after:
        # A row without any key in sight is NaN for infinities, but the mean of all values for finite fills.
        alone = isinstance(mask, int) and form.before[-2 - mask].name == LATER
        return _possible(form, Causal(offset, fill, NOTHING if alone and offset >= 0 else INFINITE, None))
    last = form.after[-1]
    if last.name != "mask_fill" or len(form.after) < 2:
        return None
    made, hidden, zero = last.reads
    if made != MADE or _offset(form.after, hidden) != offset:
        return None
    return _possible(form, Causal(offset, fill, NOTHING, zero))


def _possible(form: Form, found: Causal) -> Causal | None:
    """None where a number is known and wrong, or is none."""
    for reference in (found.fill, found.zero):
        if isinstance(reference, int) and (reference < 0 or form.kinds[reference] == TENSOR):
            return None
    fill = isinstance(found.fill, Constant) and not found.fill.value <= found.limit
    zero = isinstance(found.zero, Constant) and found.zero.value != 0
    return None if fill or zero else found


def _offset(terms: tuple[Term, ...], reference: Reference) -> int | None:
    """The smallest offset of a mask of later keys that alone makes a condition true."""
    if isinstance(reference, Constant) or reference >= MADE:
        return None
    term = terms[-2 - reference]
    if term.name == LATER:
        (offset,) = term.reads
        assert isinstance(offset, Constant)
        return int(offset.value)
    if term.name not in OR:
        return None
    found = [offset for offset in (_offset(terms, each) for each in term.reads) if offset is not None]
    return min(found, default=None)
