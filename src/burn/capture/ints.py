"""Ints are part of the key of a capture: one that changes with every call makes a capture of every call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from burn.capture.call import Call
from burn.tree import STATIC, Structure

MOST_VALUES = 8
"""The number of values of one int at which it is worth a word."""


class Ints:
    """The values that the ints among arguments and surroundings have had."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._values: dict[str, set[int]] = {}

    def changing(self, call: Call) -> list[str]:
        """Note the ints of a call that is recorded; gives those that now had as many values as are worth a word."""
        found = []
        for name, value in self._named(call):
            values = self._values.setdefault(name, set())
            if len(values) < MOST_VALUES and value not in values:
                values.add(value)
                if len(values) == MOST_VALUES:
                    found.append(name)
        return found

    def _named(self, call: Call) -> Iterator[tuple[str, int]]:
        positional, named = call.structure.children
        for name, structure in zip(self._parameters(len(call.args)), positional.children, strict=True):
            yield from _ints(name, structure)
        for name, structure in zip(call.kwargs, named.children, strict=True):
            yield from _ints(name, structure)
        for name, structure in zip(call.surroundings.names, call.around):
            yield from _ints(name, structure)

    def _parameters(self, count: int) -> list[str]:
        """The names of the first parameters of the function."""
        try:
            names = list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):
            names = []
        return [names[i] if i < len(names) else f"argument {i}" for i in range(count)]


def _ints(name: str, structure: Any) -> Iterator[tuple[str, int]]:
    """The ints in a tree, with where they stand."""
    if not isinstance(structure, Structure):
        return
    if structure.kind is STATIC:
        kind, value = structure.token if structure.token.__class__ is tuple else (None, None)
        if kind is int:
            yield name, value
        return
    keys = structure.token if structure.kind is dict else range(len(structure.children))
    for key, child in zip(keys, structure.children, strict=True):
        yield from _ints(f"{name}[{key!r}]", child)
