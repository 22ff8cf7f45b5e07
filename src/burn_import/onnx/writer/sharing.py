"""Weights that several nodes use must be one parameter, so regions may not keep copies of them.

A region that is computed again with exactly the same weights is the same block, called again. Any other region that
shares a weight with nodes outside of it gives way to what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn_import.onnx.code.fields import is_learnt
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.writer.region import Item, Region


def untangled(items: Sequence[Item]) -> list[Item]:
    """Items without regions that share weights with others, unless they share all of them."""
    found = list(items)
    while True:
        bad = _tangled(found)
        if not bad:
            return found
        found = _without(found, bad)


def _tangled(items: Sequence[Item]) -> set[int]:
    """The regions that have to go."""
    paths: dict[Node, list[Region]] = {}
    users: dict[Value, list[Node]] = {}
    _walk(items, [], paths)
    own: dict[Node, list[Value]] = {}
    for node in paths:
        own[node] = learnt(node)
        for value in own[node]:
            users.setdefault(value, []).append(node)
    bad: set[int] = set()
    weights: dict[int, tuple[int, ...]] = {}
    for nodes in users.values():
        if len(nodes) > 1:
            apart, loose = _parting([paths[node] for node in nodes])
            for key, region in apart.items():
                if key not in weights:
                    weights[key] = tuple(id(value) for node in region.nodes() for value in own[node])
            if loose or len({weights[key] for key in apart}) > 1:
                bad |= set(apart)
    return bad


def _walk(items: Sequence[Item], path: list[Region], paths: dict[Node, list[Region]]) -> None:
    for item in items:
        if isinstance(item, Region):
            _walk(item.items, [*path, item], paths)
        else:
            paths[item] = path


def learnt(node: Node) -> list[Value]:
    """The weights of a node."""
    return [value for value in node.inputs if value is not None and is_learnt(value)]


def _parting(paths: Sequence[list[Region]]) -> tuple[dict[int, Region], bool]:
    """Of the regions around several nodes, those outermost ones that are not the same for all; and whether some of
    the nodes stand in none of them."""
    depth = 0
    while all(len(path) > depth and path[depth] is paths[0][depth] for path in paths):
        depth += 1
    apart = [path[depth] if len(path) > depth else None for path in paths]
    return {id(region): region for region in apart if region is not None}, None in apart


def _without(items: Sequence[Item], bad: set[int]) -> list[Item]:
    found: list[Item] = []
    for item in items:
        if isinstance(item, Region):
            item.items = _without(item.items, bad)
            found += item.items if id(item) in bad else [item]
        else:
            found.append(item)
    return found
