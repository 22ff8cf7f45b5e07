"""Arrays for metrics: tensors read once, whatever their device.

Metrics see small tensors, one batch at a time; a handful of NumPy calls on them is cheaper than a handful of tensor
operations, and the same on each device. Arrays and lists are taken too, so a metric serves outside of a training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from burn.errors import DTypeError, ShapeError
from burn.tensor import Tensor

Values: TypeAlias = "Tensor[Any] | np.ndarray[Any, Any] | Sequence[Any]"
Array: TypeAlias = "np.ndarray[Any, Any]"


def host(values: Values) -> Array:
    """The values as a NumPy array that NumPy can compute with: bfloat16 becomes float32."""
    array = np.asarray(values)
    if array.dtype.kind == "V":
        return array.astype(np.float32)
    if array.dtype.kind == "O":
        raise DTypeError("metric: the values are no array of numbers; rows of different lengths need padding")
    return array


def scores_and_classes(metric: str, outputs: Values, targets: Values) -> tuple[Array, Array]:
    """Scores as (items, classes) and the right classes as (items,); sequences are taken as that many items."""
    scores, classes = host(outputs), host(targets)
    if scores.ndim < 2:
        raise ShapeError(
            f"{metric}: needs a score for each class, (items, classes), got shape {scores.shape}; "
            "for one score per item use HammingScore, or PrecisionMetric.binary and its like"
        )
    if scores.shape[-1] < 2:
        raise ShapeError(
            f"{metric}: one column of scores, {scores.shape}, cannot tell classes apart; "
            "use HammingScore(threshold=...), or give the model an output for each class"
        )
    if classes.size * scores.shape[-1] != scores.size:
        raise ShapeError(f"{metric}: {classes.shape} targets do not fit scores of shape {scores.shape}")
    if classes.dtype.kind == "f":
        classes = classes.astype(np.int64)
    return scores.reshape(-1, scores.shape[-1]), classes.reshape(-1)


def same_shape(metric: str, outputs: Values, targets: Values) -> tuple[Array, Array]:
    """Two arrays of one shape; (items, 1) and (items,) are brought together."""
    given, wanted = host(outputs), host(targets)
    if given.shape != wanted.shape:
        if given.size != wanted.size or given.squeeze().shape != wanted.squeeze().shape:
            raise ShapeError(f"{metric}: outputs of shape {given.shape} and targets of shape {wanted.shape} differ")
        wanted = wanted.reshape(given.shape)
    return given, wanted


def softmax(scores: Array) -> Array:
    """Probabilities of the last axis, in float64."""
    scores = scores.astype(np.float64)
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


def sigmoid(scores: Array) -> Array:
    """Probabilities of single scores, in float64, without overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * scores.astype(np.float64))
