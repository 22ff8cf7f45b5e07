"""Big graphs in parts: nodes that were traced in one module become a class of their own.

Exporters name nodes after the scopes they came from (`/encoder/layer.0/attention/MatMul`) or at least weights after
their modules (`encoder.layer.0.query.weight`). A stretch of nodes that stand together and share such a scope is a
*region*; regions nest as the scopes do. Stretches of an ordered graph can always be computed as a whole, so cutting
there is safe whatever the names say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from burn_import.onnx.ir.graph import Graph, Node
from burn_import.onnx.writer.hints import LAST_WORDS, scope_of

LEAST = 6  # nodes that are worth a class
FROM = 40  # nodes of a graph that is worth splitting
Scope: TypeAlias = tuple[str, ...]
_NUMBER = re.compile(r"^\d+$")


@dataclass(slots=True)
class Region:
    """A stretch of nodes with a common scope; `items` has its nodes and the regions inside in order."""

    scope: Scope
    items: list[Node | Region] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(item.count if isinstance(item, Region) else 1 for item in self.items)

    def nodes(self) -> list[Node]:
        """Every node in it, in order."""
        found: list[Node] = []
        for item in self.items:
            found += item.nodes() if isinstance(item, Region) else [item]
        return found


def regions(graph: Graph) -> list[Node | Region]:
    """The nodes of a graph with those that belong together in regions; all single when the graph is small."""
    nodes = list(graph)
    if len(nodes) < FROM:
        return list(nodes)
    return _grouped(list(zip(nodes, _scopes(nodes))), ())


def _grouped(placed: Sequence[tuple[Node, Scope]], prefix: Scope) -> list[Node | Region]:
    items: list[Node | Region] = []
    depth = len(prefix)
    start = 0
    while start < len(placed):
        scope = placed[start][1]
        stop = start + 1
        if len(scope) > depth:
            while stop < len(placed) and len(placed[stop][1]) > depth and placed[stop][1][depth] == scope[depth]:
                stop += 1
        run = placed[start:stop]
        inner = (*prefix, scope[depth]) if len(scope) > depth else prefix
        if len(run) == len(placed) and inner != prefix:
            return _grouped(placed, inner)  # one module around everything says nothing
        if len(run) >= LEAST and inner != prefix:
            items.append(Region(inner, _grouped(run, inner)))
        else:
            items += [each for each, _ in run]
        start = stop
    return items


def _scopes(nodes: Sequence[Node]) -> list[Scope]:
    """The scope of each node; one that has none is in what its neighbours have in common."""
    known = [_parts(scope_of(node)) if node.name.startswith("/") else _by_weights(node) for node in nodes]
    after: list[Scope | None] = [None] * len(nodes)
    following: Scope | None = None
    for index in range(len(nodes) - 1, -1, -1):
        if known[index] is not None:
            following = known[index]
        after[index] = following
    found: list[Scope] = []
    before: Scope = ()
    for scope, behind in zip(known, after):
        if scope is None:
            scope = _common(before, behind or ())
        found.append(scope)
        before = scope
    return found


def _common(one: Scope, other: Scope) -> Scope:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]


def _by_weights(node: Node) -> Scope | None:
    """The scope that a weight is named after; that of the bias behind a product counts too."""
    found = _by_constants(node)
    if found is not None or not any(value is not None and value.constant is not None for value in node.inputs):
        return found
    users = node.outputs[0].users
    return _by_constants(users[0]) if len(users) == 1 and users[0].op_type == "Add" else None


def _by_constants(node: Node) -> Scope | None:
    for value in node.inputs:
        if value is not None and value.constant is not None:
            words = value.name.split(".")
            if len(words) > 1 and words[-1].lower() in LAST_WORDS:
                return _parts(words[:-1])
    return None


def _parts(words: Sequence[str]) -> Scope:
    """Scopes as they nest, with the number of a list beside its name: layer.0 is `layer_0`."""
    parts: list[str] = []
    for word in ".".join(words).split("."):
        if _NUMBER.match(word) and parts:
            parts[-1] = f"{parts[-1]}_{word}"
        elif word:
            parts.append(word)
    return tuple(parts)
