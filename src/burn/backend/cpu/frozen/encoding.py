"""The form of a frozen plan as JSON, and back.

A number is an int, or a list that holds the index of an expression; an expression is a list of terms `[numerator,
denominator, [atom, ...]]`, where an atom is the index of a named size or `[operation, left, right]`. Reading is strict:
what does not hold together is `Malformed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from burn.backend.cpu.frozen.expressions import only_name
from burn.backend.cpu.frozen.form import (
    CONSTANT,
    RELATIONS,
    Check,
    Described,
    Form,
    Found,
    Slot,
    Step,
)
from burn.dim import Atom, Dim, Linear, Monomial, Number, Operation, TooComplex, assembled
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError

T = TypeVar("T")

DEEPEST = 32
"""Of operations inside of operations."""
LARGEST = 1 << 63
OPERATIONS = ("//", "min", "max")
_is_symbol = re.compile(r"[\w.$]{1,200}", re.ASCII).fullmatch
_is_name = re.compile(r"\??[\w.]{1,200}").fullmatch


class Malformed(ValueError):
    """Data that is no form."""


def encode(form: Form) -> bytes:
    """A form as JSON."""
    writer = _Writer([found.name for found in form.sizes])
    number = writer.number
    data = {
        "kernels": form.kernels,
        "steps": [[s.kernel, s.slot, number(s.extent), number(s.grain), s.label] for s in form.steps],
        "slots": [part for s in form.slots for part in (s.kind, s.which, number(s.amount))],
        "given": [writer.described(each) for each in form.given],
        "results": [writer.described(each) for each in form.results],
        "outputs": form.outputs,
        "constants": form.constants,
        "rooms": [[number(each) for each in room] for room in form.rooms],
        "checks": [[check.operation, check.dim, number(check.size)] for check in form.checks],
        "sizes": [list(found) for found in form.sizes],
        "assumptions": [[relation, number(dim)] for relation, dim in form.assumptions],
        "threads": form.threads,
        "expressions": writer.expressions,
    }
    return json.dumps(data, separators=(",", ":")).encode()


class _Writer:
    """Expressions by number, as they are met."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = {name: index for index, name in enumerate(names)}
        self.expressions: list[Any] = []
        self._known: dict[Dim, int] = {}

    def number(self, value: Linear) -> Any:
        if not isinstance(value, Dim):
            return int(value)
        index = self._known.get(value)
        if index is None:
            index = self._known[value] = len(self.expressions)
            self.expressions.append(self._terms(value))
        return [index]

    def described(self, array: Described) -> Any:
        return [[self.number(dim) for dim in array.shape], array.dtype]

    def _terms(self, value: Dim) -> Any:
        return [[n.numerator, n.denominator, [self._atom(each) for each in atoms]] for atoms, n in value.terms]

    def _atom(self, atom: Atom) -> Any:
        if isinstance(atom, str):
            return self.names[atom]
        left, right = (self._terms(side) if isinstance(side, Dim) else side for side in (atom.left, atom.right))
        return [atom.operation, left, right]


def decode(text: bytes) -> Form:
    """The form that `encode` wrote; `Malformed` for anything else."""
    try:
        data = json.loads(text)
        return _Reader(data).form()
    except (ValueError, TypeError, KeyError, RecursionError, TooComplex, DTypeError) as error:
        raise Malformed(f"frozen plan: {error}") from None


