"""Walking a module: every parameter, state and constant tensor with its path, and rebuilding the tree.

A path is dotted: `layers.0.weight`. Lists, tuples and dicts are containers; whatever else a module
holds is a constant and stays where it is. An object found twice is visited at both places and stays
one object when the tree is rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from burn.module.fields import field_names
from burn.module.ignored import Ignored
from burn.module.param import Param
from burn.module.state import State
from burn.tensor import Tensor
from burn.tree import ATOMS, told

if TYPE_CHECKING:
    from burn.module.module import Module

Leaf = Param[Any] | State | Tensor[Any]


def is_module(value: Any) -> bool:
    """Whether a value is a module; without importing the class, which imports this file."""
    return getattr(value.__class__, "__is_module__", False)


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """The named parts of a module or a container."""
    if is_module(value):
        for name in field_names(value):
            yield name, value.__dict__[name]
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield str(index), each
    elif isinstance(value, dict):
        for key, each in value.items():
            yield str(key), each


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every parameter, state and bare tensor under `value`, with its path, in order of declaration."""
    if isinstance(value, Tensor | State):
        yield path, value
    elif not isinstance(value, Ignored):
        for name, child in children(value):
            yield from leaves(child, f"{path}.{name}" if path else name)


def is_part(value: Any) -> bool:
    """Whether a field belongs to the tree: a tensor, a state, a module, or a container of such."""
    if isinstance(value, Tensor | State) or is_module(value):
        return True
    if isinstance(value, dict):
        return any(map(is_part, value.values()))
    return isinstance(value, list | tuple) and any(map(is_part, value))


class Static:
    """A field that is part of a module's structure: told by its value, or by identity where that cannot be told."""

    __slots__ = ("_hash", "_told", "name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        kind = value.__class__
        self._told = (kind, value) if kind in ATOMS and kind is not float else told(value)
        self._hash = hash((name, id(value) if self._told is None else self._told))

    @property
    def is_told(self) -> bool:
        """Whether the field is known by its value, so that nothing of it can change unseen."""
        return self._told is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or other._hash != self._hash or other.name != self.name:
            return False
        return self.value is other.value if self._told is None else self._told == other._told

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


def modules(value: Any, path: str = "") -> Iterator[tuple[str, Module]]:
    """Every module under `value`, itself first, with its path."""
    if is_module(value):
        yield path, value
    if not isinstance(value, Tensor | State | Ignored):
        for name, child in children(value):
            yield from modules(child, f"{path}.{name}" if path else name)


def rebuild(value: Any, change: Callable[[Leaf], Any], finish: Callable[[Any], None] | None = None) -> Any:
    """The tree with `change` applied to every leaf; parts in which nothing changed are shared, not copied.

    A leaf found at several places is changed once. `finish` is called with every new module.
    """
    return _Rebuild(change, finish).value(value)


class _Rebuild:
    def __init__(self, change: Callable[[Leaf], Any], finish: Callable[[Any], None] | None) -> None:
        self.change, self.finish = change, finish
        self.known: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        if isinstance(value, Tensor | State):
            return self.once(value, self.change)
        if is_module(value):
            return self.once(value, self.module)
        kind = type(value)
        if kind is list or kind is tuple:
            parts = [self.value(each) for each in value]
            return kind(parts) if any(new is not old for new, old in zip(parts, value, strict=True)) else value
        if isinstance(value, dict):
            pairs = {key: self.value(each) for key, each in value.items()}
            return kind(pairs) if any(pairs[key] is not value[key] for key in value) else value
        if isinstance(value, tuple):  # a named tuple
            parts = [self.value(each) for each in value]
            return kind(*parts) if any(new is not old for new, old in zip(parts, value, strict=True)) else value
        return value

    def once(self, value: Any, function: Callable[[Any], Any]) -> Any:
        key = id(value)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = function(value)
        return found

    def module(self, module: Any) -> Any:
        fields = module.__dict__
        changed = {}
        for name, old in fields.items():
            kind = old.__class__
            if kind is int or kind is float or kind is str or kind is bool or old is None:
                continue
            new = self.value(old)
            if new is not old:
                changed[name] = new
        if not changed and self.finish is None:
            return module
        made = object.__new__(type(module))
        made.__dict__.update(fields)
        made.__dict__.update(changed)
        if self.finish is not None:
            self.finish(made)
        return made
