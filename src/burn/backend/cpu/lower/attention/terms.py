"""The operations on scores and shares in a kernel: what they read, and their code.

Lanes go along queries. A tensor in which queries do not lie side by side is copied so first; one that is the same for
all queries, as a mask of padding is, is read number by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.cube.ir import Value
from burn.dtype import dtype as dtype_named
from burn.dtype import f32, i64
from burn.engine.lower.elements import term
from burn.engine.lower.writer import KernelWriter, Source, Steps, plus, times
from burn.engine.patterns.attention.form import LATER, Form
from burn.engine.schedule.access import Access
from burn.engine.schedule.images import permuted
from burn.program.fused import MADE, Reference, Term
from burn.program.program import Constant, Scalar

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls
    from burn.engine.lower.loop import Loop


class TermWriter:
    """Declares the operands of terms, and writes the terms. `steps` bring operands into order before."""

    def __init__(
        self, w: KernelWriter, calls: Calls, form: Form, operands: Sequence[Any], scores: tuple[int, ...]
    ) -> None:
        self.w, self.calls, self.scores = w, calls, scores
        self.steps: list[Loop] = []
        self.accesses: dict[str, Access] = {}
        self.given = [
            w.given(operand, dtype_named(kind)) if isinstance(operand, Scalar) else self._tensor(position, operand)
            for position, (operand, kind) in enumerate(zip(operands, form.kinds, strict=True))
        ]

    def _tensor(self, position: int, number: int) -> Source:
        dtype = self.calls.program.values[number].dtype
        access = self.calls.schedule.accesses[number].broadcast(self.scores)
        if access.strides[-2] not in (0, 1):
            shape = tuple(1 if stride == 0 else size for size, stride in zip(access.shape, access.strides, strict=True))
            turned = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
            narrow = Access(access.value, shape, access.strides, access.offset)
            step, copy = self.calls.copy(permuted(narrow, turned), dtype)
            self.steps.append(step)
            access = permuted(copy, turned).broadcast(access.shape)
        self.accesses[_name(position)] = access
        return self.w.source_at(access, dtype)

    def key_parts(self) -> list[Any]:
        """What the code depends on, beside the terms and the strides."""
        return [(isinstance(each, Source), each.dtype.name) for each in self.given]

    def number(self, reference: Reference) -> Value:
        """A number that is the same for all scores."""
        if isinstance(reference, Constant):
            return self.w.b.const(f32, reference.value)
        held = self.given[reference]
        assert isinstance(held, Value)
        return held

    def applied(self, terms: Sequence[Term], made: Value, query: Value, key: Value, bases: Steps) -> Value:
        """What terms make of a score or a share."""
        b = self.w.b
        done: list[Value] = []
        loaded: dict[int, Value] = {}

        def read(reference: Reference) -> Value:
            if isinstance(reference, Constant):
                return b.const(f32, reference.value)
            if reference < 0:
                return made if reference == MADE else done[-2 - reference]
            if reference not in loaded:
                held = self.given[reference]
                loaded[reference] = (
                    held if isinstance(held, Value) else self._element(reference, held, query, key, bases)
                )
            return loaded[reference]

        for each in terms:
            if each.name == LATER:
                (offset,) = each.reads
                assert isinstance(offset, Constant)
                done.append(key > query + int(offset.value))
            else:
                done.append(term(b, each.name, *map(read, each.reads)))
        return done[-1] if done else made

    def _element(self, position: int, source: Source, query: Value, key: Value, bases: Steps) -> Value:
        name = _name(position)
        of_query, of_key = self.accesses[name].strides[-2:]
        place = plus(bases.get(name, 0), plus(times(query, of_query), times(key, of_key)))
        return self.w.load(source, place if isinstance(place, Value) else self.w.b.const(i64, place))


def _name(position: int) -> str:
    return f"operand {position}"
