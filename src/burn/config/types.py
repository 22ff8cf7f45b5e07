"""Types: from the annotation of a field to its kind."""

from __future__ import annotations

import enum
import types
import typing
from collections import abc
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, ForwardRef, Literal, TypeVar, get_args, get_origin

import typing_extensions

from burn.config.containers import Dictionary, Distinct, Length, Many, Row
from burn.config.kinds import SCALARS, File, Kind, Member, OneOf, Plain
from burn.config.names import Names
from burn.config.union import Union

PLAIN = Plain()
LISTS = (list, abc.MutableSequence)
TUPLES = (abc.Sequence, abc.Collection, abc.Iterable)
DICTS = (dict, abc.Mapping, abc.MutableMapping)
SETS: dict[Any, Any] = {set: set, abc.MutableSet: set, frozenset: frozenset, abc.Set: frozenset}
TRANSPARENT = (typing.Final, typing_extensions.Required, typing_extensions.ReadOnly)
ALIASES = tuple({typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)})
KEYS = "str, int, an enum, a Literal or a Path"


class Unsupported(Exception):
    """A type that no field can have; the text says why and what to write."""


class Types:
    """Turns annotations into kinds: `names` reads those that are text, `arguments` stand for type variables."""

    def __init__(self, owner: type, names: Names, arguments: Mapping[Any, Any]) -> None:
        self.owner = owner
        self.names = names
        self.arguments = arguments

    def kind(self, annotation: Any) -> Kind:
        """The kind of an annotation."""
        known = SCALARS.get(annotation) if isinstance(annotation, (type, types.NoneType)) else None
        if known is not None:
            return known
        if isinstance(annotation, (str, ForwardRef)):
            return self.kind(self._read(annotation))
        if annotation in (Any, object):
            return PLAIN
        if annotation in (typing.Self, typing_extensions.Self):
            return self.kind(self.owner)
        origin = get_origin(annotation)
        if origin is not None:
            return self._of_parts(annotation, origin, get_args(annotation))
        if isinstance(annotation, type):
            return self._of_class(annotation)
        if isinstance(annotation, TypeVar):
            return self._of_variable(annotation)
        if isinstance(annotation, ALIASES):
            return self.kind(annotation.__value__)
        if isinstance(annotation, typing.NewType):
            return self.kind(annotation.__supertype__)
        raise Unsupported(f"{_show(annotation)} is not a type that a field can have")

    def _read(self, annotation: str | ForwardRef) -> Any:
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        try:
            return self.names.read(text)
        except NameError as error:
            raise Unsupported(
                f"its annotation `{text}` names {error.name!r}, which is not there when the class is used; "
                "import it outside `if TYPE_CHECKING:`"
            ) from None
        except Exception as error:
            raise Unsupported(f"its annotation `{text}` cannot be read: {error}") from None

    def _of_class(self, cls: type) -> Kind:
        kind = getattr(cls, "_field_kind", None)
        if kind is not None:
            return kind(())  # type: ignore[no-any-return]
        if issubclass(cls, enum.Enum):
            return Member(cls)
        if issubclass(cls, PurePath):
            return File(cls)
        if cls is tuple:
            return Many(PLAIN, tuple)
        if cls in LISTS or cls in TUPLES or cls in DICTS or cls in SETS:
            return self._of_parts(cls, cls, ())
        if cls.__module__ == "os" and cls.__name__ == "PathLike":
            return File(Path)
        if hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__total__") or hasattr(cls, "_fields"):
            raise Unsupported(f"{_show(cls)} is not written to JSON; derive it from Config")
        raise Unsupported(
            f"{_show(cls)} is not written to JSON; a field is a bool, int, float, str, Path, enum, Config, "
            "Enumeration, or a list, tuple, set, dict or union of these; for what belongs to the class write ClassVar"
        )

    def _of_parts(self, annotation: Any, origin: Any, parts: tuple[Any, ...]) -> Kind:
        if origin is typing.Annotated:
            return self._of_annotated(*parts)
        if origin in TRANSPARENT:
            return self.kind(parts[0])
        if origin is Literal:
            return OneOf(parts)
        if origin in (typing.Union, types.UnionType):
            members = [self.kind(part) for part in parts]
            return members[0] if len(members) == 1 else Union(members)
        if origin is tuple and not (len(parts) == 2 and parts[1] is ...):
            return Row([self.kind(part) for part in parts])
        if origin in LISTS or origin in TUPLES or origin is tuple:
            return Many(self.kind(parts[0] if parts else Any), list if origin in LISTS else tuple)
        if origin in SETS:
            return Distinct(self.kind(parts[0] if parts else Any), SETS[origin])
        if origin in DICTS:
            return self._of_dict(*(parts or (str, Any)))
        if isinstance(origin, ALIASES):
            variables = dict(zip(origin.__type_params__, parts))
            return Types(self.owner, self.names, {**self.arguments, **variables}).kind(origin.__value__)
        kind = getattr(origin, "_field_kind", None)
        if kind is not None:
            return kind(tuple(self._argument(part) for part in parts))  # type: ignore[no-any-return]
        raise Unsupported(f"{_show(annotation)} is not written to JSON")

    def _argument(self, part: Any) -> Any:
        """An argument of a generic config, as the config can read it far from here."""
        if isinstance(part, (str, ForwardRef)):
            return self._read(part)
        return self.arguments.get(part, part) if isinstance(part, TypeVar) else part

    def _of_annotated(self, annotation: Any, *notes: Any) -> Kind:
        kind = self.kind(annotation)
        for note in notes:
            if isinstance(note, Length):
                if not isinstance(kind, Many):
                    raise Unsupported(f"{note!r} is for a list, tuple or Sequence of one type, not {_show(annotation)}")
                kind = Many(kind.element, kind.cls, note.count)
        return kind

    def _of_dict(self, key: Any, value: Any) -> Kind:
        kind = self.kind(key)
        if kind not in (SCALARS[str], SCALARS[int]) and not isinstance(kind, (Member, OneOf, File)):
            raise Unsupported(f"the keys of an object in JSON are text: they can be {KEYS}, not {_show(key)}")
        return Dictionary(kind, self.kind(value))

    def _of_variable(self, variable: TypeVar) -> Kind:
        if variable in self.arguments:
            return self.kind(self.arguments[variable])
        if variable.__constraints__:
            return Union([self.kind(each) for each in variable.__constraints__])
        return self.kind(variable.__bound__ if variable.__bound__ is not None else Any)


def _show(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)
