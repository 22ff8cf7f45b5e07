"""A call of a captured function: everything that its result depends on, taken apart.

The leaves are those of the arguments, then those found in the surroundings, then the contents of the
mutable objects (state cells, optimizers) reached through either. Mutable objects are never copied:
the function works on the user's own, and what it puts into them is part of its result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from burn.capture.leaves import bottom_handle, described
from burn.capture.surroundings import Surroundings
from burn.scalar import Scalar
from burn.tensor import Tensor
from burn.tree import Assembly, Structure, Walk


class Call:
    """One call: its leaves, and the key of what is not a leaf."""

    __slots__ = ("args", "around", "contents", "given", "key", "kwargs", "leaves", "mutables", "outside", "spans",
                 "structure", "surroundings", "values")  # fmt: skip

    def __init__(self, surroundings: Surroundings, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.surroundings, self.args, self.kwargs = surroundings, args, kwargs
        walk = Walk(apart=True)
        leaves = self.leaves = walk.leaves
        self.structure = walk.take((args, kwargs))
        self.given = len(leaves)
        self.values = surroundings.values()
        self.around = surroundings.take(self.values, walk)
        self.outside = len(leaves)
        self.mutables = walk.mutables
        self.contents: list[Structure] = []
        self.spans: list[tuple[int, int]] = []
        for mutable in self.mutables:  # grows while it runs
            begin = len(leaves)
            self.contents.append(walk.contents(mutable))
            self.spans.append((begin, len(leaves)))
        self.key = (self.structure, self.around, tuple(self.contents), self.described())

    def described(self) -> tuple[Any, ...]:
        """What a capture must know of the leaves, and which of them are one tensor.

        Floats may change from call to call, except those that the function reads as they are: the ones
        in its surroundings that are not inside a mutable object.
        """
        found: list[Any] = []
        seen: dict[int, int] = {}
        given, outside = self.given, self.outside
        for index, leaf in enumerate(self.leaves):
            about = described(leaf, leaf.__class__ is float and given <= index < outside)
            if isinstance(leaf, Tensor):
                about = (*about, seen.setdefault(id(bottom_handle(leaf)), index))
            found.append(about)
        return tuple(found)

    def number_positions(self) -> list[int]:
        """The leaves that are run-time numbers."""
        inside = range(self.given, self.outside)
        return [i for i, leaf in enumerate(self.leaves) if leaf.__class__ is float and i not in inside]

    def numbers(self) -> list[float]:
        """The run-time numbers."""
        return [self.leaves[position] for position in self.number_positions()]

    # Putting numbers and old values in place

    def arguments(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `leaves`; values in which none of them is another stay themselves."""
        positional, named = self.structure.children
        position = 0
        made: list[Any] = []
        for value, structure in zip(
            (*self.args, *self.kwargs.values()), (*positional.children, *named.children), strict=True
        ):
            end = position + structure.leaves
            part = leaves[position:end]
            changed = any(new is not old for new, old in zip(part, self.leaves[position:end], strict=True))
            made.append(_replaced(value, structure, part, self.mutables) if changed else value)
            position = end
        count = len(self.args)
        return tuple(made[:count]), dict(zip(self.kwargs, made[count:], strict=True))

    def put(self, leaves: list[Any]) -> None:
        """Put `leaves` into the mutable objects that hold others now."""
        for mutable, structure, (begin, end) in zip(self.mutables, self.contents, self.spans, strict=True):
            part = leaves[begin:end]
            if any(new is not old for new, old in zip(part, self.leaves[begin:end], strict=True)):
                mutable.__tree_update__(structure.token, Assembly(self.mutables).children(structure, part))

    def restore(self) -> None:
        """Put everything that a call may change back to what it was before."""
        for mutable, structure, (begin, end) in zip(self.mutables, self.contents, self.spans, strict=True):
            assembly = Assembly(self.mutables)
            mutable.__tree_update__(structure.token, assembly.children(structure, self.leaves[begin:end]))
        surroundings = self.surroundings
        for position, now in enumerate(surroundings.values()):
            if now is not self.values[position]:
                surroundings.bind(position, self.values[position])

    def settle_failed(self, args: Any, kwargs: Any) -> None:
        """After an exception: what had happened has happened, with plain numbers in the place of scalars."""
        for mutable in self.mutables:
            walk = Walk(self.mutables)
            structure = walk.contents(mutable)
            if any(isinstance(leaf, Scalar) for leaf in walk.leaves):
                leaves = [leaf.value if isinstance(leaf, Scalar) else leaf for leaf in walk.leaves]
                mutable.__tree_update__(structure.token, Assembly(self.mutables).children(structure, leaves))
        for position, now in enumerate(self.surroundings.values()):
            if now is not self.values[position] and position < len(self.surroundings.names):
                self.surroundings.bind(position, plain(now))
        for old, new in zip((*self.args, *self.kwargs.values()), (*args, *kwargs.values()), strict=True):
            _write(old, plain(new))


