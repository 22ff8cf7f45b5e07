"""Looking around: from the places that code reads to looks at everything behind them."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import enum
import functools
import types
import weakref
from collections.abc import Iterable
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from burn.capture.contents import MOST_BYTES, Atoms, Content, Items, Members, Pairs, Proxy
from burn.capture.kinds import ATOMS, COUNTED, FIXED, HARMLESS, SEQUENCES, TRANSPARENT, VALUES, is_python
from burn.capture.looks import (
    MISSING,
    Atom,
    Attribute,
    ByValue,
    Counted,
    Fields,
    Held,
    Look,
    Method,
    Parts,
    Weak,
    Whole,
    contents_of,
    fields_of,
    read_slot,
    reference_to,
    slots_of,
)
from burn.capture.trust import Ignore, is_impure_builtin, is_ours, is_users, name_of
from burn.tensor import Tensor

MOST_LOOKS = 4000
"""How much is looked at for one function; beyond that it runs plainly."""


class Unseen(Exception):
    """Something cannot be looked at."""


class Around:
    """Everything that a function's Python may read, as far as its code names it.

    `names` are the attributes named by the code that was entered so far; when it grows, every object that is known is
    looked at again. `functions` are those met, by their code: what they close over is looked at once they are called.
    """

    def __init__(self, ignore: Ignore) -> None:
        self.ignore = ignore
        self.names: set[str] = set()
        self.everything = False
        self.roots: dict[Any, tuple[Any, Any, Look]] = {}
        """Places that are read by name: a dict or a cell, the name, and what was there."""
        self.functions: dict[int, list[Any]] = {}
        self.counted: list[tuple[Any, Counted]] = []
        self._count = 0
        self._open: set[int] = set()  # what is being looked at
        self._known: dict[int, tuple[Any, Look]] = {}
        self._fields: list[tuple[Any, Fields]] = []
        self._spaces: list[tuple[Any, str, set[str]]] = []  # modules and classes: read by name
        self._classes: set[int] = set()

    # Places

    def place(self, key: Any, container: Any, name: Any, value: Any, path: str) -> None:
        """A place that the code reads: an entry of a dict, or a cell."""
        if key in self.roots or self.ignore.matches(path, value):
            return
        self.roots[key] = (container, name, Atom(path, MISSING))  # no way round in circles
        if value is not MISSING:
            self.roots[key] = (container, name, self.look(value, path))

    def add_names(self, names: Iterable[str], everything: bool) -> None:
        """The code names these attributes, too."""
        new = set(names) - self.names
        if everything and not self.everything:
            self.everything = True
        elif not new:
            return
        self.names |= new
        for value, fields in list(self._fields):
            self._look_at_fields(value, fields)
        for space, path, seen in list(self._spaces):
            self._look_at_space(space, path, seen)

    def release(self) -> None:
        """Let go of everything that was held so that it could be looked at again."""
        self._known.clear()
        self._fields.clear()
        self._spaces.clear()
        self.counted.clear()
        self.functions.clear()

    # Values

    def look(self, value: Any, path: str) -> Look:
        """A look at a value and at what is behind it."""
        kind = type(value)
        if kind in ATOMS:
            return Atom(path, value)
        if (
            kind in weakref.ProxyTypes
            or isinstance(value, decimal.Decimal)
            or value is decimal
            or value is decimal.Decimal
        ):
            raise Unseen(f"{path} cannot be looked at: it depends on something else")
        known = self._known.get(id(value))
        if known is not None:  # what is behind it is looked at where it was met first
            return Held(path, value) if isinstance(known[1], Fields) or id(value) in self._open else known[1]
        if self.ignore.matches(path, value):
            return Held(path, value)
        self._count += 1
        if self._count > MOST_LOOKS:
            raise Unseen(f"{path} leads to more values than can be compared in every call")
        if kind is types.MethodType:
            self.note_function(value.__func__)
            return Method(path, value, self.look(value.__self__, path))
        self._open.add(id(value))
        try:
            return self._looked(value, kind, path)
        finally:
            self._open.discard(id(value))

    def know(self, value: Any, look: Look) -> Look:
        self._known[id(value)] = (value, look)
        return look

    def _looked(self, value: Any, kind: Any, path: str) -> Look:
        if isinstance(value, types.FunctionType):
            self.note_function(value)
            look = self._object(value, path, None)
            if not is_users(value.__module__) or not is_users(value.__globals__.get("__name__")):
                for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
                    self.place(id(cell), cell, None, contents_of(cell), f"{path}.{name}")  # nobody will enter it
            return look
        if isinstance(value, type):
            self.note_class(value, path)
            return self.know(value, Held(path, value))
        if isinstance(value, types.ModuleType):
            look = self.know(value, Held(path, value))
            self._note_space(value, path)
            return look
        if isinstance(value, Tensor):
            return self.know(value, Whole(path, value))
        count = next((count for each, count in COUNTED.items() if isinstance(value, each)), None)
        if count is not None:
            self.counted.append((value, Counted(path, value, count)))
            return self.know(value, Held(path, value))
        if isinstance(value, VALUES):
            return self.know(value, ByValue(path, value))
        if isinstance(value, enum.Enum) and value.value.__class__ not in ATOMS:
            return self._object(value, path, None, everything=True)
        if isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            owner = value.__self__
            if owner is None or isinstance(owner, type | types.ModuleType):
                return self.know(value, Held(path, value))
            bound = Parts(path, [(_itself, Held(path, value))])
            self.know(value, bound)
            bound.children.append((attrgetter("__self__"), self.look(owner, path)))
            return bound
        if isinstance(value, FIXED):
            return self.know(value, Held(path, value))
        if kind.__module__.startswith("burn.capture"):
            return self._compiled(value, path)
        if hasattr(kind, "__tree__") and not dataclasses.is_dataclass(kind):
            self.note_class(kind, path)
            return self.know(value, Whole(path, value))
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise Unseen(f"{path} is an array of objects, which cannot be looked at")
            if value.nbytes > MOST_BYTES and value.flags.writeable:
                raise Unseen(
                    f"{path} is an array of {value.nbytes:,} bytes, too large to be compared in every call; make it a "
                    "tensor, or write array.setflags(write=False)"
                )
            return self.know(value, Content(path, value))
        if isinstance(value, bytearray | memoryview) or kind.__name__ == "array":
            return self.know(value, Content(path, value))
        if isinstance(value, weakref.ref):
            look = self.know(value, Weak(path, Held(path, None)))
            look.child = self.look(value(), path)  # type: ignore[attr-defined]
            return look
        if isinstance(value, functools.partial):
            parts = Parts(path, [])
            self.know(value, parts)
            if is_impure_builtin(value.func):
                raise Unseen(f"{path} calls {name_of(value.func)}")
            for name in ("func", "args", "keywords"):
                part = getattr(value, name)
                parts.children.append((attrgetter(name), self.look(part, f"{path}.{name}")))
            return parts
        if isinstance(value, property | functools.cached_property | staticmethod | classmethod):
            parts = Parts(path, [])
            self.know(value, parts)
            for name in ("fget", "fset", "fdel", "func", "__func__"):
                function = getattr(value, name, None)
                if function is not None:
                    parts.children.append((attrgetter(name), self.look(function, path)))
            return parts
        if isinstance(value, attrgetter | methodcaller):
            self.add_names((), True)  # what they name cannot be seen
            return self.know(value, Held(path, value))
        return self._container(value, kind, path)

    def _compiled(self, value: Any, path: str) -> Look:
        """A function under capture is that function."""
        look = self.know(value, Held(path, value))
        function = getattr(value, "function", None)
        if function is not None:
            self.look(function, path)
        return look

    def _container(self, value: Any, kind: Any, path: str) -> Look:
        contents: Look | None = None
        if isinstance(value, SEQUENCES):
            if all(each.__class__ in ATOMS for each in value):
                contents = Atoms(path, value)
                self._count += len(value) // 16
            else:
                contents = Items(path, kind, [])
                self.know(value, contents)
                contents.children = [self.look(each, f"{path}[{i}]") for i, each in enumerate(value)]
        elif isinstance(value, dict):
            contents = Pairs(path, kind, tuple(value), [])
            self.know(value, contents)
            contents.children = [self.look(each, f"{path}[{key!r}]") for key, each in dict.items(value)]
            contents.members = self._members(value, f"a key of {path}")
        elif isinstance(value, set | frozenset):
            contents = Members(path, value)
            self._count += len(value) // 16
            contents.behind = self._members(value, f"a member of {path}")
        elif isinstance(value, types.MappingProxyType):
            contents = Proxy(path, self.look(dict(value), path))
            return self.know(value, contents)
        if self._count > MOST_LOOKS:
            raise Unseen(f"{path} is too large to be compared in every call")
        if kind in (list, tuple, dict, set, frozenset, collections.deque):
            assert contents is not None
            return self.know(value, contents)
        if contents is None and hasattr(kind, "__next__") and not is_users(kind.__module__):
            raise Unseen(f"{path} is an iterator, which cannot be looked at")
        if contents is None and not is_python(kind):
            if kind.__name__ in HARMLESS:
                return self.know(value, Held(path, value))
            if not all(is_python(each) or each in TRANSPARENT for each in kind.__mro__):
                raise Unseen(f"{path} is a {kind.__module__}.{kind.__name__}, which cannot be looked at")
        return self._object(value, path, contents, everything=is_ours(kind))

    def _members(self, value: Any, path: str) -> list[tuple[Any, Look]]:
        """Looks at the objects among keys or members."""
        return [(reference_to(each), self.look(each, path)) for each in value if each.__class__ not in ATOMS]

    def _object(self, value: Any, path: str, contents: Look | None, everything: bool = False) -> Look:
        look = Fields(path, value, contents)
        self.know(value, look)
        if everything:
            look.looked.add("*")
        self._fields.append((value, look))
        self.note_class(value.__class__, path)
        self._look_at_fields(value, look)
        return look

    def _look_at_fields(self, value: Any, look: Fields) -> None:
        everything = self.everything or "*" in look.looked
        fields = fields_of(value)
        if fields is not None:
            if everything:
                look.all_names = tuple(fields)
            for name in fields if everything else self.names & fields.keys():
                if name not in look.children and name not in look.absent:
                    path = f"{look.path}.{name}"
                    if not self.ignore.matches(path, fields[name]):
                        look.children[name] = Atom(path, MISSING)
                        look.children[name] = self.look(fields[name], path)
            if isinstance(value, types.FunctionType) and not fields:
                return  # functions without attributes get none
            for name in () if everything else self.names - fields.keys() - look.children.keys():
                if not self.ignore.matches(f"{look.path}.{name}", MISSING):
                    look.absent.add(name)
        for slot in slots_of(value.__class__):
            name = slot.__name__
            if name not in look.looked and (everything or name in self.names):
                look.looked.add(name)
                now, path = read_slot(slot, value), f"{look.path}.{name}"
                if not self.ignore.matches(path, now):
                    look.slots.append((slot, None if now is MISSING else self.look(now, path)))

    # Functions, classes and modules

    def note_function(self, function: Any) -> None:
        code = getattr(function, "__code__", None)
        if code is not None:
            known = self.functions.setdefault(id(code), [])
            if not any(each is function for each in known):
                known.append(function)

    def note_class(self, cls: type, path: str) -> None:
        """Methods and attributes of the user's classes are read by name."""
        for each in cls.__mro__:
            if id(each) in self._classes or not is_users(each.__module__) or is_ours(each):
                continue
            self._classes.add(id(each))
            for value in list(each.__dict__.values()):
                function = getattr(value, "__func__", value)
                for part in (function, *(getattr(value, name, None) for name in ("fget", "fset", "func"))):
                    if isinstance(part, types.FunctionType):
                        self.note_function(part)
                    wrapped = getattr(part, "__wrapped__", None)
                    if isinstance(wrapped, types.FunctionType):
                        self.note_function(wrapped)
            self._note_space(each, each.__name__)
            self.roots["bases", id(each)] = (each, "", Attribute(f"the bases of {each.__name__}", each, "__mro__"))
            if type(each) is not type:
                self.note_class(type(each), path)

    def _note_space(self, space: Any, path: str) -> None:
        seen: set[str] = set()
        self._spaces.append((space, path, seen))
        self._look_at_space(space, path, seen)

    def _look_at_space(self, space: Any, path: str, seen: set[str]) -> None:
        fields = space.__dict__
        deep = isinstance(space, type) or is_users(space.__name__)
        if isinstance(space, type):
            for name in self.names - fields.keys() - seen:
                seen.add(name)
                self.place((id(space), name), fields, name, MISSING, f"{path}.{name}")
        for name in (self.names & fields.keys()) - seen:
            seen.add(name)
            value = fields[name]
            key = (id(space), name)
            if deep or isinstance(value, types.ModuleType):
                self.place(key, fields, name, value, f"{path}.{name}")
            elif key not in self.roots and not self.ignore.matches(f"{path}.{name}", value):
                self.roots[key] = (fields, name, Held(f"{path}.{name}", value))


def _itself(value: Any) -> Any:
    return value
