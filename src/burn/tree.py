"""Trees: nested values taken apart into leaves and a hashable structure, and put together again.

Leaves are what a captured function receives anew at each call: tensors and floats. Everything else
(ints, strings, enums, the classes and field names) is structure. Lists, tuples, dicts, named tuples
and dataclasses are trees by themselves; another class says how with two methods:

    def __tree__(self): return (children, token)             # token: hashable, what is not a leaf
    @classmethod
    def __untree__(cls, token, children): ...                # the inverse
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable


@runtime_checkable
class Tree(Protocol):
    """A class that takes part in trees."""

    def __tree__(self) -> tuple[Sequence[Any], Any]: ...
    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> Any: ...


class Structure(NamedTuple):
    """The shape of a tree: what it is made of, without its leaves. A tuple, so that it hashes fast."""

    kind: Any
    token: Any
    children: tuple[Any, ...]

    def leaf_count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is LEAF else sum(child.leaf_count() for child in self.children)


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


LEAF = _Mark("leaf")
STATIC = _Mark("static")


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Structure:
    kind = type(value)
    if kind is float or getattr(kind, "__tree_leaf__", False):
        leaves.append(value)
        return _LEAF
    if kind is list or kind is tuple:
        return Structure(kind, len(value), tuple([_flatten(each, leaves) for each in value]))
    if kind is dict:
        return Structure(kind, tuple(value), tuple(_flatten(each, leaves) for each in value.values()))
    if hasattr(kind, "__tree__"):
        children, token = value.__tree__()
        return Structure(kind, token, tuple(_flatten(each, leaves) for each in children))
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return Structure(kind, kind._fields, tuple(_flatten(each, leaves) for each in value))
    if dataclasses.is_dataclass(kind):
        names = tuple(each.name for each in dataclasses.fields(kind))
        return Structure(kind, names, tuple(_flatten(getattr(value, name), leaves) for name in names))
    return Structure(STATIC, _hashable(value), ())


_LEAF = Structure(LEAF, None, ())


class _ById:
    """An unhashable static value: equal only to itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return _ById(value)
    return (type(value), value)


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of a structure and as many leaves as it has."""
    if structure.leaf_count() != len(leaves):
        raise ValueError(f"unflatten: the structure has {structure.leaf_count()} leaves, {len(leaves)} were given")
    iterator = iter(leaves)
    return _unflatten(structure, iterator.__next__)


def _unflatten(structure: Structure, take: Callable[[], Any]) -> Any:
    kind, token = structure.kind, structure.token
    if kind is LEAF:
        return take()
    if kind is STATIC:
        return token.value if isinstance(token, _ById) else token[1]
    children = [_unflatten(child, take) for child in structure.children]
    if kind is list or kind is tuple:
        return kind(children)
    if kind is dict:
        return dict(zip(token, children, strict=True))
    if hasattr(kind, "__untree__"):
        return kind.__untree__(token, children)
    if hasattr(kind, "_fields"):
        return kind(*children)
    made = object.__new__(kind)
    for name, child in zip(token, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The same tree with `function` applied to each leaf."""
    leaves, structure = flatten(value)
    return unflatten(structure, [function(leaf) for leaf in leaves])