class _Reader:
    """One form, as it is checked."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        sizes = self._each("sizes", 3, lambda name, given, dim: Found(_text(name, _is_name), given, dim))
        self.sizes = sizes
        self.names = [found.name for found in sizes]
        _hold(len(set(self.names)) == len(self.names), "a named size twice")
        self.expressions = [self._expression(each, 0) for each in _list(data["expressions"])]

    def form(self) -> Form:
        data, number = self.data, self._number
        given, results = (self._each(part, 2, self._described) for part in ("given", "results"))
        constants = tuple(_within(each, LARGEST) for each in _list(data["constants"]))
        rooms = tuple(tuple(number(each, 0) for each in _list(room)) for room in _list(data["rooms"]))
        _hold(all(rooms), "a room of nothing")
        checks = self._each("checks", 3, lambda op, dim, size: Check(_text(op), _within(dim, 1 << 16), number(size, 0)))
        kernels = tuple(_text(each, _is_symbol) for each in _list(data["kernels"]))
        _hold(len(set(kernels)) == len(kernels), "a kernel twice")
        places = len(given) + len(results)
        counts = [1, len(rooms), len(constants), places, len(checks)]  # by kind
        slots = self._slots(counts, constants)

        def step(kernel: Any, slot: Any, extent: Any, grain: Any, label: Any) -> Step:
            first, cut = _within(slot, len(slots) + 1), (number(extent, 0), number(grain, 1))
            return Step(_within(kernel, len(kernels)), first, *cut, _text(label))

        steps = self._each("steps", 5, step)
        outputs = tuple(_within(each, places) for each in _list(data["outputs"]))
        for found in self.sizes:
            _hold(_within(found.dim, len(given[_within(found.given, len(given))].shape)) >= 0, "no dim")
            _hold(only_name(given[found.given].shape[found.dim]) == found.name, "a size that is not where it is said")
        return Form(
            kernels, steps, slots, given, results, outputs, constants, rooms, checks, self.sizes, self._assumptions(),
            1 + _within(data["threads"] - 1, 1 << 20),
        )  # fmt: skip

    def _slots(self, counts: Sequence[int], constants: Sequence[int]) -> tuple[Slot, ...]:
        """The slots, which are most of a form: looked at in columns."""
        words = _list(self.data["slots"])
        kinds, which, amounts = words[0::3], words[1::3], words[2::3]
        _hold(len(words) % 3 == 0 and set(map(type, kinds + which)) <= {int}, "slots of another form")
        _hold(min(kinds, default=0) >= 0 and max(kinds, default=0) < len(counts), "slots of an unknown kind")
        _hold(all(0 <= at < counts[kind] for kind, at in zip(kinds, which)), "slots of what there is not")
        whole = [each for each in amounts if type(each) is int]
        _hold(min(whole, default=0) >= -LARGEST and max(whole, default=0) < LARGEST, "a number that is too large")
        numbers = [each if type(each) is int else self._number(each) for each in amounts]
        slots = tuple(map(Slot, kinds, which, numbers))
        for slot in slots:
            if slot.kind == CONSTANT and not isinstance(slot.amount, Dim):
                _hold(0 <= slot.amount <= constants[slot.which], "a place outside of a constant")
        return slots

    def _assumptions(self) -> tuple[tuple[str, Dim], ...]:
        found: list[tuple[str, Dim]] = []
        for relation, index in map(_list, self.data["assumptions"]):
            dim = self._number(index)
            if relation not in RELATIONS or not isinstance(dim, Dim):
                raise Malformed("an assumption about nothing")
            found.append((relation, dim))
        return tuple(found)

    def _each(self, part: str, length: int, made: Callable[..., T]) -> tuple[T, ...]:
        rows = [_list(row) for row in _list(self.data[part])]
        _hold(all(len(row) == length for row in rows), f"{part} of another form")
        return tuple(made(*row) for row in rows)

    def _described(self, shape: Any, kind: Any) -> Described:
        return Described(tuple(self._number(dim, 0) for dim in _list(shape)), as_dtype(_text(kind)).name)

    def _number(self, value: Any, least: int | None = None) -> Linear:
        if isinstance(value, list):
            _hold(len(value) == 1, "a number that is none")
            return self.expressions[_within(value[0], len(self.expressions))]
        return _whole(value, least)

    def _expression(self, rows: Any, depth: int) -> Dim:
        _hold(depth < DEEPEST, "expressions too deep")
        terms: dict[Monomial, Number] = {}
        for row in _list(rows):
            numerator, denominator, atoms = _list(row)
            factor = Fraction(_whole(numerator), _whole(denominator, 1))
            atoms = tuple(self._atom(each, depth) for each in _list(atoms))
            terms[atoms] = factor.numerator if factor.denominator == 1 else factor
        made = assembled(terms)
        if not isinstance(made, Dim):
            raise Malformed("an expression that is a number")
        return made

    def _atom(self, atom: Any, depth: int) -> Atom:
        if not isinstance(atom, list):
            return self.names[_within(atom, len(self.names))]
        operation, left, right = atom
        _hold(operation in OPERATIONS, "an unknown operation")
        sides = [self._expression(s, depth + 1) if isinstance(s, list) else _whole(s) for s in (left, right)]
        _hold(operation != "//" or sides[1] != 0, "a division by zero")
        return Operation(operation, *sides)


def _hold(condition: bool, fault: str) -> None:
    if not condition:
        raise Malformed(fault)


def _list(value: Any) -> list[Any]:
    _hold(isinstance(value, list), "no list")
    return value  # type: ignore[no-any-return]


def _text(value: Any, matches: Callable[[str], Any] = bool) -> str:
    _hold(isinstance(value, str) and bool(matches(value) or (value == "" and matches is bool)), "no text")
    return value  # type: ignore[no-any-return]


def _whole(value: Any, least: int | None = None) -> int:
    _hold(isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value < LARGEST, "no number")
    _hold(least is None or value >= least, "a number that is too small")
    return value  # type: ignore[no-any-return]


def _within(value: Any, most: int) -> int:
    found = _whole(value, 0)
    _hold(found < most, "a number that is too large")
    return found
