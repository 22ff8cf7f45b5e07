"""Looks: what a Python value was when a function read it, and whether it still is.

Atoms are compared by value, objects by identity and by those of their attributes that the code names, containers by
their contents, arrays by their bytes. A look gives the name of what moved: it guards replays, and run again after a
recording it tells what the function changed. Objects are held weakly, so nothing lives longer because of it.
"""

from __future__ import annotations

import collections
import datetime
import enum
import fractions
import functools
import math
import pathlib
import random
import re
import threading
import types
import uuid
import weakref
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import numpy as np

from burn.device import Device
from burn.dtype import DType
from burn.tensor import Tensor
from burn.tree import Structure, Walk

ATOMS: frozenset[Any] = frozenset(
    (int, float, bool, str, bytes, complex, type(None), type(...), type(NotImplemented), range)
)  # fmt: skip
_VALUES: tuple[type, ...] = (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, fractions.Fraction, re.Pattern,
    pathlib.PurePath, uuid.UUID, np.generic, np.dtype, slice, types.CodeType, types.GenericAlias, types.UnionType,
)  # fmt: skip
"""Immutable classes that compare by value."""
_FIXED: tuple[type, ...] = (
    types.ModuleType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.GeneratorType,
    types.CoroutineType, types.AsyncGeneratorType, np.ufunc, Device, DType, enum.Enum, types.CellType, types.FrameType,
    types.TracebackType, np.random.BitGenerator,
)  # fmt: skip
"""What is known by its identity: it holds nothing, or what it holds is noticed elsewhere."""

MOST_BYTES = 1 << 16
"""The largest array that is compared in every call."""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()


class Look:
    """What a value was."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def moved(self, value: Any) -> str:
        """What is another than it was, by its path; empty where nothing is."""
        raise NotImplementedError


class Atom(Look):
    """A value without parts."""

    __slots__ = ("value",)

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.value = value

    def moved(self, value: Any) -> str:
        return "" if value is self.value or same_atom(value, self.value) else self.path


def same_atom(one: Any, other: Any) -> bool:
    """Whether two immutable values are one to every reader: 0.0 is not -0.0, 1 is not True."""
    kind = one.__class__
    if kind is not other.__class__:
        return False
    if kind is float:
        return (one == other and math.copysign(1.0, one) == math.copysign(1.0, other)) or (
            one != one and other != other
        )
    if kind is complex:
        return repr(one) == repr(other)
    return bool(one == other)


class Held(Look):
    """Something known by its identity."""

    __slots__ = ("reference",)

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.reference = reference_to(value)

    def moved(self, value: Any) -> str:
        return "" if self.reference() is value else self.path


class Forever:
    """A reference to what cannot be held weakly."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def reference_to(value: Any) -> Callable[[], Any]:
    """A weak reference where there can be one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return Forever(value)


class Method(Held):
    """A bound method: it is made anew at every access, and is one if its parts are."""

    __slots__ = ("owner",)

    def __init__(self, path: str, value: Any, owner: Look) -> None:
        super().__init__(path, value.__func__)
        self.owner = owner

    def moved(self, value: Any) -> str:
        if value.__class__ is not types.MethodType or value.__func__ is not self.reference():
            return self.path
        return self.owner.moved(value.__self__)


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


class Whole(Look):
    """A tensor or a tree of tensors that is no argument: its structure, shapes and numbers."""

    __slots__ = ("about",)

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.about = _tree(value)

    def moved(self, value: Any) -> str:
        return "" if _tree(value) == self.about else self.path


def _tree(value: Any) -> tuple[Structure, list[Any]]:
    walk = Walk()
    structure = walk.take(value)
    return structure, [
        (each.__class__, each.shape, each.dtype, each.device) if isinstance(each, Tensor) else (each.__class__, each)
        for each in walk.leaves
    ]


class Weak(Look):
    """A weak reference, by what it refers to."""

    __slots__ = ("child",)

    def __init__(self, path: str, child: Look) -> None:
        super().__init__(path)
        self.child = child

    def moved(self, value: Any) -> str:
        return self.child.moved(value()) if isinstance(value, weakref.ref) else self.path


class Counted(Look):
    """Something that moves on when it is used (randomness, a cache): a recording that uses it is no capture."""

    __slots__ = ("count", "state")

    def __init__(self, path: str, value: Any, count: Callable[[Any], Any]) -> None:
        super().__init__(path)
        self.count, self.state = count, count(value)

    def moved(self, value: Any) -> str:
        return "" if self.count(value) == self.state else self.path


class Fields(Look):
    """An object: itself, and the attributes that the code names."""

    __slots__ = ("absent", "all_names", "children", "contents", "kind", "looked", "reference", "slots")

    def __init__(self, path: str, value: Any, contents: Look | None) -> None:
        super().__init__(path)
        self.reference, self.kind = reference_to(value), type(value)
        self.contents = contents  # of a subclass of list, dict or set
        self.children: dict[str, Look] = {}
        self.slots: list[tuple[Any, Look | None]] = []
        self.absent: set[str] = set()
        self.all_names: tuple[str, ...] | None = None  # where code may ask for any
        self.looked: set[str] = set()

    def moved(self, value: Any) -> str:
        if self.reference() is not value or type(value) is not self.kind:
            return self.path
        if self.contents is not None and (found := self.contents.moved(value)):
            return found
        fields = fields_of(value)
        if fields is not None:
            get = fields.get
            if self.all_names is not None and tuple(fields) != self.all_names:
                return self.path
            for name, look in self.children.items():
                if found := look.moved(get(name, MISSING)):
                    return found
            if not self.absent.isdisjoint(fields):
                return f"{self.path}.{next(iter(self.absent.intersection(fields)))}"
        for slot, child in self.slots:
            now = read_slot(slot, value)
            if child is None:
                if now is not MISSING:
                    return f"{self.path}.{slot.__name__}"
            elif found := child.moved(now):
                return found
        return ""


def contents_of(cell: Any) -> Any:
    """What stands in a cell."""
    try:
        return cell.cell_contents
    except ValueError:  # nothing was bound to it yet
        return MISSING


def fields_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, read past its own `__getattr__`."""
    try:
        found = value.__dict__ if isinstance(value, threading.local) else object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def read_slot(slot: Any, value: Any) -> Any:
    """What stands in a slot of an object."""
    try:
        return slot.__get__(value)
    except AttributeError:
        return MISSING


