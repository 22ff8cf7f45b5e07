"""Looks: what a Python value was when a function read it, and whether it still is.

Atoms are compared by value, objects by identity and by those of their attributes that the code names, containers by
their contents, arrays by their bytes. A look gives the name of what moved: it guards replays, and run again after a
recording it tells what the function changed. Objects are held weakly, so nothing lives longer because of it.
"""

from __future__ import annotations

import math
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from burn.tensor import Tensor
from burn.tree import Structure, Walk


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


class Whole(Look):
    """A tensor or a tree of tensors that is no argument: its structure, shapes and numbers."""

    __slots__ = ("about",)

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.about = _tree(value)

    def classes(self) -> Iterator[type]:
        """The classes in the tree that are a part of this package, or derive from one."""
        waiting = [self.about[0]]
        while waiting:
            each = waiting.pop()
            waiting += each.children
            if hasattr(each.kind, "__is_module__"):
                yield each.kind

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

    __slots__ = ("absent", "all_names", "children", "contents", "kind", "looked", "reference", "slots", "special")

    def __init__(self, path: str, value: Any, contents: Look | None) -> None:
        super().__init__(path)
        self.reference, self.kind = reference_to(value), type(value)
        self.contents = contents  # of a subclass of list, dict or set
        self.children: dict[str, Look] = {}
        self.slots: list[tuple[Any, Look | None]] = []
        self.special: list[tuple[str, Look]] = []  # what a function has beside its attributes
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
        for name, look in self.special:
            if found := look.moved(getattr(value, name)):
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


class Keys(Look):
    """The names in a class or module that code goes through."""

    __slots__ = ("names",)

    def __init__(self, path: str, fields: Any) -> None:
        super().__init__(path)
        self.names = tuple(fields)

    def moved(self, value: Any) -> str:
        return "" if tuple(value) == self.names else self.path


class Place(Look):
    """Where a container stands: its identity of the moment, which tells if two places hold one."""

    __slots__ = ("now",)

    now: int

    def moved(self, value: Any) -> str:
        self.now = id(value)
        return ""


class Aliases(Look):
    """Which places hold one container; asked when all places were looked at."""

    __slots__ = ("pattern", "places")

    def __init__(self, places: list[Place]) -> None:
        super().__init__("which lists or dicts are one")
        self.places = places
        self.pattern = aliases([each.now for each in places])

    def moved(self, value: Any) -> str:
        return "" if aliases([each.now for each in self.places]) == self.pattern else self.path


def aliases(identities: list[int]) -> tuple[int, ...] | None:
    """Which of some values are one, by their identities; None where none are."""
    if len(set(identities)) == len(identities):
        return None
    first: dict[int, int] = {}
    return tuple([first.setdefault(each, place) for place, each in enumerate(identities)])


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


class ByValue(Look):
    """An immutable value of a class that compares by value."""

    __slots__ = ("value",)

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(path)
        self.value = value

    def moved(self, value: Any) -> str:
        same = value is self.value or (type(value) is type(self.value) and value == self.value)
        return "" if same else self.path
