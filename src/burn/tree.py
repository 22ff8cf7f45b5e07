"""Trees: nested values taken apart into leaves and a hashable structure, and put together again.

Leaves are what a captured function receives anew at each call: tensors and floats. Everything else
(ints, strings, enums, the classes and field names) is structure. Lists, tuples, dicts, named tuples
and dataclasses are trees by themselves; another class says how with two methods:

    def __tree__(self): return (children, token)             # token: hashable, what is not a leaf
    @classmethod
    def __untree__(cls, token, children): ...                # the inverse

Further abilities of a class, all optional:

- `__tree_update__(self, token, children)` puts new contents into the same object. Such *mutable*
  nodes (a running mean, an optimizer) have an identity: found twice in a tree, one is one in its copy too.
- `__flat__(self)` gives leaves and structure from a cache, or None where there is none at the moment.
  `__keep_flat__(self, leaves, structure)` fills that cache for a tree that was just put together.
- A tensor class with `__untree__` and `__tree_token__` is a leaf with a token, such as a parameter with its
  id. Taken apart it is itself the leaf; put together, a plain tensor becomes one, and the same tensor
  at two places with the same token becomes the same object.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
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
    leaves: int
    mutables: int

    def leaf_count(self) -> int:
        """The number of leaves."""
        return self.leaves


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


LEAF = _Mark("leaf")
STATIC = _Mark("static")
KNOWN = _Mark("known")
"""The kind of a mutable node that stands elsewhere: its token is the number under which it was met."""

A_LEAF = Structure(LEAF, None, (), 1, 0)


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree in order, and its structure."""
    walk = Walk()
    structure = walk.take(value)
    return walk.leaves, structure


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of a structure and as many leaves as it has."""
    return Assembly().make(structure, leaves)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The same tree with `function` applied to each leaf; a leaf at several places is mapped once."""
    leaves, structure = flatten(value)
    mapped: dict[int, Any] = {}
    for leaf in leaves:
        if id(leaf) not in mapped:
            mapped[id(leaf)] = function(leaf)
    return unflatten(structure, [mapped[id(leaf)] for leaf in leaves])


# Taking apart


class Walk:
    """Trees being taken apart one after the other into one list of leaves.

    `mutables` are the mutable nodes met so far. With `apart` their contents stay out: they are `KNOWN`
    wherever they stand, and `contents` takes each of them apart for itself.
    """

    __slots__ = ("apart", "leaves", "mutables", "numbers")

    def __init__(self, mutables: Sequence[Any] = (), apart: bool = False, leaves: list[Any] | None = None) -> None:
        self.leaves: list[Any] = [] if leaves is None else leaves
        self.mutables: list[Any] = list(mutables)
        self.numbers: dict[int, int] = {id(each): number for number, each in enumerate(self.mutables)}
        self.apart = apart

    def take(self, value: Any) -> Structure:
        """The structure of `value`; its leaves are added to the others."""
        kind = type(value)
        way = _WAYS.get(kind)
        if way is None:
            way = _WAYS[kind] = _way_of(kind)
        return way(self, value)

    def contents(self, mutable: Any) -> Structure:
        """The structure of what a mutable node holds."""
        children, token = mutable.__tree__()
        return _node(self, mutable.__class__, token, children)


Way = Callable[[Walk, Any], Structure]


def _node(walk: Walk, kind: Any, token: Any, children: Sequence[Any], itself: int = 0) -> Structure:
    parts = tuple([walk.take(each) for each in children])
    leaves = 0
    for part in parts:
        leaves += part[3]
        itself += part[4]
    return Structure(kind, token, parts, leaves, itself)


def _leaf(walk: Walk, value: Any) -> Structure:
    walk.leaves.append(value)
    return A_LEAF


def _leaf_with_token(walk: Walk, value: Any) -> Structure:
    walk.leaves.append(value)
    return Structure(value.__class__, value.__tree_token__, _ONE_LEAF, 1, 0)


_ONE_LEAF = (A_LEAF,)


def _sequence(walk: Walk, value: Any) -> Structure:
    return _node(walk, value.__class__, len(value), value)


def _dict(walk: Walk, value: Any) -> Structure:
    keys = tuple(value)
    for key in keys:
        if type(key) is not str:
            keys = _Keys(keys)
            break
    return _node(walk, dict, keys, tuple(value.values()))


