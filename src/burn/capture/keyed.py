"""Looks at arguments: only at what the key of a capture does not tell of them."""

from __future__ import annotations

import dataclasses
from operator import attrgetter, itemgetter
from typing import Any

from burn.capture.kinds import ATOMS
from burn.capture.looking import Around, itself
from burn.capture.looks import Held, Look, Parts, Place, fields_of
from burn.tensor import Tensor


def keyed(around: Around, value: Any, path: str) -> Look | None:
    """A look at what the key of a capture does not tell of an argument; None where it tells all."""
    kind = type(value)
    if kind in ATOMS or around.ignore.matches(path, value):
        return None
    if isinstance(value, Tensor):
        around.note_ours(kind)
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
        return _keyed_parts(around, value, path, [(attrgetter(n), getattr(value, n), f"{path}.{n}") for n in names])
    if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        around.note_class(kind, path)
        return _keyed_parts(
            around, value, path, [(itemgetter(i), each, f"{path}[{i}]") for i, each in enumerate(value)]
        )
    if kind is dict:
        for key in value:
            if type(key) not in ATOMS:  # itself in the key, by its attributes here
                around.place(("key", id(key)), (key,), 0, key, f"a key of {path}")
        return _keyed_parts(around, value, path, [(itemgetter(k), each, f"{path}[{k!r}]") for k, each in value.items()])
    if hasattr(kind, "__tree__"):
        around.note_class(kind, path)
        return None
    return around.look(value, path)


def without_places(look: Look) -> Look | None:
    """A look at an argument for code that cannot tell two equal containers from one."""
    if type(look) is Place:
        return None
    if isinstance(look, Parts):
        kept = [(read, child) for read, each in look.children if (child := without_places(each)) is not None]
        return Parts(look.path, kept) if kept else None
    return look


def _keyed_parts(around: Around, whole: Any, path: str, parts: list[tuple[Any, Any, str]]) -> Parts:
    found: list[tuple[Any, Look]] = [(itself, around.placed(Place(path), whole))]
    for read, value, where in parts:
        look = keyed(around, value, where)
        if look is not None:
            found.append((read, look))
    return Parts(path, found)


def _keyed_module(around: Around, module: Any, path: str) -> Parts:
    around.note_ours(type(module))
    _, token = module.__tree__()
    parts: list[tuple[Any, Any, str]] = []
    opaque: list[tuple[Any, Look]] = []
    for each in token:
        if not isinstance(each, str):
            where = f"{path}.{each.name}"
            if not each.is_told and not around.ignore.matches(where, each.value):
                opaque.append((_field(each.name), around.look(each.value, where)))
            elif isinstance(each.value, list | dict):
                opaque.append((_field(each.name), around.placed(Place(where), each.value)))
        else:
            parts.append((_field(each), module.__dict__[each], f"{path}.{each}"))
    look = _keyed_parts(around, module, path, parts)
    look.children[:0] = opaque
    return look


def _field(name: str) -> Any:
    return lambda module: module.__dict__[name]
