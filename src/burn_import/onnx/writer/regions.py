"""Big graphs in parts: nodes that belong together become a class of their own.

Exporters note the modules that a node was traced in, name nodes after them (`/encoder/layer.0/attention/MatMul`), or
at least weights (`encoder.layer.0.query.weight`). A stretch of nodes that stand together and share such a scope is a
*region*; regions nest as the scopes do. Where no names help, repetitions in the structure do (see `repeats`).
Stretches of an ordered graph can always be computed as a whole, so cutting there is safe whatever the names say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from burn_import.onnx.code.hints import LAST_WORDS, is_prepared_weight, only_user, scope_of
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.passes.common import RANDOM
from burn_import.onnx.writer.region import Item, Region, Scope, signature, varying, weighted
from burn_import.onnx.writer.repeats import structured
from burn_import.onnx.writer.sharing import untangled

LEAST = 6  # nodes that are worth a class
REPEATED = 3  # nodes that are worth one where they stand several times
FROM = 40  # nodes of a graph that is worth splitting
HOISTED = 12  # nodes of a computation that the first of several regions does for all
_NUMBER = re.compile(r"^\d+$")


def regions(graph: Graph) -> list[Item]:
    """The nodes of a graph with those that belong together in regions; all single when the graph is small."""
    nodes = list(graph)
    if len(nodes) < FROM:
        return list(nodes)
    nodes = _beside_users(nodes)
    early = _early(nodes)
    nodes = [node for node in nodes if node not in early]
    items = _grouped(list(zip(nodes, _scopes(nodes))), ())
    items = untangled(_hoisted(items))
    counts = Counter(signature(each.nodes()) for each in _all(items))
    items = untangled([*early, *structured(_worthwhile(items, counts), ())])
    _name(items, ())
    return items


def _beside_users(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in order, with those that prepare a weight (from bytes, for instance) in front of the one that uses it."""
    place = {node: index for index, node in enumerate(nodes)}
    users: dict[Node, Node] = {}
    for node in nodes:
        user = only_user(node)
        made = (value.node for value in node.inputs if value is not None and value.constant is None)
        if user is not None and node.op_type not in RANDOM and all(each in users for each in made):
            users[node] = user
    for node in reversed(nodes):
        if node in users:
            place[node] = place[users[node]]
    return sorted(nodes, key=place.__getitem__)


def _early(nodes: Sequence[Node]) -> dict[Node, None]:
    """What only depends on inputs and is used in several places, masks for instance: it may stand in front."""
    ready: set[Node] = set()
    wanted: set[Node] = set()
    for node in nodes:
        fixed = not node.subgraphs and not weighted(node) and node.op_type not in RANDOM
        if fixed and all(value is None or value.node is None or value.node in ready for value in node.inputs):
            ready.add(node)
            if any(len(value.users) > 1 for value in node.outputs):
                wanted.add(node)
    for node in reversed(nodes):
        if node in wanted:
            wanted.update(value.node for value in node.inputs if value is not None and value.node is not None)
    return {node: None for node in nodes if node in wanted}


def _name(items: Sequence[Item], scope: Scope) -> None:
    """Regions that scopes made are called by the words that they add to the scope around them."""
    for item in items:
        if isinstance(item, Region):
            item.name = item.name or "_".join(item.scope[len(scope) :]) or "block"
            _name(item.items, item.scope)


def learnt_numbers(items: Sequence[Item]) -> set[tuple[Node, Value]]:
    """The numbers, with the nodes that use them, in which regions that are otherwise alike differ."""
    alike: dict[object, list[list[Node]]] = {}
    for region in _all(items):
        nodes = region.nodes()
        alike.setdefault(signature(nodes), []).append(nodes)
    found: set[tuple[Node, Value]] = set()
    for blocks in alike.values():
        if len(blocks) > 1:
            found |= varying(blocks)
    return found


def shared_values(items: Sequence[Item]) -> frozenset[Value]:
    """The values from outside that several regions use."""
    users: dict[Value, set[int]] = {}
    for index, item in enumerate(items):
        if isinstance(item, Region):
            inside = set(item.nodes())
            for node in inside:
                for value in node.inputs:
                    if value is not None and value.constant is None and value.node not in inside:
                        users.setdefault(value, set()).add(index)
    made = {node for item in items if isinstance(item, Region) for node in item.nodes()}
    return frozenset(value for value, where in users.items() if len(where) > 1 and value.node not in made)


def _all(items: Sequence[Item]) -> list[Region]:
    found: list[Region] = []
    for item in items:
        if isinstance(item, Region):
            found += [item, *_all(item.items)]
    return found


def _grouped(placed: Sequence[tuple[Node, Scope]], prefix: Scope) -> list[Item]:
    items: list[Item] = []
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
        if inner != prefix:
            items.append(Region(inner, _grouped(run, inner), _kind(run, depth)))
        else:
            items += [each for each, _ in run]
        start = stop
    return items


def _kind(run: Sequence[tuple[Node, Scope]], depth: int) -> str:
    """The class that a stretch of nodes had, where the file tells."""
    for node, scope in run:
        if len(node.kinds) == len(scope) > depth:
            return node.kinds[depth]
    return ""


def _worthwhile(items: Sequence[Item], counts: Counter[object]) -> list[Item]:
    """Regions that are too small, or that only hold another one, give way to what they hold."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Node):
            found.append(item)
            continue
        item.items = _worthwhile(item.items, counts)
        nodes = item.nodes()
        repeated = counts[signature(nodes)] > 1 and len(nodes) >= REPEATED and sum(map(weighted, nodes)) > 1
        if len(nodes) >= (LEAST if any(map(weighted, nodes)) else 2 * LEAST) or repeated:
            found.append(item)
        else:
            found += item.items
    return found


def _hoisted(items: Sequence[Item]) -> list[Item]:
    """What the first of several regions computes for all of them, a mask for instance, goes in front of it."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Region):
            inside = set(item.nodes())
            early: dict[Node, None] = {}
            for node in item.nodes():
                if _is_for_others(node, inside):
                    needed = _cheap(node, inside)
                    if needed is not None:
                        early.update(dict.fromkeys(needed))
            if early and len(early) < len(inside):
                found += [node for node in item.nodes() if node in early]
                _drop(item, set(early))
        found.append(item)
    return found


def _is_for_others(node: Node, inside: set[Node]) -> bool:
    return any(isinstance(user, Node) and user not in inside for value in node.outputs for user, _ in value.uses)


def _cheap(node: Node, inside: set[Node]) -> list[Node] | None:
    """The nodes of a region that a node is computed from; None when there are many, or when weights take part."""
    found: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        if weighted(one) or one.subgraphs or len(found) >= HOISTED:
            return None
        found[one] = None
        waiting += [value.node for value in one.inputs if value is not None and value.node in inside]
    return list(found)


def _drop(region: Region, nodes: set[Node]) -> None:
    kept: list[Item] = []
    for item in region.items:
        if isinstance(item, Region):
            _drop(item, nodes)
            if item.items:
                kept.append(item)
        elif item not in nodes:
            kept.append(item)
    region.items = kept


def _scopes(nodes: Sequence[Node]) -> list[Scope]:
    """The scope of each node; one that has none is in what its neighbours have in common."""
    known = [_scope(node) for node in nodes]
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


def _scope(node: Node) -> Scope | None:
    user = only_user(node) if is_prepared_weight(node.outputs[0]) else None
    if user is not None:
        return _scope(user)
    return _parts(scope_of(node)) if node.scope or node.name.startswith("/") else _by_weights(node)


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


__all__ = ["Region", "Scope", "learnt_numbers", "regions", "shared_values"]