class _Keys(tuple[Any, ...]):
    """Keys of a dict that are not all strings: 1, 1.0 and True are three, and objects are themselves."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is _Keys and len(self) == len(other) and all(map(_same_key, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _same_key(one: Any, other: Any) -> bool:
    kind = type(one)
    if one is other:
        return True
    if kind is not type(other):
        return False
    if kind is tuple:
        return len(one) == len(other) and all(map(_same_key, one, other))
    return kind in ATOMS and repr(one) == repr(other)


def _own(walk: Walk, value: Any) -> Structure:
    children, token = value.__tree__()
    return _node(walk, value.__class__, token, children)


def _cached(walk: Walk, value: Any) -> Structure:
    flat = value.__flat__()
    if flat is None or flat[1].mutables:  # mutable nodes are numbered as this walk meets them
        return _own(walk, value)
    walk.leaves += flat[0]
    structure: Structure = flat[1]
    return structure


def _mutable(walk: Walk, value: Any) -> Structure:
    number = walk.numbers.get(id(value))
    if number is None:
        number = walk.numbers[id(value)] = len(walk.mutables)
        walk.mutables.append(value)
        if not walk.apart:
            children, token = value.__tree__()
            return _node(walk, value.__class__, token, children, 1)
    return Structure(KNOWN, number, (), 0, 1)


def _named_tuple(walk: Walk, value: Any) -> Structure:
    return _node(walk, value.__class__, value._fields, value)


def _static(walk: Walk, value: Any) -> Structure:
    return Structure(STATIC, _hashable(value), (), 0, 0)


def _fields_of(kind: Any) -> Way:
    names = tuple(each.name for each in dataclasses.fields(kind))
    known = frozenset(names)

    def fields(walk: Walk, value: Any) -> Structure:
        held = getattr(value, "__dict__", None)
        if held is None or (len(held) <= len(names) and known.issuperset(held)):
            return _node(walk, kind, names, [getattr(value, name) for name in names])
        own = (*names, *[name for name in held if name not in known])  # what `__post_init__` and others set
        return _node(walk, kind, own, [getattr(value, name) for name in own])

    return fields


def _way_of(kind: Any) -> Way:
    """How values of a class are taken apart; found once."""
    if kind is float:
        return _leaf
    if getattr(kind, "__tree_leaf__", False):
        return _leaf_with_token if hasattr(kind, "__untree__") else _leaf
    if kind is list or kind is tuple:
        return _sequence
    if kind is dict:
        return _dict
    if hasattr(kind, "__tree__"):
        if hasattr(kind, "__tree_update__"):
            return _mutable
        return _cached if hasattr(kind, "__flat__") else _own
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple
    if dataclasses.is_dataclass(kind):
        return _fields_of(kind)
    return _static


_WAYS: dict[Any, Way] = {}


class _ById:
    """A value that is equal only to itself; held weakly where it can be, so that no key keeps it alive."""

    __slots__ = ("_hash", "_reference")

    def __init__(self, value: Any) -> None:
        self._hash = id(value)
        try:
            self._reference: Callable[[], Any] = weakref.ref(value)
        except TypeError:
            self._reference = lambda: value

    @property
    def value(self) -> Any:
        """The value, or None if it is gone."""
        return self._reference()

    @property
    def is_gone(self) -> bool:
        """Whether nobody has the value any more."""
        return self._reference() is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ById):
            return False
        value = self._reference()
        return value is not None and other._reference() is value

    def __hash__(self) -> int:
        return self._hash


ATOMS: frozenset[Any] = frozenset(
    (int, float, bool, str, bytes, complex, range, type(None), type(...), type(NotImplemented))
)
"""Classes of immutable values without parts."""


def told(value: Any) -> Any:
    """A value in hashable data that is equal for equal values and for no others; None where it cannot be told so."""
    kind: Any = type(value)
    if kind in ATOMS:
        return (kind, repr(value)) if kind is float or kind is complex else (kind, value)
    if isinstance(value, enum.Enum) or (isinstance(value, _FUNCTIONS) and is_ours(value)):
        return (kind, _ById(value))
    if kind is list or kind is tuple:
        parts = [told(each) for each in value]
    elif kind is dict:
        parts = [told(each) for pair in value.items() for each in pair]
    elif getattr(kind, "__constant__", False) or (is_ours(kind) and kind.__hash__ not in (None, object.__hash__)):
        try:
            hash(value)
        except TypeError:
            return None
        return (kind, value)
    else:
        return None
    return None if None in parts else (kind, *parts)


_FUNCTIONS = (type, types.FunctionType, types.BuiltinFunctionType)


def is_ours(value: Any) -> bool:
    """Whether a class or function belongs to this package."""
    return (getattr(value, "__module__", None) or "").partition(".")[0] in ("burn", "burn_import")


def _hashable(value: Any) -> Any:
    kind = type(value)
    if kind in ATOMS and kind is not float and kind is not complex:
        return (kind, value)
    description = told(value)
    return _ById(value) if description is None else _Told(description, value)


class _Told:
    """A value that is told by other data than itself."""

    __slots__ = ("description", "value")

    def __init__(self, description: Any, value: Any) -> None:
        self.description, self.value = description, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and other.description == self.description

    def __hash__(self) -> int:
        return hash(self.description)


def opaque_values(structure: Structure) -> Iterator[Any]:
    """The values in a tree that are equal only to themselves; None for one that is gone."""
    if structure.kind is STATIC and structure.token.__class__ is _ById:
        yield structure.token.value
    for child in structure.children:
        yield from opaque_values(child)


def is_gone(structure: Structure) -> bool:
    """Whether a value in a tree that is equal only to itself is there no more, so that no tree will be equal to it."""
    if structure.kind is STATIC and structure.token.__class__ is _ById:
        return structure.token.is_gone
    return any(map(is_gone, structure.children))


# Putting together


class Assembly:
    """Trees being put together, with the mutable nodes that are there already by their numbers."""

    __slots__ = ("collected", "mutables", "wrapped")

    def __init__(self, mutables: Sequence[Any] = ()) -> None:
        self.collected: list[Any] | None = None  # the leaves of the tree being made, if it keeps them
        self.mutables: list[Any] = list(mutables)
        self.wrapped: dict[tuple[int, Any], tuple[Any, Any]] = {}  # tensors, and the leaves with tokens made of them

    def make(self, structure: Structure, leaves: Sequence[Any]) -> Any:
        """The tree of a structure and as many leaves as it has."""
        self._count(structure, leaves)
        return self._make(structure, iter(leaves).__next__)

    def children(self, structure: Structure, leaves: Sequence[Any]) -> list[Any]:
        """What stands below the topmost node."""
        self._count(structure, leaves)
        take = iter(leaves).__next__
        return [self._make(child, take) for child in structure.children]

    def _count(self, structure: Structure, leaves: Sequence[Any]) -> None:
        if structure.leaves != len(leaves):
            raise ValueError(f"unflatten: the structure has {structure.leaves} leaves, {len(leaves)} were given")

    def _make(self, structure: Structure, take: Callable[[], Any]) -> Any:
        kind, token, children, _, mutables = structure
        if kind is LEAF:
            leaf = take()
            if self.collected is not None:
                self.collected.append(leaf)
            return leaf
        if kind is STATIC:
            return token[1] if token.__class__ is tuple else token.value
        if kind is KNOWN:
            return self.mutables[token]
        maker = _MAKERS.get(kind)
        if maker is None:
            maker = _MAKERS[kind] = _maker_of(kind)
        if maker is A_LEAF_WITH_TOKEN:
            leaf = self._leaf_with_token(kind, token, take())
            if self.collected is not None:
                self.collected.append(leaf)
            return leaf
        if maker is A_MUTABLE:
            number = len(self.mutables)
            self.mutables.append(None)
            made = self.mutables[number] = kind.__untree__(token, [self._make(child, take) for child in children])
            return made
        if maker is A_KEPT and self.collected is None and not mutables:
            collected = self.collected = []
            try:
                made = kind.__untree__(token, [self._make(child, take) for child in children])
            finally:
                self.collected = None
            made.__keep_flat__(collected, structure)
            return made
        if maker is A_KEPT:
            maker = _own_made
        return maker(kind, token, [self._make(child, take) for child in children])

    def _leaf_with_token(self, kind: Any, token: Any, leaf: Any) -> Any:
        if leaf.__class__ is kind and leaf.__tree_token__ == token:
            return leaf
        found = self.wrapped.get((id(leaf), token))
        if found is None:
            found = self.wrapped[id(leaf), token] = (leaf, kind.__untree__(token, (leaf,)))
        return found[1]


Maker = Callable[[Any, Any, list[Any]], Any]

A_LEAF_WITH_TOKEN, A_MUTABLE, A_KEPT = _Mark("leaf with token"), _Mark("mutable"), _Mark("kept")
"""Classes that take more to be put together than their token and their children."""


def _own_made(kind: Any, token: Any, children: list[Any]) -> Any:
    return kind.__untree__(token, children)


def _fields_made(kind: Any, token: Any, children: list[Any]) -> Any:
    made = object.__new__(kind)
    for name, child in zip(token, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def _maker_of(kind: Any) -> Any:
    """How values of a class are put together; found once."""
    if getattr(kind, "__tree_leaf__", False):
        return A_LEAF_WITH_TOKEN
    if kind is list or kind is tuple:
        return lambda kind, token, children: kind(children)
    if kind is dict:
        return lambda kind, token, children: dict(zip(token, children, strict=True))
    if hasattr(kind, "__untree__"):
        if hasattr(kind, "__tree_update__"):
            return A_MUTABLE
        return A_KEPT if hasattr(kind, "__keep_flat__") else _own_made
    if hasattr(kind, "_fields"):
        return lambda kind, token, children: kind(*children)
    return _fields_made


_MAKERS: dict[Any, Any] = {}
