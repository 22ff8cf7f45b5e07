"""Classes and modules around a function: what its code reads of them by name."""

from __future__ import annotations

import abc
import inspect
import sys
import types
import typing
from collections.abc import Iterable
from typing import Any

from burn.capture.kinds import ATOMS, SEQUENCES, is_transparent
from burn.capture.looks import MISSING, Atom, Attribute, Held, Keys, Look
from burn.capture.settings import Registered
from burn.capture.trust import Ignore, is_ours, is_users


class Spaces:
    """Places that the code reads by name: globals, cells, attributes of classes and modules.

    `names` are the attributes named by the code that was entered so far; when it grows, everything that is known is
    looked at again. `functions` are those met, by their code: what they close over is looked at once they are called.
    """

    def __init__(self, ignore: Ignore) -> None:
        self.ignore = ignore
        self.names: set[str] = set()
        self.asked: set[str] = set()
        """Those that may not be there: by `getattr` or `hasattr`, or where the code catches what that raises."""
        self.everything = self.goes_through_spaces = False
        self.roots: dict[Any, tuple[Any, Any, Look]] = {}
        """Places that are read by name: a dict or a cell, the name, and what was there."""
        self.functions: dict[int, list[Any]] = {}
        self._spaces: list[tuple[Any, str, set[str]]] = []
        self._classes: set[int] = set()
        self._ours: dict[type, set[str]] = {}

    def look(self, value: Any, path: str) -> Look:
        """A look at a value and at what is behind it."""
        raise NotImplementedError

    def place(self, key: Any, container: Any, name: Any, value: Any, path: str) -> None:
        """A place that the code reads: an entry of a dict, or a cell."""
        if key in self.roots or self.ignore.matches(path, value):
            return
        self.roots[key] = (container, name, Atom(path, MISSING))  # no way round in circles
        if value is not MISSING:
            self.roots[key] = (container, name, self.look(value, path))

    def always(self, key: Any, look: Look) -> None:
        """Something that is asked before every replay."""
        self.roots.setdefault(key, ((None,), 0, look))

    def add_names(
        self, names: Iterable[str], everything: bool, spaces: bool = False, asked: Iterable[str] = ()
    ) -> bool:
        """The code names these attributes, too: `everything` of objects, with `spaces` of classes and modules.

        Gives whether any of this is new.
        """
        new = set(names) - self.names
        same = everything <= self.everything and spaces <= self.goes_through_spaces and self.asked.issuperset(asked)
        if same and not new:
            return False
        self.asked.update(asked)
        self.everything |= everything
        self.goes_through_spaces |= spaces
        self.names |= new
        for space, path, seen in list(self._spaces):
            self._look_at_space(space, path, seen)
        for cls in list(self._ours):
            self.note_ours(cls)
        return True

    def note_ours(self, cls: type) -> None:
        """A class of this package: its methods are trusted, if nobody put others in their place."""
        seen = self._ours.setdefault(cls, set())
        for name in ({"forward", *self.names} if hasattr(cls, "__is_module__") else self.names) - seen:
            seen.add(name)
            owner = next((each for each in cls.__mro__ if name in each.__dict__), object)
            value = owner.__dict__.get(name)
            if is_ours(owner) and isinstance(value, types.FunctionType | property):
                place = (owner.__dict__, name, Held(f"{owner.__name__}.{name}", value))
                self.roots.setdefault(("ours", id(owner), name), place)

    def note_function(self, function: Any) -> None:
        """A function that may be called: what it closes over is looked at then."""
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
            self.note_space(each, each.__name__)
            self.roots["bases", id(each)] = (each, "", Attribute(f"the bases of {each.__name__}", each, "__mro__"))
            if type(each) is not type:
                self.note_class(type(each), path)

    def note_meaning(self, cls: type) -> None:
        """What `isinstance` asks of a class: who is registered with it, or has the methods of a protocol."""
        if isinstance(cls, abc.ABCMeta):
            self.always("registered", Registered())
        for each in cls.__mro__:
            if each.__dict__.get("_is_protocol") and each is not typing.Protocol:
                self.add_names({*each.__dict__, *inspect.get_annotations(each)} - _OF_EVERY_CLASS, False)

    def note_space(self, space: Any, path: str) -> None:
        """A class or module, whose attributes are read by name."""
        seen: set[str] = set()
        self._spaces.append((space, path, seen))
        self._look_at_space(space, path, seen)

    def _look_at_space(self, space: Any, path: str, seen: set[str]) -> None:
        fields = space.__dict__
        users = isinstance(space, type) or is_users(space.__name__)
        if users:
            for name in self.names - fields.keys() - seen:
                seen.add(name)
                self.place((id(space), name), fields, name, MISSING, f"{path}.{name}")
        if isinstance(space, type):
            for name in ("__name__", "__qualname__"):
                if name in self.names:
                    self.roots[name, id(space)] = (space, "", Attribute(f"{path}.{name}", space, name))
        wanted = self.names & fields.keys()
        if users and self.goes_through_spaces:
            wanted = set(fields) - _OF_EVERY_CLASS
            self.roots.setdefault(("keys", id(space)), ((fields,), 0, Keys(path, fields)))
        for name in wanted - seen:
            seen.add(name)
            value = fields[name]
            key = (id(space), name)
            if users or _is_data(value):
                self.place(key, fields, name, value, f"{path}.{name}")
            elif key not in self.roots and not self.ignore.matches(f"{path}.{name}", value):
                self.roots[key] = (fields, name, Held(f"{path}.{name}", value))
                if isinstance(value, type):
                    self.note_meaning(value)


def _is_data(value: Any) -> bool:
    """Whether a value of the standard library's is something else than code, and can be looked at."""
    if value is sys.modules:  # imports are looked at one by one
        return False
    return isinstance(value, (*SEQUENCES, dict, set, types.ModuleType)) or (
        not isinstance(value, types.FunctionType | type) and is_transparent(type(value)) and type(value) not in ATOMS
    )


_OF_EVERY_CLASS = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __annotations__ __parameters__ __slots__ __builtins__ __loader__ __spec__ "
    "__abstractmethods__ _abc_impl _is_protocol _is_runtime_protocol __file__ __cached__ __path__ __package__".split()
)
