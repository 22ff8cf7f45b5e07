"""Looks at containers and arrays: what they hold, in its order."""

from __future__ import annotations

import types
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from burn.capture.kinds import ATOMS
from burn.capture.looks import Look, reference_to, same_atom

MOST_BYTES = 1 << 16
"""The largest array that is compared in every call."""


class Items(Look):
    """A list, tuple or deque."""

    __slots__ = ("children", "kind")

    def __init__(self, path: str, kind: type, children: list[Look]) -> None:
        super().__init__(path)
        self.kind: Any = kind
        self.children = children

    def moved(self, value: Any) -> str:
        if type(value) is not self.kind or len(value) != len(self.children):
            return self.path
        for each, look in zip(value, self.children):
            if found := look.moved(each):
                return found
        return ""


class Atoms(Look):
    """A list, tuple or deque of atoms, compared at once."""

    __slots__ = ("kind", "values")

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.kind, self.values = value.__class__, tuple(value)

    def moved(self, value: Any) -> str:
        if value.__class__ is not self.kind or len(value) != len(self.values):
            return self.path
        if all(map(is_, value, self.values)) or all(map(same_atom, value, self.values)):
            return ""
        return self.path


class Pairs(Look):
    """A dict, its order included."""

    __slots__ = ("children", "keys", "kind", "members")

    def __init__(self, path: str, kind: type, keys: tuple[Any, ...], children: list[Look]) -> None:
        super().__init__(path)
        self.kind: Any = kind
        self.keys, self.children = tuple([_held_key(each) for each in keys]), children
        self.members: list[tuple[Any, Look]] = []  # looks at the keys that are objects

    def moved(self, value: Any) -> str:
        if type(value) is not self.kind or len(value) != len(self.keys):
            return self.path
        for key, known in zip(value, self.keys):
            if not known(key):
                return self.path
        for each, look in zip(dict.values(value), self.children):
            if found := look.moved(each):
                return found
        return _any_moved(self.members)


def _any_moved(members: list[tuple[Any, Look]]) -> str:
    return next((found for reference, look in members if (found := look.moved(reference()))), "")


def _held_key(key: Any) -> Callable[[Any], bool]:
    if _is_atom(key):
        return lambda each: each is key or same_key(each, key)
    reference = reference_to(key)
    return lambda each: reference() is each


def same_key(one: Any, other: Any) -> bool:
    """Whether two keys of dicts or sets are one to every reader."""
    if one.__class__ is tuple:
        return other.__class__ is tuple and len(one) == len(other) and all(map(same_key, one, other))
    return one.__class__ in ATOMS and same_atom(one, other)


def _is_atom(value: Any) -> bool:
    return value.__class__ in ATOMS or (value.__class__ is tuple and all(map(_is_atom, value)))


class Members(Look):
    """A set; its members are atoms, or known by their identity."""

    __slots__ = ("behind", "kind", "members")

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.kind, self.members = value.__class__, self._members(value)
        self.behind: list[tuple[Any, Look]] = []

    @staticmethod
    def _members(value: Any) -> Any:
        return {(each.__class__, each) if _is_atom(each) else (object, id(each)) for each in value}

    def moved(self, value: Any) -> str:
        if value.__class__ is not self.kind or self._members(value) != self.members:
            return self.path
        return _any_moved(self.behind)


class Content(Look):
    """A NumPy array, or other memory, by its bytes."""

    __slots__ = ("about", "content", "reference")

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.about, self.content, self.reference = _about(value), None, None
        if isinstance(value, np.ndarray) and value.nbytes > MOST_BYTES:
            self.reference = reference_to(value)
        else:
            self.content = _bytes(value)

    def moved(self, value: Any) -> str:
        if _about(value) != self.about:
            return self.path
        if self.reference is not None:
            return "" if value is self.reference() else self.path
        return "" if _bytes(value) == self.content else self.path


def _about(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.__class__, value.shape, value.dtype, value.nbytes <= MOST_BYTES or value.flags.writeable)
    return value.__class__


def _bytes(value: Any) -> Any:
    return bytes(value) if not isinstance(value, np.ndarray) else value.tobytes()


class Proxy(Look):
    """A read-only view of a dict."""

    __slots__ = ("child",)

    def __init__(self, path: str, child: Look) -> None:
        super().__init__(path)
        self.child = child

    def moved(self, value: Any) -> str:
        return self.child.moved(dict(value)) if isinstance(value, types.MappingProxyType) else self.path
