"""Recordings for every size: where a file leaves a size open and calls differ in it, one recording serves them.

The first call of a model is recorded as it is. When a second one has other sizes, the graph is evaluated with sizes
that write down what is asked of them (`burn.symbolic`), and the segments are plans for any size. Later calls for whose
sizes the assumptions hold play that recording; a call for which they do not gets one of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from burn.dim import Dim
from burn.shape import Shape
from burn.symbolic import Assumptions
from burn_import.onnx.running.tape import Tape

MOST_OPENED = 8
"""Recordings of one kind of call that serve many sizes."""

MOST_FAILURES = 3
"""Recordings that need a size as a number, before it is left as it is."""

Array = np.ndarray[Any, Any]
Place = tuple[int, int]  # an input, and one of its dims
Shapes = tuple[tuple[int, ...], ...]
Record = Callable[[Tape, list[Array], Sequence[Shape]], "dict[str, Any] | None"]


class Opened:
    """A recording that serves every size for which its assumptions hold."""

    def __init__(self, tape: Tape, assumptions: Assumptions, places: Sequence[Sequence[Place]], shapes: Shapes) -> None:
        self.tape = tape
        self._assumptions = assumptions
        self._places, self._holds = places, assumptions.function()
        self._open = {place for together in places for place in together}
        self._closed = self._closed_sizes(shapes)

    def serves(self, shapes: Shapes) -> bool:
        """Whether it is for inputs of these shapes."""
        if self._closed_sizes(shapes) != self._closed:
            return False
        numbers = []
        for places in self._places:
            (first, dim), *others = places
            numbers.append(shapes[first][dim])
            if any(shapes[each][at] != numbers[-1] for each, at in others):
                return False
        return self._holds(*numbers)

    def guard(self, given: Sequence[Array]) -> str:
        """For which shapes of inputs it holds, as data."""
        from burn.backend.cpu.frozen.encoding import encode
        from burn.backend.cpu.frozen.form import Described, Form, Found

        names = self._assumptions.names
        named = {place: Dim(name) for name, together in zip(names, self._places) for place in together}
        described = tuple(
            Described(tuple(named.get((number, dim), size) for dim, size in enumerate(array.shape)), array.dtype.name)
            for number, array in enumerate(given)
        )
        found = tuple(Found(name, *together[0]) for name, together in zip(names, self._places))
        form = Form((), (), (), described, (), (), (), sizes=found, assumptions=tuple(self._assumptions.found))
        return encode(form).decode()

    def _closed_sizes(self, shapes: Shapes) -> list[int]:
        return [
            size
            for number, shape in enumerate(shapes)
            for dim, size in enumerate(shape)
            if (number, dim) not in self._open
        ]


class Family:
    """Calls that differ in nothing but sizes."""

    def __init__(self) -> None:
        self.shapes: list[Shapes] = []
        """Of the last two calls that were unlike: they tell which sizes change."""
        self.opened: list[Opened] = []
        self.failures: Counter[Place] = Counter()
        """How often a recording needed a size as a number: once may be by chance, where it equals another one."""


class OpenSizes:
    """The recordings of a model that serve many sizes."""

    def __init__(self, sizes: Sequence[tuple[int | None, ...] | None], record: Record) -> None:
        self._sizes, self._record = sizes, record
        self._families: dict[Any, Family] = {}

    def find(self, given: list[Array]) -> Tape | None:
        """A recording for these inputs that was made for others."""
        shapes = _shapes(given)
        found = self._family(given).opened
        return next((each.tape for each in found if each.serves(shapes)), None)

    def record(self, given: list[Array]) -> tuple[Opened, dict[str, Any]] | None:
        """Record with open sizes where calls turned out to differ; None where a call gets a recording of its own."""
        family, shapes = self._family(given), _shapes(given)
        if shapes not in family.shapes:
            family.shapes = [*family.shapes[-1:], shapes]
        places = self._changing(family, shapes)
        while places and len(family.opened) < MOST_OPENED:
            assumptions, tape = Assumptions(), Tape()
            found = self._recorded(assumptions, tape, given, places)
            if found is None:
                family.failures.update(place for together in places for place in together)
                return None
            pinned = assumptions.pinned()
            if not pinned:
                family.opened.append(Opened(tape, assumptions, places, shapes))
                return family.opened[-1], found
            for number in pinned:
                family.failures.update(places[number])
            if len(pinned) == len(places):
                return None
            places = [each for number, each in enumerate(places) if number not in pinned]
        return None

    def _recorded(
        self, assumptions: Assumptions, tape: Tape, given: list[Array], places: Sequence[Sequence[Place]]
    ) -> dict[str, Any] | None:
        opened: Mapping[int, dict[int, Any]] = {number: {} for number in range(len(given))}
        for together in places:
            (first, at), *_ = together
            size = assumptions.symbol(given[first].shape[at])
            for number, dim in together:
                opened[number][dim] = size
        shapes = [
            Shape([opened[number].get(dim, size) for dim, size in enumerate(array.shape)])
            for number, array in enumerate(given)
        ]
        try:
            found = self._record(tape, given, shapes)
        except Exception:  # what cannot be done with sizes that may be any, or a fault that the call alone has again
            return None
        return None if tape.is_plain or tape.asks_for_shapes() else found

    def _family(self, given: list[Array]) -> Family:
        key = tuple([part for each in given for part in (each.ndim, each.dtype)])
        found = self._families.get(key)
        if found is None:
            found = self._families[key] = Family()
        return found

    def _changing(self, family: Family, shapes: Shapes) -> list[list[Place]]:
        """The sizes that may be others in later calls: those that always were equal are one."""
        if len(family.shapes) < 2:
            return []
        before = next(each for each in family.shapes if each != shapes)
        together: dict[tuple[int, int], list[Place]] = {}
        for number, (mine, theirs) in enumerate(zip(shapes, before, strict=True)):
            known = self._sizes[number]
            for dim, (now, then) in enumerate(zip(mine, theirs, strict=True)):
                is_open = known is None or known[dim] is None
                if now != then and now > 1 and is_open and family.failures[number, dim] < MOST_FAILURES:
                    together.setdefault((now, then), []).append((number, dim))
        return list(together.values())


def _shapes(given: list[Array]) -> Shapes:
    return tuple([each.shape for each in given])


__all__ = ["OpenSizes"]
