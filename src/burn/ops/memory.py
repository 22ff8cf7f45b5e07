"""What rules said before: a rule is asked once for operands of one kind, and a look-up answers the next calls."""

from __future__ import annotations

from contextlib import suppress
from operator import is_
from typing import Any

MOST_REMEMBERED = 4096


class Memory:
    """Answers by what was asked about; all are forgotten when they have become too many.

    Numbers among the attributes that are equal and still are others (1, 1.0 and True; in tuples, too) have answers of
    their own, so what is refused is refused whatever came before.
    """

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[Any, tuple[Any, tuple[Any, ...], Any]] = {}

    def find(self, about: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
        """The answer, or None."""
        try:
            entry = self._answers.get((about, attributes))
        except TypeError:  # something unhashable among the attributes
            return None
        if entry is None:
            return None
        if attributes and not all(map(is_, attributes, entry[1])) and _kinds(attributes) != entry[2]:
            return None
        return entry[0]

    def keep(self, about: tuple[Any, ...], attributes: tuple[Any, ...], answer: Any) -> None:
        """Remember an answer. None is remembered of a zero: 0.0 equals -0.0 and still is another number."""
        if any(map(_is_zero, attributes)):
            return
        if len(self._answers) >= MOST_REMEMBERED:
            self._answers.clear()
        with suppress(TypeError):
            self._answers[about, attributes] = (answer, attributes, _kinds(attributes))


def _kinds(value: Any) -> Any:
    """The classes of what is in a tuple, and in the tuples in it."""
    if value.__class__ is not tuple:
        return value.__class__
    kinds = tuple(map(type, value))
    return tuple(map(_kinds, value)) if tuple in kinds else kinds


def _is_zero(attribute: Any) -> bool:
    if attribute.__class__ is tuple:
        return any(map(_is_zero, attribute))
    return attribute.__class__ is float and attribute == 0.0
