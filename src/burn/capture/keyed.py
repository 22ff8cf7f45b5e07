"""Looks at arguments: only at what the key of a capture does not tell of them."""

from __future__ import annotations

import dataclasses
from operator import attrgetter, itemgetter
from typing import Any

from burn.capture.kinds import ATOMS
from burn.capture.looking import Around
from burn.capture.looks import Held, Look, Parts, fields_of
from burn.tensor import Tensor


def keyed(around: Around, value: Any, path: str) -> Look | None:
    """A look at what the key of a capture does not tell of an argument; None where it tells all."""
    kind = value.__class__
    if kind in ATOMS or isinstance(value, Tensor) or around.ignore.matches(path, value):
        return None
    if hasattr(kind, "__tree__"):
        around.know(value, Held(path, value))  # what it holds is in the key
    if getattr(kind, "__is_module__", False):
        around.note_class(kind, path)
        return _keyed_module(around, value, path)
    if dataclasses.is_dataclass(value) and not hasattr(kind, "__tree__"):
        around.note_class(type(value), path)
        names = [each.name for each in dataclasses.fields(value) if hasattr(value, each.name)]
        names += [name for name in fields_of(value) or () if name not in names]
        return _keyed_parts(around, path, [(attrgetter(n), getattr(value, n), f"{path}.{n}") for n in names])
    if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return _keyed_parts(around, path, [(itemgetter(i), each, f"{path}[{i}]") for i, each in enumerate(value)])
    if kind is dict:
        return _keyed_parts(around, path, [(itemgetter(k), each, f"{path}[{k!r}]") for k, each in value.items()])
    if hasattr(kind, "__tree__"):
        around.note_class(kind, path)
        return None
    return around.look(value, path)


def _keyed_parts(around: Around, path: str, parts: list[tuple[Any, Any, str]]) -> Look | None:
    found = []
    for read, value, where in parts:
        look = keyed(around, value, where)
        if look is not None:
            found.append((read, look))
    return Parts(path, found) if found else None


def _keyed_module(around: Around, module: Any, path: str) -> Look | None:
    _, token = module.__tree__()
    parts: list[tuple[Any, Any, str]] = []
    opaque: list[tuple[Any, Look]] = []
    for each in token:
        if not isinstance(each, str):
            if not each.is_told:
                where = f"{path}.{each.name}"
                if not around.ignore.matches(where, each.value):
                    opaque.append((_field(each.name), around.look(each.value, where)))
        else:
            parts.append((_field(each), module.__dict__[each], f"{path}.{each}"))
    look = _keyed_parts(around, path, parts)
    if look is None and not opaque:
        return None
    return Parts(path, [*opaque, *(look.children if isinstance(look, Parts) else [])])


def _field(name: str) -> Any:
    return lambda module: module.__dict__[name]
