"""`dataclass` as the standard library has it, for classes of this package: made in a third of the time.

The library writes the source of up to seven methods of each class and compiles them one by one, and with a hundred
classes that is a tenth of the time until a first result. Here `__init__` alone is compiled; the other methods are
closures that do the same. What is asked for seldom (order, fields for keywords alone, fields that differ, a base
class) is left to the library.

    @dataclass(frozen=True)
    class Size:
        width: int
        height: int = 1
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # what type checkers know
else:
    import abc
    import operator
    import reprlib
    import sys
    from dataclasses import MISSING, Field, FrozenInstanceError

    def dataclass(cls=None, /, **options):
        """The decorator of the standard library: `frozen`, `eq`, `repr` and `slots` are made here."""

        def made(cls):
            return _made(cls, **options) if _is_plain(cls, options) else dataclasses.dataclass(cls, **options)

        return made if cls is None else made(cls)

    _HERE = {"frozen", "eq", "repr", "slots"}
    _UNUSUAL = ("ClassVar", "InitVar", "KW_ONLY")
    _OWN = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")

    class _Factory:
        def __repr__(self):
            return "<factory>"

    _FACTORY = _Factory()
    """Stands in signatures for what is made anew by each call."""

    def _is_plain(cls, options):
        """Whether the class is made here."""
        members = cls.__dict__
        annotations = members.get("__annotations__")
        return (
            options.keys() <= _HERE
            and annotations is not None
            and "self" not in annotations
            and cls.__mro__[1:] == (object,)
            and cls.__doc__ is not None
            and not any(name in members and members[name] is not None for name in _OWN)
            and all(isinstance(each, str) for each in annotations.values())
            and not any(word in each for each in annotations.values() for word in _UNUSUAL)
            and all(_is_usual(members[name]) for name in annotations if name in members)
        )

    def _is_usual(value):
        return not isinstance(value, Field) or (
            value.init and value.repr and value.compare and value.hash is None and value.kw_only in (MISSING, False)
        )

    def _made(cls, frozen=False, eq=True, repr=True, slots=False):
        annotations = cls.__annotations__
        cls.__annotations__ = dict.fromkeys(annotations, object)  # the library looks long at each that is text
        cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
        cls.__annotations__ = annotations
        told = cls.__dataclass_params__
        told.init, told.repr, told.eq, told.frozen = True, repr, eq, frozen
        fields = dataclasses.fields(cls)
        for each in fields:
            each.type = annotations[each.name]
        names = tuple(each.name for each in fields)
        _add(cls, "__init__", _init(cls, fields, frozen))
        if repr:
            _add(cls, "__repr__", _repr(names))
        if eq:
            values = _values(names)
            _add(cls, "__eq__", _eq(values))
            cls.__hash__ = None
            if frozen:
                _add(cls, "__hash__", _hash(values))
        if frozen:
            _add(cls, "__setattr__", _refuse(cls, frozenset(names), "assign to", "__setattr__"))
            _add(cls, "__delattr__", _refuse(cls, frozenset(names), "delete", "__delattr__"))
            if slots:
                _add(cls, "__getstate__", _getstate(names))
                _add(cls, "__setstate__", _setstate(names))
        abc.update_abstractmethods(cls)
        return cls

    def _add(cls, name, function):
        function.__name__, function.__qualname__ = name, f"{cls.__qualname__}.{name}"
        function.__module__ = cls.__module__
        setattr(cls, name, function)

    def _init(cls, fields, frozen):
        """The constructor, the one method that is compiled: a call of it must not cost more than elsewhere."""
        known = {"_made": _FACTORY, "_set": object.__setattr__}
        parameters, lines = ["self"], []
        for number, each in enumerate(fields):
            name, value = each.name, each.name
            if each.default_factory is not MISSING:
                known[f"_factory{number}"] = each.default_factory
                parameters.append(f"{name}=_made")
                value = f"_factory{number}() if {name} is _made else {name}"
            elif each.default is not MISSING:
                known[f"_default{number}"] = each.default
                parameters.append(f"{name}=_default{number}")
            else:
                parameters.append(name)
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        body = "\n  ".join(lines) or "pass"
        text = f"def _create({', '.join(known)}):\n def __init__({', '.join(parameters)}):\n  {body}\n return __init__"
        module, made = sys.modules.get(cls.__module__), {}
        exec(text, {} if module is None else module.__dict__, made)  # so that it counts as code of that module
        function = made["_create"](**known)
        function.__annotations__ = {each.name: each.type for each in fields} | {"return": None}
        return function

    def _values(names):
        """What gives the tuple of all fields of an object."""
        if len(names) > 1:
            return operator.attrgetter(*names)
        if names:
            one = operator.attrgetter(*names)
            return lambda self: (one(self),)
        return lambda self: ()

    def _repr(names):
        def __repr__(self):
            inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({inside})"

        return reprlib.recursive_repr()(__repr__)

    def _eq(values):
        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values):
        def __hash__(self):
            return hash(values(self))

        return __hash__

    def _refuse(cls, names, doing, method):
        usual = getattr(object, method)

        def refuse(self, name, *value):
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot {doing} field {name!r}")
            usual(self, name, *value)

        return refuse

    def _getstate(names):
        def __getstate__(self):
            return [getattr(self, name) for name in names]

        return __getstate__

    def _setstate(names):
        def __setstate__(self, state):
            for name, value in zip(names, state):
                object.__setattr__(self, name, value)

        return __setstate__
