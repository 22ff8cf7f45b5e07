"""The prologue of a plan: steps that need not run again while their inputs are the same.

Weights come as inputs with every run, and most of the time they are the same arrays as in the run before.
What is computed from them alone (a weight packed for a kernel, the factors of a batch norm) keeps
its memory between runs and is skipped then. An array is the same if it is the same object: nobody
writes to an array that a plan was given, except a plan that may overwrite it, and that one hands
out the memory as a new array.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from burn.program.program import is_same_number

MOST_KEPT = 1 << 16
"""Bytes that a kernel of the prologue may write; weights that are only moved, packed or joined, may be larger."""

MOST_VARIANTS = 8
"""Sets of steps to skip that are remembered; after these every step runs every time."""

Variant = tuple[frozenset[int], frozenset[int]]
"""The positions of works to skip, and of products whose constant operand is packed and stays so."""

EVERYTHING: Variant = (frozenset(), frozenset())


class Prologue:
    """Which works of a plan depend on inputs alone: for each of them, on which."""

    def __init__(self, inputs: Iterable[int]) -> None:
        self._known: dict[int, frozenset[int]] = {number: frozenset((number,)) for number in inputs}
        self.sources: dict[int, frozenset[int]] = {}  # position → inputs, and run-time numbers as -1 - slot
        self.constants: dict[int, frozenset[int]] = {}  # products: position → what their second operand depends on
        self.kept: set[int] = set()

    def knows(self, reads: Iterable[int]) -> bool:
        """Whether everything that a work reads is there before the run."""
        return all(number in self._known for number in reads)

    def add(self, position: int, reads: Iterable[int], writes: Iterable[int], slots: Iterable[int] = ()) -> None:
        """Take a work into the prologue if everything it reads is known there."""
        found = [self._known.get(number) for number in reads]
        if any(each is None for each in found):
            return
        sources = frozenset(-1 - slot for slot in slots).union(*(each for each in found if each is not None))
        self.sources[position] = sources
        for number in writes:
            self._known[number] = sources
            self.kept.add(number)

    def add_product(self, position: int, operand: int) -> None:
        """Note a product with an operand that is an input, or made in the prologue."""
        sources = self._known.get(operand)
        if sources is not None:
            self.constants[position] = sources

    @property
    def watched(self) -> list[int]:
        """The inputs whose identity matters."""
        return sorted(frozenset().union(*self.constants.values(), *self.sources.values()))


class Memory:
    """What one instance of a plan remembers from run to run."""

    def __init__(self, prologue: Prologue) -> None:
        self._prologue = prologue
        self._inputs = [number for number in prologue.watched if number >= 0]
        self._slots = [-1 - number for number in prologue.watched if number < 0]
        self._last: dict[int, weakref.ref[Any]] = {}
        self._numbers: list[Any] = []
        self._ran = False
        self._packed: frozenset[int] = frozenset()

    def variant(self, inputs: list[Any], scalars: list[Any]) -> Variant:
        """What this run may skip. `forget` must be called if it fails."""
        prologue = self._prologue
        if not prologue.sources and not prologue.constants:
            return EVERYTHING
        same = set()
        for number in self._inputs:
            value = inputs[number].value
            last = self._last.get(number)
            if last is not None and last() is value:
                same.add(number)
            else:
                self._last[number] = weakref.ref(value)
        ran, self._ran = self._ran, True
        before, self._numbers = self._numbers, [scalars[slot] for slot in self._slots]
        if not ran:
            return EVERYTHING
        same.update(-1 - slot for slot, old, new in zip(self._slots, before, self._numbers) if is_same_number(old, new))
        skipped = frozenset(position for position, sources in prologue.sources.items() if sources <= same)
        constant = frozenset(position for position, sources in prologue.constants.items() if sources <= same)
        packed, self._packed = self._packed & constant, constant
        # Products that are constant now and were not packed are packed in this run: told by `skipped`.
        return skipped | packed, constant

    def forget(self) -> None:
        """Run everything the next time."""
        self._last.clear()
        self._ran = False
        self._packed = frozenset()
