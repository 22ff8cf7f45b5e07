"""Results put together by functions that were made once for their structure."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from burn.tree import A_LEAF, STATIC, Assembly, Structure

Assembler = Callable[[list[Any]], Any]


def assembler(structure: Structure, begin: int = 0) -> Assembler:
    """A function from all leaves of a call to the tree that starts at leaf `begin`."""
    if not _is_plain(structure):
        end = begin + structure.leaves
        return lambda leaves: Assembly().make(structure, leaves[begin:end])
    return _plain(structure, begin)


def _is_plain(structure: Structure) -> bool:
    """Whether a tree is made of lists, tuples and dicts alone."""
    if structure is A_LEAF or structure.kind is STATIC:
        return True
    return structure.kind in (list, tuple, dict) and all(map(_is_plain, structure.children))


def _plain(structure: Structure, begin: int) -> Assembler:
    kind, token, children, end = structure.kind, structure.token, structure.children, begin + structure.leaves
    if structure is A_LEAF:
        return itemgetter(begin)
    if kind is STATIC:
        constant = Assembly().make(structure, ())
        return lambda leaves: constant
    if all(child is A_LEAF for child in children):
        if kind is list:
            return itemgetter(slice(begin, end))
        if kind is tuple:
            return lambda leaves: tuple(leaves[begin:end])
    parts = []
    for child in children:
        parts.append(_plain(child, begin))
        begin += child.leaves
    if kind is dict:
        return lambda leaves: {key: part(leaves) for key, part in zip(token, parts)}
    if kind is list:
        return lambda leaves: [part(leaves) for part in parts]
    return lambda leaves: tuple([part(leaves) for part in parts])