class Attribute(Look):
    """An attribute of a function or class that is replaced as a whole: its code, its defaults, its bases."""

    __slots__ = ("name", "reference", "value")

    def __init__(self, path: str, owner: Any, name: str) -> None:
        super().__init__(path)
        self.reference, self.name, self.value = reference_to(owner), name, getattr(owner, name)

    def moved(self, value: Any) -> str:
        return "" if getattr(self.reference(), self.name, MISSING) is self.value else self.path


class Parts(Look):
    """A tree that is part of the key of a capture: only the parts that the key does not tell are looked at."""

    __slots__ = ("children",)

    def __init__(self, path: str, children: list[tuple[Callable[[Any], Any], Look]]) -> None:
        super().__init__(path)
        self.children = children

    def moved(self, value: Any) -> str:
        for read, look in self.children:
            try:
                part = read(value)
            except (AttributeError, KeyError, IndexError, TypeError):
                return look.path
            if found := look.moved(part):
                return found
        return ""


def slots_of(kind: type) -> Iterator[Any]:
    """The slots of a class and its bases."""
    for each in kind.__mro__:
        for value in each.__dict__.values():
            if value.__class__ is types.MemberDescriptorType and value.__name__ != "__weakref__":
                yield value


COUNTED: dict[type, Callable[[Any], Any]] = {
    random.Random: lambda value: value.getstate(),
    np.random.Generator: lambda value: repr(value.bit_generator.state),
    np.random.RandomState: lambda value: repr(value.get_state(legacy=False)),
    type(functools.lru_cache(is_)): lambda value: value.cache_info(),
}
"""Classes whose objects move on when they are used, and what tells how far they are."""

SEQUENCES = (list, tuple, collections.deque)
