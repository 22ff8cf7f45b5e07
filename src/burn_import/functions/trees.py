"""Forests of decision trees from other libraries, as the arrays that `tree_ensemble` walks.

Formats list nodes in two ways: all of them with their tree and number, leaves included (`forest_of_nodes`),
or inner nodes and leaves apart (`forest_of_branches`). Both become one layout, so a model is a few constant
tensors and one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.classes import dataclass
from burn.errors import ArgumentError, DataError
from burn.tensor.data import TensorData
from burn.tensor.methods.creation import place
from burn_import.rows.trees import tree_ensemble

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]

__all__ = ["Forest", "forest_of_branches", "forest_of_nodes", "tree_ensemble"]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = 6


@dataclass(frozen=True)
class Forest:
    """The arrays of `tree_ensemble`, in the order of its arguments."""

    roots: Array
    features: Array
    splits: Array
    modes: Array
    yes: Array
    no: Array
    missing: Array
    weights: Array

    def arrays(self) -> tuple[Array, ...]:
        """What follows `x` in a call of `tree_ensemble`."""
        return (self.roots, self.features, self.splits, self.modes, self.yes, self.no, self.missing, self.weights)

    def scores(self, x: Tensor[B], aggregate: str = "sum") -> Tensor[B]:
        """Each item's aggregated weights, (items, targets)."""
        tables = [place(TensorData(each), x.device) for each in self.arrays()]
        return tree_ensemble(x, *tables, aggregate=aggregate)  # type: ignore[misc, arg-type]


def _votes(leaves: int, targets: int, rows: Any, columns: Any, values: Any) -> Array:
    """The weights of each leaf; NaN where it has no vote."""
    table = np.zeros((leaves, targets), np.float64)
    voted = np.zeros((leaves, targets), bool)
    np.add.at(table, (rows, columns), np.asarray(values, np.float64))
    voted[rows, columns] = True
    return np.where(voted, table, np.nan).astype(np.asarray(values).dtype)


def forest_of_nodes(
    targets: int,
    nodes_treeids: Sequence[int],
    nodes_nodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_modes: Sequence[str],
    nodes_values: Any,
    nodes_truenodeids: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    leaf_treeids: Sequence[int],
    leaf_nodeids: Sequence[int],
    leaf_targetids: Sequence[int],
    leaf_weights: Any,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
) -> Forest:
    """A forest from nodes that name their tree, and votes that name tree, node and target."""
    trees, numbers = np.asarray(nodes_treeids, np.int64), np.asarray(nodes_nodeids, np.int64)
    kinds = np.asarray([str(each) for each in nodes_modes])
    unknown = sorted(set(kinds.tolist()) - {*MODES, "LEAF"})
    if unknown:
        raise ArgumentError(f"forest_of_nodes: unknown modes {unknown}; known are {', '.join(MODES)} and LEAF")
    inner = kinds != "LEAF"
    count = int(inner.sum())
    place_of = np.where(inner, np.cumsum(inner) - 1, count + np.cumsum(~inner) - 1)
    known = {
        pair: int(spot) for pair, spot in zip(zip(trees.tolist(), numbers.tolist(), strict=True), place_of, strict=True)
    }

    def found(tree: Any, number: Any) -> Any:
        try:
            return np.asarray(
                [known[pair] for pair in zip(tree.tolist(), np.asarray(number).tolist(), strict=True)], np.int64
            )
        except KeyError as error:
            raise DataError(f"forest_of_nodes: no node has the tree and number {error.args[0]}") from None

    firsts = np.unique(trees, return_index=True)
    order = np.argsort(firsts[1])
    roots = place_of[firsts[1][order]]
    tracks = (
        np.zeros(len(trees), bool)
        if not nodes_missing_value_tracks_true
        else np.asarray(nodes_missing_value_tracks_true, bool)
    )
    values = np.asarray(leaf_weights)
    rows = found(np.asarray(leaf_treeids, np.int64), leaf_nodeids) - count
    if rows.size and rows.min() < 0:
        raise DataError("forest_of_nodes: a vote names a node that is no leaf")
    lookup = {name: number for number, name in enumerate(MODES)}
    return Forest(
        roots.astype(np.int64),
        np.asarray(nodes_featureids, np.int64)[inner],
        np.asarray(nodes_values)[inner],
        np.asarray([lookup[name] for name in kinds[inner]], np.int64),
        found(trees[inner], np.asarray(nodes_truenodeids, np.int64)[inner]),
        found(trees[inner], np.asarray(nodes_falsenodeids, np.int64)[inner]),
        tracks[inner],
        _votes(len(trees) - count, targets, rows, np.asarray(leaf_targetids, np.int64), values),
    )


