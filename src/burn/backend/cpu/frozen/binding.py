"""A form on memory: the steps and slots of one run at a time, for some sizes.

All words of a binding lie in one block: steps, the record and the binding of native code, slots, and the rows by which
it finds inputs and results. A template of them is made once for a form; for some sizes it is copied, and what depends
on sizes, or on where the arena is, is added to it by three scatters.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burn.backend.cpu.addresses import address_of
from burn.backend.cpu.frozen.expressions import Numbers, function_of, of_form
from burn.backend.cpu.frozen.form import CONSTANT, PLACE, ROOM, STATUS, Frozen
from burn.backend.cpu.native import WORDS
from burn.backend.cpu.pool import pool
from burn.dim import Dim, Linear
from burn.symbolic import DoesNotFit

Words = NDArray[np.int64]

RECORD_WORDS, BINDING_WORDS, ROW_WORDS = 5, 7, 3
CONTEXT, STEPS, COUNT, THREADS, BINDING = range(RECORD_WORDS)
"""The words of a `native.Record`."""
PLACES, SLOTS, ROWS, ROW_COUNT = range(4)
"""Those of a `native.Binding` that are used: numbers are constants here."""
LINE = 64


class Template:
    """What bindings of a frozen plan have in common."""

    def __init__(self, frozen: Frozen) -> None:
        form = frozen.form
        expressions = of_form(form)
        self.form, self._indices = form, {each: index for index, each in enumerate(expressions)}
        self.numbers = function_of(form, expressions)
        contents = [address_of(each) for each in frozen.contents]
        slots = [s.amount + contents[s.which] if s.kind == CONSTANT else s.amount for s in form.slots]
        bound = [(position, slot) for position, slot in enumerate(form.slots) if slot.kind == PLACE]
        self.record = len(form.steps) * WORDS
        binding = self.record + RECORD_WORDS
        self.slots = first = binding + BINDING_WORDS
        rows = first + len(slots)
        self.size = rows + ROW_WORDS * len(bound)
        words: list[Linear] = []
        for step in form.steps:
            words += [frozen.addresses[step.kernel], 8 * (first + step.slot), step.extent, step.grain]
        words += [addressof(pool().context()), 0, len(form.steps), 1, 8 * binding]
        words += [0, 8 * first, 8 * rows, len(bound), 0, 0, 0]
        words += [0 if slot.kind == PLACE else word for slot, word in zip(form.slots, slots, strict=True)]
        for position, slot in bound:
            words += [position, slot.which, slot.amount]
        symbolic = [(at, self._indices[each]) for at, each in enumerate(words) if isinstance(each, Dim)]
        self._words = np.array([0 if isinstance(each, Dim) else each for each in words], np.int64)
        self._symbolic = _pairs(symbolic)
        self._rooms = _pairs([(first + at, slot.which) for at, slot in enumerate(form.slots) if slot.kind == ROOM])
        self._status = _pairs([(first + at, slot.which) for at, slot in enumerate(form.slots) if slot.kind == STATUS])
        inside = [WORDS * index + 1 for index in range(len(form.steps))]
        self._inside = np.array(
            [*inside, self.record + STEPS, self.record + BINDING, binding + SLOTS, binding + ROWS], np.int64
        )
        self._places = binding + PLACES

    def numbers_for(self, shapes: Sequence[tuple[int, ...]]) -> Numbers:
        """Every number for inputs of these shapes."""
        try:
            found = self.numbers(shapes)
        except ValueError:
            found = None
        if found is None:
            raise DoesNotFit(f"inputs of shapes {list(shapes)} do not fit what the plan was made for")
        return found

    def bind(self, numbers: Numbers, rooms: Words, places: int, status: int) -> Words:
        """The words for some numbers, with rooms and the words of checks at these addresses."""
        raw = np.empty(self.size + LINE // 8, np.int64)
        begin = -address_of(raw) % LINE // 8
        words = raw[begin : begin + self.size]
        words[:] = self._words
        if len(self._symbolic[0]):
            try:
                words[self._symbolic[0]] += np.array(numbers[0], np.int64)[self._symbolic[1]]
            except OverflowError:
                raise DoesNotFit("inputs so large that the plan has no numbers for them") from None
            cut = words[: self.record].reshape(-1, WORDS)
            if (cut[:, 2] < 0).any() or (cut[:, 3] < 1).any():
                raise DoesNotFit("inputs of sizes that the steps of the plan cannot be cut for")
        if len(self._rooms[0]):
            words[self._rooms[0]] += rooms[self._rooms[1]]
        if len(self._status[0]):
            words[self._status[0]] += 16 * self._status[1] + status
        words[self._inside] += address_of(words)
        words[self._places] = places
        return words

    def move(self, words: Words, distance: int) -> None:
        """Have the rooms of a binding so much further on in memory."""
        words[self._rooms[0]] += distance

    def is_shared(self, words: Words) -> bool:
        """Whether a step of these words may use several threads."""
        cut = words[: self.record].reshape(-1, WORDS)
        return bool((cut[:, 2] > cut[:, 3]).any())


def arranged(numbers: Numbers) -> tuple[Words, int]:
    """Where rooms begin, and the bytes of all together."""
    sizes = (np.array(numbers[1], np.int64) + LINE - 1) // LINE * LINE
    ends = sizes.cumsum()
    return ends - sizes, int(ends[-1]) if len(ends) else 0


class Arena:
    """The arena of one run at a time, grown and given up as sizes ask for."""

    def __init__(self) -> None:
        self.memory: NDArray[Any] = np.empty(0, np.uint8)
        self.size = 0
        self.address = 0

    def resize(self, size: int) -> int:
        """Other memory, of so many bytes, which holds nothing of what there was: how much further on it is."""
        before = self.address
        self.memory = np.empty(0, np.uint8)
        self.memory = np.empty(size + 2 * LINE, np.uint8)
        self.size = size
        self.address = -(-address_of(self.memory) // LINE) * LINE
        return self.address - before


def _pairs(rows: Sequence[tuple[int, int]]) -> tuple[Words, Words]:
    at, which = np.array(rows, np.int64).reshape(-1, 2).T
    return np.ascontiguousarray(at), np.ascontiguousarray(which)
