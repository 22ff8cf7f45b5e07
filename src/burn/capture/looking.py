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

from burn.capture.contents import (
    MOST_BYTES,
    Again,
    Atoms,
    Content,
    Items,
    Members,
    Pairs,
    Proxy,
    is_frozen,
)
from burn.capture.kinds import ATOMS, COUNTED, FIXED, HARMLESS, INNER, OF_FUNCTIONS, SEQUENCES, VALUES, is_transparent
from burn.capture.looks import (
    MISSING,
    Atom,
    ByValue,
    Counted,
    Fields,
    Held,
    Look,
    Method,
    Parts,
    Place,
    Weak,
    Whole,
    contents_of,
    fields_of,
    read_slot,
    reference_to,
    slots_of,
)
from burn.capture.settings import FloatErrors
from burn.capture.spaces import Spaces
from burn.capture.trust import Ignore, is_impure_builtin, is_ours, is_users, name_of
from burn.tensor import Tensor

MOST_LOOKS = 4000
"""How much is looked at for one function; beyond that it runs plainly."""


class Unseen(Exception):
    """Something cannot be looked at."""


class Around(Spaces):
    """Everything that a function's Python may read, as far as its code names it."""

    def __init__(self, ignore: Ignore) -> None:
        super().__init__(ignore)
        self.counted: list[tuple[Any, Counted]] = []
        self.places: list[Place] = []
        """Looks at containers: which of them are one."""
        self._count = 0
        self._open: set[int] = set()  # what is being looked at
        self._known: dict[int, tuple[Any, Look]] = {}
        self._fields: list[tuple[Any, Fields]] = []

    def add_names(
        self, names: Iterable[str], everything: bool, spaces: bool = False, asked: Iterable[str] = ()
    ) -> bool:
        """The code names these attributes, too; gives whether any of this is new."""
        if not super().add_names(names, everything, spaces, asked):
            return False
        for value, fields in list(self._fields):
            self._look_at_fields(value, fields)
        return True

    def release(self) -> None:
        """Let go of everything that was held so that it could be looked at again."""
        for each in (self._known, self._fields, self._spaces, self._ours, self.counted, self.functions):
            each.clear()
        self.places = []

    # Values

    def look(self, value: Any, path: str) -> Look:
        """A look at a value and at what is behind it."""
        kind = type(value)
        if kind in ATOMS:
            return Atom(path, value)
        if (
            kind in weakref.ProxyTypes
            or isinstance(value, decimal.Decimal | weakref.finalize)
            or value is decimal
            or value is decimal.Decimal
        ):
            raise Unseen(f"{path} cannot be looked at: it depends on something else")
        known = self._known.get(id(value))
        if known is not None:  # what is behind it is looked at where it was met first
            if isinstance(known[1], Fields) or id(value) in self._open:
                return Held(path, value)
            return self.placed(Again(path, known[1]), value) if isinstance(known[1], Place) else known[1]
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
        """Remember the look at a value."""
        if isinstance(look, Place) and id(value) not in self._known:
            self.placed(look, value)
        self._known[id(value)] = (value, look)
        return look

    def placed(self, look: Place, value: Any) -> Place:
        """Remember where a container stands."""
        look.now = id(value)
        self.places.append(look)
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
            self.note_meaning(value)
            self.note_class(value, path)
            return self.know(value, Held(path, value))
        if value is np or isinstance(value, np.ndarray | np.generic):
            self.always("errors", FloatErrors())
        if isinstance(value, types.ModuleType):
            look = self.know(value, Held(path, value))
            self.note_space(value, path)
            return look
        if isinstance(value, Tensor):
            self.note_ours(kind)
            return self.know(value, Whole(path, value))
        count = next((count for each, count in COUNTED.items() if isinstance(value, each)), None)
        if count is not None:
            self.counted.append((value, Counted(path, value, count)))
            return self.know(value, Held(path, value))
        inner = INNER.get(kind)
        if inner is not None:
            return self._inner(value, inner, path)
        if isinstance(value, VALUES) and not is_users(kind.__module__):
            return self.know(value, ByValue(path, value))
        if isinstance(value, enum.Enum) and not is_ours(kind):
            self.add_names(("_value_",), False)
            return self._object(value, path, None, everything=type(value.value) not in ATOMS)
        if isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            owner = value.__self__
            if owner is None or isinstance(owner, type | types.ModuleType):
                return self.know(value, Held(path, value))
            bound = Parts(path, [(itself, Held(path, value))])
            self.know(value, bound)
            bound.children.append((attrgetter("__self__"), self.look(owner, path)))
            return bound
        if isinstance(value, FIXED):
            return self.know(value, Held(path, value))
        if kind.__module__.startswith("burn.capture"):
            return self._compiled(value, path)
        if hasattr(kind, "__tree__") and not dataclasses.is_dataclass(kind):
            self.note_class(kind, path)
            whole = Whole(path, value)
            for each in whole.classes():
                self.note_ours(each)
            return self.know(value, whole)
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.hasobject:
                raise Unseen(f"{path} is an array of objects, which cannot be looked at")
            if value.nbytes > MOST_BYTES and not is_frozen(value):
                raise Unseen(
                    f"{path} is an array of {value.nbytes:,} bytes, too large to be compared in every call; make it a "
                    "tensor, or write array.setflags(write=False) for it and what it is a view of"
                )
            if kind is np.ndarray or isinstance(value, np.generic):
                return self.know(value, Content(path, value))
            return self._object(value, path, Content(path, value))
        if isinstance(value, types.CellType):
            self.place(id(value), value, None, contents_of(value), path)
            return self.know(value, Held(path, value))
        if isinstance(value, bytearray | memoryview) or kind.__name__ == "array":
            return self.know(value, Content(path, value))
        if isinstance(value, weakref.ref):
            look = self.know(value, Weak(path, Held(path, None)))
            look.child = self.look(value(), path)  # type: ignore[attr-defined]
            return look
        for base in (functools.partial, property, classmethod, staticmethod):
            if isinstance(value, base):
                return self._inner(value, INNER[base], path)
        if isinstance(value, attrgetter | methodcaller):
            self.add_names((), True)  # what they name cannot be seen
            return self.know(value, Held(path, value))
        return self._container(value, kind, path)

    def _inner(self, value: Any, names: tuple[str, ...], path: str) -> Look:
        """A value of a class written in C, by what it holds."""
        parts = Parts(path, [])
        self.know(value, parts)
        if isinstance(value, functools.partial) and is_impure_builtin(value.func):
            raise Unseen(f"{path} calls {name_of(value.func)}")
        if isinstance(value, VALUES):
            parts.children.append((itself, ByValue(path, value)))
        for name in names:
            parts.children.append((attrgetter(name), self.look(getattr(value, name), f"{path}.{name}")))
        return parts

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
            most = getattr(value, "maxlen", None) if isinstance(value, collections.deque) else None
            if most is None and all(type(each) in ATOMS for each in value):
                contents = Atoms(path, value)
                self._count += len(value) // 16
            else:
                contents = Items(path, kind, [])
                contents.most = most
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
        if contents is None and not is_transparent(kind):
            if kind.__name__ in HARMLESS:
                return self.know(value, Held(path, value))
            raise Unseen(f"{path} is a {kind.__module__}.{kind.__name__}, which cannot be looked at")
        return self._object(value, path, contents, everything=is_ours(kind))

    def _members(self, value: Any, path: str) -> list[tuple[Any, Look]]:
        """Looks at the objects among keys or members."""
        return [(reference_to(each), self.look(each, path)) for each in value if type(each) not in ATOMS]

    def _object(self, value: Any, path: str, contents: Look | None, everything: bool = False) -> Look:
        look = Fields(path, value, contents)
        self.know(value, look)
        if everything:
            look.looked.add("*")
        self._fields.append((value, look))
        self.note_class(type(value), path)
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
            if isinstance(value, types.FunctionType):
                for name in (self.names & OF_FUNCTIONS) - look.looked:
                    look.looked.add(name)
                    look.special.append((name, self.look(getattr(value, name), f"{look.path}.{name}")))
            names = self.names if fields or not isinstance(value, types.FunctionType) else self.asked
            for name in () if everything else names - fields.keys() - look.children.keys():
                if not self.ignore.matches(f"{look.path}.{name}", MISSING):
                    look.absent.add(name)
        for slot in () if isinstance(value, types.FunctionType) else slots_of(type(value)):
            name = slot.__name__
            if name not in look.looked and (everything or name in self.names):
                look.looked.add(name)
                now, path = read_slot(slot, value), f"{look.path}.{name}"
                if not self.ignore.matches(path, now):
                    look.slots.append((slot, None if now is MISSING else self.look(now, path)))


def itself(value: Any) -> Any:
    """The value."""
    return value