def forest_of_branches(
    targets: int,
    tree_roots: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_splits: Any,
    nodes_modes: Any,
    nodes_truenodeids: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_trueleafs: Sequence[int],
    nodes_falseleafs: Sequence[int],
    leaf_targetids: Sequence[int],
    leaf_weights: Any,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    membership_values: Any = None,
) -> Forest:
    """A forest from inner nodes and leaves apart. A node that asks for one of several values becomes a chain."""
    modes = np.asarray(nodes_modes, np.int64)
    splits = np.asarray(nodes_splits)
    count, leaves = len(modes), len(leaf_targetids)
    yes_leaf, no_leaf = np.asarray(nodes_trueleafs, bool), np.asarray(nodes_falseleafs, bool)
    yes_to, no_to = np.asarray(nodes_truenodeids, np.int64), np.asarray(nodes_falsenodeids, np.int64)
    roots = np.asarray(tree_roots, np.int64)
    lone = yes_leaf[roots] & no_leaf[roots] & (yes_to[roots] == no_to[roots])  # trees that are one leaf
    features = np.asarray(nodes_featureids, np.int64)
    tracks = (
        np.zeros(count, bool)
        if nodes_missing_value_tracks_true is None
        else np.asarray(nodes_missing_value_tracks_true, bool)
    )
    sets = _sets(modes, membership_values, roots, yes_to, no_to, yes_leaf, no_leaf)
    extra = sum(len(each) - 1 for each in sets.values())
    total = count + extra
    yes = np.where(yes_leaf, total + yes_to, yes_to)
    no = np.where(no_leaf, total + no_to, no_to)
    lists = [array.tolist() for array in (features, splits, modes, yes, no, tracks)]
    for node, members in sets.items():
        at = node
        for index, member in enumerate(members):
            if index:
                for values, value in zip(lists, (features[node], member, 4, yes[node], no[node], False), strict=True):
                    values.append(value)
                lists[4][at] = len(lists[0]) - 1
                at = len(lists[0]) - 1
            else:
                lists[1][at], lists[2][at] = member, 4
    rows = np.arange(leaves)
    return Forest(
        np.where(lone, total + yes_to[roots], roots),
        np.asarray(lists[0], np.int64),
        np.asarray(lists[1], splits.dtype),
        np.asarray(lists[2], np.int64),
        np.asarray(lists[3], np.int64),
        np.asarray(lists[4], np.int64),
        np.asarray(lists[5], bool),
        _votes(leaves, targets, rows, np.asarray(leaf_targetids, np.int64), np.asarray(leaf_weights)),
    )


def _sets(
    modes: Any, values: Any, roots: Any, yes: Any, no: Any, yes_leaf: Any, no_leaf: Any
) -> dict[int, list[float]]:
    """The members each such node asks for. They are listed in the order of a walk, with NaN after each set."""
    asking = int((modes == MEMBER).sum())
    if not asking:
        return {}
    groups: list[list[float]] = [[]]
    for value in np.asarray([] if values is None else values, np.float64).tolist():
        if np.isnan(value):
            groups.append([])
        else:
            groups[-1].append(value)
    if len(groups) - 1 != asking or not all(groups[:-1]):
        raise DataError(f"forest_of_branches: {asking} nodes ask for members and {len(groups) - 1} sets are given")
    found: dict[int, list[float]] = {}
    waiting = [int(root) for root in roots[::-1]]
    sets = iter(groups)
    while waiting:
        node = waiting.pop()
        if modes[node] == MEMBER:
            found[node] = next(sets)
        if not no_leaf[node]:
            waiting.append(int(no[node]))
        if not yes_leaf[node]:
            waiting.append(int(yes[node]))
    return found
