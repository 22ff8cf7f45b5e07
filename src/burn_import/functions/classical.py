"""Models of classical machine learning: linear, support vectors, and the tables that prepare features for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import f32
from burn.errors import ArgumentError, ShapeError
from burn.ops import creation, joining
from burn.ops.activation import sigmoid
from burn.ops.dispatch import cast_to
from burn.ops.softmax import softmax
from burn.tensor.data import TensorData
from burn.tensor.methods.creation import place
from burn_import.rows.trees import couple_probabilities

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = [
    "TRANSFORMS", "classify", "encode_labels", "extract_features", "impute", "kernel", "linear_classes",
    "normalize_rows", "one_hot_categories", "scale_features", "support_classes", "support_scores", "transformed",
    "vectorize_features",
]  # fmt: skip

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""What becomes of scores in the end; in the order some formats number them."""


# Scores


def _probit(x: Any) -> Any:
    """The quantiles of the normal distribution, by Winitzki's approximation of the inverse error function."""
    centred = x * 2.0 - 1.0
    logarithm = ((1.0 - centred) * (1.0 + centred)).log()
    half = logarithm * 0.5 + 2.0 / (math.pi * 0.147)
    size = ((half * half - logarithm / 0.147).sqrt() - half).sqrt()
    return centred.sign() * size * 1.41421356


def _softmax_zero(x: Any) -> Any:
    """A softmax that leaves zeros out."""
    zero = x.abs() <= 1e-7
    powers = (x - x.max_dims((1,))).exp().mask_fill(zero, 0.0)
    return powers / powers.sum_dims((1,))


def transformed(scores: Tensor[B], transform: str = "NONE") -> Tensor[B]:
    """Scores (items, classes) after one of the `TRANSFORMS`."""
    if transform not in TRANSFORMS:
        raise ArgumentError(f"transformed: transform must be one of {', '.join(TRANSFORMS)}, got {transform!r}")
    if transform == "SOFTMAX":
        return softmax(scores, 1)
    if transform == "LOGISTIC":
        return sigmoid(scores)
    if transform == "SOFTMAX_ZERO":
        return _softmax_zero(scores)  # type: ignore[no-any-return]
    return _probit(scores) if transform == "PROBIT" else scores


def _first_largest(scores: Any) -> Any:
    return scores.argmax(1).squeeze_dim(1)


def _both_sides(score: Any, positive: bool, transform: str) -> Any:
    """Two columns from the score of one of two classes: shares where weights are positive, else opposite numbers."""
    if transform == "LOGISTIC":
        return joining.cat([sigmoid(score.neg()), sigmoid(score)], 1)
    return joining.cat([1.0 - score if positive else score.neg(), score], 1)


def classify(
    scores: Tensor[B], voted: Sequence[int], positive: bool = False, transform: str = "NONE"
) -> tuple[Tensor[B], Tensor[B]]:
    """The number of each item's class, and its scores, from what a forest gave (items, classes).

    `voted` are the classes that leaves vote for and `positive` tells that no vote is negative: of two classes
    with votes for one, the second wins above one half, or above 0 where votes have both signs.
    """
    classes, only = scores.shape[1], sorted(set(voted))
    if classes == 1:
        index = (scores > 0.0).squeeze_dim(1).cast(scores.device.int_dtype)
        return index, (transformed(scores, transform) if transform == "PROBIT" else scores)
    if classes > 2:
        return _first_largest(scores), transformed(scores, transform)
    chosen = scores.narrow(1, only[-1] if only else 0, 1)
    index = (chosen > (0.5 if positive and len(only) == 1 else 0.0)).squeeze_dim(1).cast(scores.device.int_dtype)
    if only == [0]:
        return index, _both_sides(chosen, positive, transform)
    return index, transformed(scores, transform)


# Linear models


def linear_classes(
    x: Tensor[B], weight: Tensor[Any], bias: Tensor[Any] | None, classes: int, transform: str = "NONE"
) -> tuple[Tensor[B], Tensor[B]]:
    """The number of each item's class and the scores `x @ weight + bias`; one score may decide between two."""
    scores: Any = x.matmul(weight)
    scores = scores if bias is None else scores + bias
    if scores.shape[1] > 1:
        return _first_largest(scores), transformed(scores, transform)
    index = (scores > 0.0).squeeze_dim(1).cast(scores.device.int_dtype)
    if classes != 2:
        return index, transformed(scores, transform)
    return index, _both_sides(scores, True, transform)


