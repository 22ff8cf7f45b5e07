"""Functions of named sizes, written out and compiled: from the shapes of a run to every number of a frozen plan.

Expressions are data. The text of a function is made of their terms alone: sizes are called by their positions, so
nothing of a name, or of a file, becomes source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from burn.backend.cpu.frozen.form import RELATIONS, Form
from burn.dim import Atom, Dim, Linear, Operation

Numbers = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]
"""The values of a form's expressions, the bytes of its rooms, the shapes of its results, the sizes of its checks."""

Function = Callable[[Sequence[tuple[int, ...]]], "Numbers | None"]


def of_form(form: Form) -> list[Dim]:
    """The expressions in the slots and steps of a form, each once, in the order in which they are met."""
    return list(dict.fromkeys(each for each in _numbers(form) if isinstance(each, Dim)))


def _numbers(form: Form) -> Iterator[Linear]:
    for slot in form.slots:
        yield slot.amount
    for step in form.steps:
        yield step.extent
        yield step.grain


def function_of(form: Form, expressions: Sequence[Dim]) -> Function:
    """What computes every number from the shapes of the inputs; None where the form does not hold for them.

    Shapes of another rank raise a ValueError.
    """
    names = {found.name: f"s{position}" for position, found in enumerate(form.sizes)}
    lines = ["def function(shapes):"]
    if form.given:
        dims = [[f"d{i}_{j}" for j in range(len(each.shape))] for i, each in enumerate(form.given)]
        lines.append(f"    {_tuple([_tuple(each) for each in dims])} = shapes")
    else:
        dims = []
    known = set()
    for found in form.sizes:
        where, dim = dims[found.given][found.dim], form.given[found.given].shape[found.dim]
        if dim == Dim(found.name):
            known.add((found.given, found.dim))
            lines.append(f"    {names[found.name]} = {where}")
        else:  # that nothing is left of the division is one of the conditions
            times, more = _parts(dim, found.name)
            lines.append(f"    {names[found.name]} = ({where} - {text_of(more, names)})//{times}")
    conditions = [f"{names[each.name]} >= {0 if each.name.startswith('?') else 1}" for each in form.sizes]
    for i, each in enumerate(form.given):
        for j, dim in enumerate(each.shape):
            if (i, j) not in known:
                conditions.append(f"{dims[i][j]} == {text_of(dim, names)}")
    for relation, dim in form.assumptions:
        assert relation in RELATIONS
        conditions.append(f"{text_of(dim, names)} {relation} 0")
    if conditions:
        lines += [f"    if not ({' and '.join(conditions)}):", "        return None"]
    values = _tuple(text_of(each, names) for each in expressions)
    rooms = _tuple(_largest([text_of(each, names) for each in room]) for room in form.rooms)
    shapes = _tuple(_tuple(text_of(dim, names) for dim in each.shape) for each in form.results)
    checks = _tuple(text_of(each.size, names) for each in form.checks)
    lines.append(f"    return {values}, {rooms}, {shapes}, {checks}")
    space: dict[str, Any] = {"__builtins__": {}, "min": min, "max": max}
    exec(compile("\n".join(lines), "<frozen plan>", "exec"), space)
    function: Function = space["function"]
    return function


def only_name(value: Linear) -> str | None:
    """The named size that follows from a number, where there is one: that of `3*n + 2` is `n`."""
    if not isinstance(value, Dim) or not value.is_integral:
        return None
    names = value.symbols()
    return names[0] if len(names) == 1 and _parts(value, names[0])[0] > 0 else None


def _parts(value: Linear, name: str) -> tuple[int, int]:
    """What a named size is multiplied by in a number, and what is added to it; 0 and 0 where there is more to it."""
    terms = dict(value.terms) if isinstance(value, Dim) else {}
    if not terms.keys() <= {(name,), ()}:
        return 0, 0
    return int(terms.get((name,), 0)), int(terms.get((), 0))


def text_of(value: Linear, names: dict[str, str]) -> str:
    """A number as source, in brackets where it is more than one word."""
    if not isinstance(value, Dim):
        return str(int(value)) if value >= 0 else f"({int(value)})"
    common = math.lcm(*(Fraction(factor).denominator for _, factor in value.terms))
    pieces = []
    for atoms, factor in value.terms:
        whole = int(factor * common)
        words = [_atom(each, names) for each in atoms]
        if whole != 1 or not words:
            words.insert(0, str(whole))
        pieces.append("*".join(words))
    total = f"({' + '.join(pieces)})"
    return total if common == 1 else f"({total}//{common})"


def _atom(atom: Atom, names: dict[str, str]) -> str:
    if isinstance(atom, str):
        return names[atom]
    left, right = text_of(atom.left, names), text_of(atom.right, names)
    return f"({left}//{right})" if atom.operation == "//" else f"{_called(atom)}({left}, {right})"


def _called(atom: Operation) -> str:
    assert atom.operation in ("min", "max")
    return atom.operation


def _largest(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"


def _tuple(texts: Iterable[str]) -> str:
    return f"({''.join(f'{each}, ' for each in texts)})"
