"""The fields of a module class: what its annotations declare, and what an instance holds."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from burn.errors import ArgumentError
from burn.guesses import WRITE
from burn.module.param import Param
from burn.tensor import Tensor


def declared(cls: type) -> tuple[str, ...]:
    """The names that a class and its bases annotate, in order, without class variables and private names."""
    known = _DECLARED.get(cls)
    if known is None:
        known = _DECLARED[cls] = _declared(cls)
    return known


_DECLARED: dict[type, tuple[str, ...]] = {}


def _declared(cls: type) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base).items():
            text = annotation if isinstance(annotation, str) else repr(annotation)
            if not name.startswith("_") and "ClassVar" not in text:
                names.setdefault(name)
    return tuple(names)


def hints(cls: type) -> dict[str, Any]:
    """The types of the declared fields; the annotation's text where it names something out of reach."""
    known = _HINTS.get(cls)
    if known is None:
        known = _HINTS[cls] = _hints(cls)
    return known


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            found.update(inspect.get_annotations(base))
        return found


def optional_type(cls: type, name: str) -> Any:
    """For a field declared `X | None`: X (or Any). None for other fields."""
    hint = hints(cls).get(name)
    if isinstance(hint, str):
        return Any if "None" in hint or "Optional" in hint else None
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(hint) if each is not type(None)]
        if len(members) < len(typing.get_args(hint)):
            return members[0] if len(members) == 1 else Any
    return None


def parameters_of(cls: type) -> frozenset[str]:
    """The fields that are declared as parameters: `Param` or `Param | None`."""
    known = _PARAMETERS.get(cls)
    if known is None:
        known = _PARAMETERS[cls] = frozenset(name for name, hint in hints(cls).items() if _is_parameter(hint))
    return known


_PARAMETERS: dict[type, frozenset[str]] = {}


def _is_parameter(hint: Any) -> bool:
    if isinstance(hint, str):
        return re.fullmatch(r"(\w+\.)*Param(\[.*\])?( *\| *None)?", hint) is not None
    members = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return any(each is Param or typing.get_origin(each) is Param for each in members)


def _declared_value(cls: type, name: str, value: Any) -> Any:
    """A parameter in place of a plain tensor where one is declared; what is computed from others stays a result."""
    if type(value) is Tensor and name in parameters_of(cls) and not value.is_require_grad():
        return Param(value)
    return value


def field_names(module: Any) -> list[str]:
    """The fields of an instance: declared ones in their order, then what was only assigned."""
    values = module.__dict__  # asked first: a loaded model becomes a module of a class of its own here
    known = declared(type(module))
    return [name for name in known if name in values] + [name for name in values if name not in known]


def bind(
    cls: type,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    make: Callable[[str, Any], Any] = lambda name, default: default,
    complete: bool = True,
) -> dict[str, Any]:
    """The values of the declared fields for a constructor call; class attributes are defaults, `make` their values.

    Without `complete` fields may be missing: the constructor of the class goes on to assign them.
    """
    names = declared(cls)
    faults = []
    if len(args) > len(names):
        faults.append(f"takes {len(names)} values ({', '.join(names)}), got {len(args)}")
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            advised = WRITE["argument"].get(name)
            known = f"its fields are {', '.join(names) or 'none'}"
            faults.append(f"has no field {name!r}; {advised or known}")
        elif name in values:
            faults.append(f"got {name!r} twice")
        else:
            values[name] = value
    missing = []
    for name in names:
        if name not in values:
            if hasattr(cls, name):
                values[name] = make(name, getattr(cls, name))
            elif optional_type(cls, name) is not None:
                values[name] = None
            else:
                missing.append(name)
    if missing and complete:
        faults.append(f"needs {', '.join(missing)}")
    if faults:
        raise ArgumentError(f"{cls.__name__}: " + "; ".join(faults))
    return {name: _declared_value(cls, name, values[name]) for name in names if name in values}