# Support vectors


def kernel(
    x: Tensor[B], vectors: Tensor[Any], kind: str, gamma: float = 0.0, offset: float = 0.0, degree: float = 0.0
) -> Tensor[B]:
    """How alike each item is to each of the `vectors`: LINEAR, POLY, RBF or SIGMOID."""
    if kind == "RBF":
        apart: Any = x.unsqueeze_dim(1) - vectors.unsqueeze_dim(0)
        return (apart * apart).sum_dim(2).squeeze_dim(2).mul(-gamma).exp()  # type: ignore[no-any-return]
    product: Any = x.matmul(vectors.transpose())
    if kind == "LINEAR":
        return product  # type: ignore[no-any-return]
    if kind == "POLY":
        return (product * gamma + offset).powf_scalar(degree)  # type: ignore[no-any-return]
    if kind == "SIGMOID":
        return (product * gamma + offset).tanh()  # type: ignore[no-any-return]
    raise ArgumentError(f"kernel: kind must be LINEAR, POLY, RBF or SIGMOID, got {kind!r}")


def support_scores(
    likeness: Tensor[B], coefficients: Tensor[Any], offsets: Tensor[Any], counts: Sequence[int]
) -> tuple[Tensor[B], Tensor[B]]:
    """The score of each pair of classes and the votes of each class, from the `kernel` of all support vectors.

    `coefficients` are (classes - 1, vectors) and `counts` the vectors of each class, which follow one another.
    """
    starts = [sum(counts[:index]) for index in range(len(counts))]
    scores: list[Any] = []
    votes = [likeness.narrow(1, 0, 1) * 0.0 for _ in counts]
    for i in range(len(counts)):
        for j in range(i + 1, len(counts)):
            total: Any = offsets.narrow(0, len(scores), 1)
            for own, row in ((i, j - 1), (j, i)):
                part = coefficients.narrow(0, row, 1).narrow(1, starts[own], counts[own])
                total = likeness.narrow(1, starts[own], counts[own]).matmul(part.transpose()) + total
            won = (total > 0.0).cast(total.dtype)
            votes[i], votes[j] = votes[i] + won, votes[j] + (1.0 - won)
            scores.append(total)
    return joining.cat(scores, 1), joining.cat(votes, 1)


def support_classes(
    scores: Tensor[B],
    votes: Tensor[Any],
    slopes: Tensor[Any] | None = None,
    shifts: Tensor[Any] | None = None,
    transform: str = "NONE",
) -> tuple[Tensor[B], Tensor[B]]:
    """The number of each item's class by votes, and its scores: probabilities where `slopes` and `shifts` give them."""
    classes = votes.shape[1]
    if slopes is not None and shifts is not None:
        pairs = 1.0 - sigmoid(scores * slopes + shifts)
        shares = couple_probabilities(_square(pairs.clamp(1e-7, 1.0 - 1e-7), classes))
        return _first_largest(votes), transformed(shares, transform)
    if scores.shape[1] == 1:
        return _first_largest(votes), _both_sides(scores, transform.startswith("SOFTMAX"), transform)
    return _first_largest(votes), transformed(scores, transform)


def _square(pairs: Any, classes: int) -> Any:
    """Probabilities of pairs as (items, classes, classes), those below the diagonal one minus those above."""
    items = pairs.shape[0]
    rows = []
    place_of: dict[tuple[int, int], int] = {}
    for i in range(classes):
        for j in range(i + 1, classes):
            place_of[i, j] = len(place_of)
    for i in range(classes):
        for j in range(classes):
            if i == j:
                rows.append(pairs.narrow(1, 0, 1) * 0.0)
            elif i < j:
                rows.append(pairs.narrow(1, place_of[i, j], 1))
            else:
                rows.append(1.0 - pairs.narrow(1, place_of[j, i], 1))
    return joining.cat(rows, 1).reshape((items, classes, classes))


# Features


def scale_features(x: Tensor[B], offset: Tensor[Any], scale: Tensor[Any]) -> Tensor[B]:
    """Compute `(x - offset) * scale` in f32 at least."""
    values: Any = x if x.dtype.is_float and x.dtype.bits >= 32 else cast_to(x, f32)
    return (values - offset) * scale  # type: ignore[no-any-return]