class After:
    """What a call left behind: its result, and what it changed. Each is a part: a structure and its leaves."""

    def __init__(self, call: Call, leaves: list[Any], args: Any, kwargs: Any, result: Any) -> None:
        self.call, self.args, self.kwargs, self.result = call, args, kwargs, result
        walk = Walk(call.mutables)
        self.leaves = walk.leaves
        self.parts: list[Part] = []
        self._take(walk, "result", 0, walk.take(result))
        for number, mutable in enumerate(call.mutables):
            begin, end = call.spans[number]
            first = len(walk.leaves)
            structure = walk.contents(mutable)
            if structure == call.contents[number] and same_leaves(walk.leaves[first:], leaves[begin:end]):
                del walk.leaves[first:]
            else:
                self._take(walk, "mutable", number, structure)
        for position, now in enumerate(call.surroundings.values()):
            if now is not call.values[position]:
                self._take(walk, "name", position, walk.take(now))
        self.fills_cache = False
        """Whether what it changed in place is a container of plain values, which may be the last time."""
        self.in_place = self._changed_in_place(leaves)

    def _take(self, walk: Walk, what: str, number: int, structure: Structure) -> None:
        end = len(walk.leaves)
        self.parts.append(Part(what, number, structure, end - structure.leaves, end))

    def _changed_in_place(self, leaves: list[Any]) -> str:
        """What the function changed that is neither a mutable object nor a name, or nothing."""
        call = self.call
        walk = Walk(call.mutables, apart=True)
        structure = walk.take((self.args, self.kwargs))
        if structure != call.structure or not same_leaves(walk.leaves, leaves[: call.given]):
            self._write_back()
            return "an argument is changed in place; return the new value instead"
        surroundings = call.surroundings
        end = call.given
        for position, (value, now) in enumerate(zip(call.values, surroundings.values(), strict=True)):
            before = call.around[position]
            begin, end = end, end + before.leaves
            if now is not value:
                continue
            walk = Walk(call.mutables, apart=True)
            structure = walk.take(value)
            if structure == before and same_leaves(walk.leaves, leaves[begin:end]):
                continue
            self.fills_cache = not before.leaves and not structure.leaves
            name = surroundings.names[position] if position < len(surroundings.names) else "a default or self"
            return f"{name} is changed in place; bind the name to a new value instead"
        return ""

    def _write_back(self) -> None:
        """Where arguments were copied for their numbers: change the caller's as the function changed the copy."""
        call = self.call
        for old, new in zip((*call.args, *call.kwargs.values()), (*self.args, *self.kwargs.values()), strict=True):
            _write(old, plain(new))

    def settle(self) -> Any:
        """The result, with plain numbers in everything that the call made."""
        if not any(isinstance(leaf, Scalar) for leaf in self.leaves):
            return self.result
        leaves = [leaf.value if isinstance(leaf, Scalar) else leaf for leaf in self.leaves]
        return commit(self.call.mutables, self.call.surroundings, self.parts, leaves)


@dataclasses.dataclass(frozen=True)
class Part:
    """A tree that a call made: its result, the contents of a mutable object, or the value of a name."""

    what: str
    number: int
    structure: Structure
    begin: int
    end: int


def commit(mutables: list[Any], surroundings: Surroundings, parts: Sequence[Part], leaves: list[Any]) -> Any:
    """Put what a call made where it belongs; gives the result."""
    assembly = Assembly(mutables)
    result = None
    for part in parts:
        own = leaves[part.begin : part.end]
        if part.what == "mutable":
            mutable = mutables[part.number]
            mutable.__tree_update__(part.structure.token, assembly.children(part.structure, own))
        elif part.what == "name":
            surroundings.bind(part.number, assembly.make(part.structure, own))
        else:
            result = assembly.make(part.structure, own)
    return result


def same_leaves(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists of leaves hold the same tensors and numbers."""
    return len(one) == len(other) and all(map(_same_leaf, one, other))


def _same_leaf(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.handle is other.handle
    return one.__class__ is float and other.__class__ is float and one == other


def plain(value: Any) -> Any:
    """A tree with numbers in the place of scalars."""
    walk = Walk()
    structure = walk.take(value)
    if not any(isinstance(leaf, Scalar) for leaf in walk.leaves):
        return value
    return Assembly().make(structure, [leaf.value if isinstance(leaf, Scalar) else leaf for leaf in walk.leaves])


def _replaced(value: Any, structure: Structure, leaves: list[Any], mutables: list[Any]) -> Any:
    """A copy of a tree with other leaves; what the tree does not tell (slots, attributes) is as it was."""
    kind, made = value.__class__, None
    if structure.kind in (list, tuple, dict) or dataclasses.is_dataclass(structure.kind):
        parts, position = [], 0
        names = structure.token if structure.kind not in (list, tuple) else range(len(structure.children))
        for name, child in zip(names, structure.children, strict=True):
            old = value[name] if structure.kind in (list, tuple, dict) else getattr(value, name)
            end = position + child.leaves
            parts.append(_replaced(old, child, leaves[position:end], mutables) if child.leaves else old)
            position = end
        if structure.kind is dict:
            return dict(zip(structure.token, parts, strict=True))
        if structure.kind in (list, tuple):
            return structure.kind(parts)
        made = object.__new__(kind)
        if hasattr(value, "__dict__"):
            made.__dict__.update(value.__dict__)
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(made, name, part)
        return made
    return Assembly(mutables).make(structure, leaves)


def _write(old: Any, new: Any) -> None:
    """Change a list, dict or dataclass so that it holds what `new` does."""
    if old is new or type(old) is not type(new):
        return
    if isinstance(old, list):
        old[:] = new
    elif isinstance(old, dict):
        old.clear()
        old.update(new)
    elif dataclasses.is_dataclass(old):
        for field in dataclasses.fields(old):
            object.__setattr__(old, field.name, getattr(new, field.name))
        if hasattr(new, "__dict__"):
            vars(old).update(vars(new))
