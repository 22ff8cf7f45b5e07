"""Looks at containers and arrays: what they hold, in its order."""

from __future__ import annotations

import types
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from burn.capture.kinds import ATOMS
from burn.capture.looks import Look, Place, reference_to, same_atom

MOST_BYTES = 1 << 16
"""The largest array that is compared in every call."""


class Items(Place):
    """A list, tuple or deque."""

    __slots__ = ("children", "kind", "most")

    def __init__(self, path: str, kind: type, children: list[Look]) -> None:
        super().__init__(path)
        self.kind: Any = kind
        self.children = children
        self.most: Any = None  # of a deque

    def moved(self, value: Any) -> str:
        self.now = id(value)
        if type(value) is not self.kind or len(value) != len(self.children):
            return self.path
        if self.most is not None and value.maxlen != self.most:
            return self.path
        for each, look in zip(value, self.children):
            if found := look.moved(each):
                return found
        return ""


class Atoms(Place):
    """A list, tuple or deque of atoms, compared at once."""

    __slots__ = ("kind", "values")

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.kind, self.values = type(value), tuple(value)

    def moved(self, value: Any) -> str:
        self.now = id(value)
        if type(value) is not self.kind or len(value) != len(self.values):
            return self.path
        if all(map(is_, value, self.values)) or all(map(same_atom, value, self.values)):
            return ""
        return self.path


class Pairs(Place):
    """A dict, its order included."""

    __slots__ = ("children", "keys", "kind", "members")

    def __init__(self, path: str, kind: type, keys: tuple[Any, ...], children: list[Look]) -> None:
        super().__init__(path)
        self.kind: Any = kind
        self.keys, self.children = tuple([_held_key(each) for each in keys]), children
        self.members: list[tuple[Any, Look]] = []  # looks at the keys that are objects

    def moved(self, value: Any) -> str:
        self.now = id(value)
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
    return type(value) in ATOMS or (type(value) is tuple and all(map(_is_atom, value)))


class Members(Place):
    """A set in the order in which it is gone through; its members are atoms, or known by their identity."""

    __slots__ = ("behind", "kind", "members")

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.kind, self.members = type(value), tuple([_held_key(each) for each in value])
        self.behind: list[tuple[Any, Look]] = []

    def moved(self, value: Any) -> str:
        self.now = id(value)
        if type(value) is not self.kind or len(value) != len(self.members):
            return self.path
        if not all(known(each) for each, known in zip(value, self.members)):
            return self.path
        return _any_moved(self.behind)


class Content(Place):
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
        self.now = id(value)
        if _about(value) != self.about:
            return self.path
        if self.reference is not None:
            return "" if value is self.reference() else self.path
        return "" if _bytes(value) == self.content else self.path


def _about(value: Any) -> Any:
    if isinstance(value, np.generic):
        return (type(value), value.dtype)
    if isinstance(value, np.ndarray):
        small = value.nbytes <= MOST_BYTES
        laid = (value.shape, value.strides, value.flags.writeable)
        return (type(value), value.dtype, laid, small or not is_frozen(value))
    return type(value)


def is_frozen(array: Any) -> bool:
    """Whether nobody can write into the memory of an array: neither through it nor through what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def _bytes(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray | np.generic) else bytes(value)


class Proxy(Look):
    """A read-only view of a dict."""

    __slots__ = ("child",)

    def __init__(self, path: str, child: Look) -> None:
        super().__init__(path)
        self.child = child

    def moved(self, value: Any) -> str:
        return self.child.moved(dict(value)) if isinstance(value, types.MappingProxyType) else self.path


class Again(Place):
    """A container that was met before: it holds the same, and whether it is the same is asked elsewhere."""

    __slots__ = ("first",)

    def __init__(self, path: str, first: Place) -> None:
        super().__init__(path)
        self.first = first

    def moved(self, value: Any) -> str:
        there = self.first.now
        found = self.first.moved(value)
        self.first.now, self.now = there, id(value)
        return found
