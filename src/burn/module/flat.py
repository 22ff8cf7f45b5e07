"""The leaves of a module, kept until something changes.

A captured function takes its arguments apart at every call. For a module that is asked again and again
(inference) the walk is done once: assigning an attribute of any module makes all kept lists void, and
lists and dicts inside the module are compared with what they held.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

from burn.tree import Structure, Walk


class Flat:
    """Leaves and structure of one module, and what they were taken from."""

    __slots__ = ("changes_then", "containers", "leaves", "own", "own_changes", "own_containers", "structure")

    own: tuple[Sequence[Any], tuple[Any, ...]]
    """The module's own fields, once they were taken apart: what holds tensors, and a token of everything."""
    own_containers: list[tuple[Any, tuple[Any, ...]]]

    changes: ClassVar[int] = 0
    """How often an attribute of any module was assigned or deleted."""

    def __init__(self) -> None:
        self.changes_then = -1
        self.containers: list[tuple[Any, tuple[Any, ...]]] = []
        self.leaves: list[Any] = []
        self.structure: Structure | None = None
        self.own_changes = -1

    def tree(self) -> tuple[Sequence[Any], tuple[Any, ...]] | None:
        """The fields as they were taken apart before, if they are still the same."""
        return self.own if self.own_changes == Flat.changes and _same(self.own_containers) else None

    def keep_tree(self, fields: dict[str, Any], own: tuple[Sequence[Any], tuple[Any, ...]]) -> None:
        """Remember how the fields of a module are taken apart."""
        self.own, self.own_changes, self.own_containers = own, Flat.changes, []
        for value in fields.values():
            if isinstance(value, list | tuple | dict):
                _note(value, self.own_containers, False)

    def of(self, module: Any) -> tuple[list[Any], Structure] | None:
        """Leaves and structure of the module at this moment; None where it holds states, which have an identity."""
        structure = self.structure
        if structure is None or self.changes_then != Flat.changes or (self.containers and not _same(self.containers)):
            structure = self._take(module)
        return None if structure.mutables else (self.leaves, structure)

    def _take(self, module: Any) -> Structure:
        walk = Walk()
        children, token = module.__tree__()
        parts = tuple([walk.take(each) for each in children])
        leaves, mutables = sum(part.leaves for part in parts), sum(part.mutables for part in parts)
        structure = Structure(module.__class__, token, parts, leaves, mutables)
        self.leaves, self.structure = walk.leaves, structure
        self.containers = []
        _note_containers(module.__dict__, self.containers)
        self.changes_then = Flat.changes
        return structure

    def keep(self, module: Any, leaves: list[Any], structure: Structure) -> None:
        """Take over what is known of a module that was just put together."""
        self.leaves, self.structure = leaves, structure
        self.containers = []
        if _has_containers(structure):
            _note_containers(module.__dict__, self.containers)
        self.changes_then = Flat.changes


def _same(containers: list[tuple[Any, tuple[Any, ...]]]) -> bool:
    """Whether lists and dicts hold what they held, and dicts under the same keys."""
    for container, held in containers:
        now = (*container, *container.values()) if isinstance(container, dict) else container
        if len(now) != len(held) or not all(map(operator.is_, now, held)):
            return False
    return True


_WITH_CONTAINERS: dict[int, tuple[Structure, bool]] = {}
"""Whether a structure holds lists or dicts, by its identity; the structure is kept so that it stays the same."""


def _has_containers(structure: Structure) -> bool:
    known = _WITH_CONTAINERS.get(id(structure))
    if known is None:
        if len(_WITH_CONTAINERS) > 256:
            _WITH_CONTAINERS.clear()
        found = structure.kind in (list, dict) or any(map(_has_containers, structure.children))
        known = _WITH_CONTAINERS[id(structure)] = structure, found
    return known[1]


def _note_containers(fields: dict[str, Any], noted: list[tuple[Any, tuple[Any, ...]]]) -> None:
    for value in fields.values():
        _note(value, noted)


def _note(value: Any, noted: list[tuple[Any, tuple[Any, ...]]], deep: bool = True) -> None:
    if getattr(value.__class__, "__is_module__", False):
        if deep:
            _note_containers(value.__dict__, noted)
    elif isinstance(value, list | tuple):
        if isinstance(value, list):
            noted.append((value, tuple(value)))
        for each in value:
            _note(each, noted, deep)
    elif isinstance(value, dict):
        noted.append((value, (*value, *value.values())))
        for each in value.values():
            _note(each, noted, deep)