def normalize_rows(x: Tensor[B], norm: str = "MAX") -> Tensor[B]:
    """Divide each row by its norm: MAX (its largest element), L1 or L2. Rows of zeros stay."""
    values: Any = x if x.dtype.is_float else cast_to(x, f32)
    last = len(x.shape) - 1
    sizes = {
        "MAX": lambda: values.max_dims((last,)),
        "L1": lambda: values.abs().sum_dims((last,)),
        "L2": lambda: (values * values).sum_dims((last,)).sqrt(),
    }
    if norm not in sizes:
        raise ArgumentError(f"normalize_rows: norm must be MAX, L1 or L2, got {norm!r}")
    size = sizes[norm]()
    return values / size.mask_fill(size == 0.0, 1.0)  # type: ignore[no-any-return]


def impute(x: Tensor[B], values: Tensor[Any], replaced: float) -> Tensor[B]:
    """Put `values`, one for each column or one for all, where `x` is `replaced`, which may be NaN."""
    missing = x.is_nan() if math.isnan(replaced) else x == replaced
    return x.mask_where(missing, cast_to(values, x.dtype))


def one_hot_categories(x: Tensor[B], categories: Tensor[Any]) -> Tensor[B]:
    """Mark with 1 which of the `categories` each element is, in a new last dim of f32. Others give zeros."""
    known = cast_to(categories, x.dtype) if x.dtype.is_int or not categories.dtype.is_int else categories
    values: Any = x.unsqueeze_dim(len(x.shape))
    return (cast_to(values, known.dtype) == known).cast(f32)


def extract_features(x: Tensor[B], places: Tensor[Any]) -> Tensor[B]:
    """Take the columns `places` of the last dim; a vector gives one row."""
    flat = places.reshape((-1,))
    taken = x.select(len(x.shape) - 1, flat)
    return taken.reshape((1, flat.shape[0])) if len(x.shape) == 1 else taken


def vectorize_features(parts: Sequence[Tensor[B]], sizes: Sequence[int]) -> Tensor[B]:
    """Join columns of several tensors, each cut or filled with zeros to its size."""
    if len(parts) != len(sizes):
        raise ArgumentError(f"vectorize_features: {len(parts)} tensors need as many sizes, got {list(sizes)}")
    columns = []
    for part, size in zip(parts, sizes, strict=True):
        rows: Any = part.reshape((-1, 1)) if len(part.shape) == 1 else part
        if len(rows.shape) != 2:
            raise ShapeError(f"vectorize_features: needs tensors of one or two dims, got {tuple(part.shape)}")
        missing = size - rows.shape[1]
        if missing > 0:
            shape = (rows.shape[0], missing)
            rest = creation.full(0, shape, rows.dtype, device=rows.device)
            rows = joining.cat([rows, rest], 1)
        columns.append(rows.narrow(1, 0, size))
    return joining.cat(columns, 1)


def encode_labels(x: Tensor[B], keys: Any, values: Any, default: Any) -> Tensor[B]:
    """Replace each element that is one of the `keys` by its value, and others by `default`. NaN may be a key."""
    names, results = np.asarray(keys).reshape(-1), np.asarray(values).reshape(-1)
    if results.dtype.kind == "f" and not isinstance(values, np.ndarray):
        results = results.astype(np.float32)
    fallback = np.asarray(default, results.dtype).reshape(())
    order = np.argsort(names, kind="stable")  # NaN is sorted last
    # of equal keys the last one counts
    table, ways = names[order], np.concatenate([results[order], fallback.reshape(1)])
    known: Any = place(TensorData(table), x.device)
    targets: Any = place(TensorData(ways), x.device)
    flat: Any = x.reshape((-1, 1))
    same = cast_to(flat, known.dtype) == known
    if table.dtype.kind == "f" and np.isnan(table).any():
        same = same | (cast_to(flat, known.dtype).is_nan() & known.is_nan())
    places = creation.arange(1, len(table) + 1, 1, x.device.int_dtype, device=x.device)
    found = (same.cast(x.device.int_dtype) * places).max_dims((1,)).reshape((-1,))
    index = (found - 1).mask_fill(found == 0, len(table))
    return targets.select(0, index).reshape(x.shape)  # type: ignore[no-any-return]
