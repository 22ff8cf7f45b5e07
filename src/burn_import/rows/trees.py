"""Ensembles of decision trees, and what classifiers of other libraries make of scores.

Inner nodes have the numbers from 0 on, leaves follow them. All trees are walked at once: one step
of every item in every tree is a handful of array operations, so the cost is the depth of the trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.declare import hosted, only_floats
from burn.ops.op import Op
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

COMPARISONS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
"""How a node compares a feature with its split, by the number in `modes`."""

AGGREGATES = ("sum", "average", "min", "max")
MOST_WALKERS = 1 << 20


def _prepare(op: Op, operands: list[Any]) -> list[Any]:
    operands[0] = only_floats.coerce(op, operands[0])
    return operands


def _rule(op: Op, x: Any, roots: Any, features: Any, splits: Any, modes: Any, yes: Any, no: Any, missing: Any,
          weights: Any, aggregate: Any) -> Any:  # fmt: skip
    if len(x.shape) != 2:
        raise ShapeError(f"{op.name}: x must have the shape (items, features), got {tuple(x.shape)}")
    if len(roots.shape) != 1 or len(weights.shape) != 2:
        raise ShapeError(
            f"{op.name}: roots must be (trees,) and weights (leaves, targets), "
            f"got {tuple(roots.shape)} and {tuple(weights.shape)}"
        )
    nodes = tuple(features.shape)
    for name, each in (("splits", splits), ("modes", modes), ("yes", yes), ("no", no), ("missing", missing)):
        if tuple(each.shape) != nodes or len(nodes) != 1:
            raise ShapeError(f"{op.name}: features and {name} must be vectors of one length, "
                             f"got {nodes} and {tuple(each.shape)}")  # fmt: skip
    for name, each in (("roots", roots), ("features", features), ("modes", modes), ("yes", yes), ("no", no)):
        if not each.dtype.is_int:
            raise DTypeError(f"{op.name}: {name} must be an int tensor, got {each.dtype}; convert it with .int()")
    if aggregate not in AGGREGATES:
        raise ArgumentError(f"{op.name}: aggregate must be one of {', '.join(AGGREGATES)}, got {aggregate!r}")
    return Shape((x.shape[0], weights.shape[1])), x.dtype, (aggregate,)


def _leaves(x: Any, roots: Any, features: Any, splits: Any, modes: Any, yes: Any, no: Any, missing: Any) -> Any:
    """The leaf that each item (row) reaches in each tree (column)."""
    count = len(features)
    node = np.broadcast_to(roots, (len(x), len(roots))).copy()
    items = np.broadcast_to(np.arange(len(x))[:, None], node.shape)
    walking = np.flatnonzero(node.reshape(-1) < count)
    flat, owner = node.reshape(-1), items.reshape(-1)
    while walking.size:
        here = flat[walking]
        value = x[owner[walking], features[here]]
        split = splits[here]
        mode = modes[here]
        goes = COMPARISONS[mode[0]](value, split)
        if (mode != mode[0]).any():
            for kind in np.unique(mode):
                goes = np.where(mode == kind, COMPARISONS[kind](value, split), goes)
        unknown = np.isnan(value)
        if unknown.any():
            goes = goes | (unknown & missing[here].astype(bool))
        there = np.where(goes, yes[here], no[here])
        flat[walking] = there
        walking = walking[there < count]
    return node - count


def _ensemble(
    x: Any, roots: Any, features: Any, splits: Any, modes: Any, yes: Any, no: Any, missing: Any, weights: Any,
    aggregate: str = "sum",
) -> Any:  # fmt: skip
    out = np.zeros((len(x), weights.shape[1]), np.float64)
    wide = x.astype(np.float64) if x.dtype.itemsize < 4 else x
    step = max(1, MOST_WALKERS // max(len(roots) * weights.shape[1], 1))
    for start in range(0, len(x), step):
        leaves = _leaves(wide[start : start + step], roots, features, splits, modes, yes, no, missing)
        values = weights[leaves].astype(np.float64)
        part = out[start : start + step]
        if aggregate in ("sum", "average"):
            part[:] = np.nansum(values, axis=1) / (len(roots) if aggregate == "average" else 1)
        else:
            extreme = np.fmin if aggregate == "min" else np.fmax
            part[:] = np.nan_to_num(extreme.reduce(values, axis=1, initial=np.nan), nan=0.0)
    return out.astype(x.dtype)


@hosted(rule=_rule, reference=_ensemble, prepare=_prepare)
def tree_ensemble(
    x: Tensor[B],
    roots: Tensor[Any],
    features: Tensor[Any],
    splits: Tensor[Any],
    modes: Tensor[Any],
    yes: Tensor[Any],
    no: Tensor[Any],
    missing: Tensor[Any],
    weights: Tensor[Any],
    aggregate: str = "sum",
) -> Tensor[B]:
    """Walk each item of `x` (items, features) down every tree and aggregate the weights of the leaves it reaches.

    A node compares one feature with its split, by one of <=, <, >=, >, ==, != (0 to 5 in `modes`), and leads to
    the number in `yes` or `no`; NaN goes to `yes` where `missing` is true. `weights` is (leaves, targets); NaN
    in it stands for no vote.
    """
    ...


# Probabilities of pairs of classes


def _couple_rule(op: Op, pairs: Any) -> Any:
    if len(pairs.shape) != 3 or pairs.shape[1] != pairs.shape[2]:
        raise ShapeError(f"{op.name}: pairs must have the shape (items, classes, classes), got {tuple(pairs.shape)}")
    return Shape(pairs.shape[:2]), pairs.dtype, ()


def _couple(pairs: Any) -> Any:
    """Wu, Lin and Weng's second method, as LIBSVM computes it, for all items at once."""
    items, classes = pairs.shape[:2]
    r = pairs.astype(np.float64)
    transposed = r.transpose(0, 2, 1)
    off = ~np.eye(classes, dtype=bool)
    q = np.where(off, -transposed * r, 0.0)
    q[:, np.arange(classes), np.arange(classes)] = np.where(off, transposed**2, 0.0).sum(2)
    p = np.full((items, classes), 1.0 / max(classes, 1))
    active = np.ones(items, bool)
    for _ in range(max(100, classes)):
        product = np.einsum("nij,nj->ni", q, p)
        total = (p * product).sum(1)
        active &= np.abs(product - total[:, None]).max(1, initial=0.0) >= 0.005 / max(classes, 1)
        if not active.any():
            break
        for t in range(classes):
            diagonal = q[:, t, t]
            change = np.where(active, (total - product[:, t]) / np.where(diagonal == 0, 1, diagonal), 0.0)
            p[:, t] += change
            scale = 1.0 + change
            total = (total + change * (change * diagonal + 2 * product[:, t])) / scale / scale
            product = (product + change[:, None] * q[:, t]) / scale[:, None]
            p /= scale[:, None]
    return p.astype(pairs.dtype)


@hosted(rule=_couple_rule, reference=_couple, prepare=_prepare)
def couple_probabilities(pairs: Tensor[B]) -> Tensor[B]:
    """Find the probabilities of classes that best explain `pairs`: how likely class i is where it is i or j."""
    ...
