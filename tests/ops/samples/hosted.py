"""Samples of rows that run on the host: trees, coupled probabilities, sequences of tokens, pictures."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from burn.errors import ArgumentError, DataError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, random, refused, samples


def _forest(seed: int = 0, trees: int = 3, depth: int = 3, targets: int = 2, modes: tuple[int, ...] = (0,)) -> Any:
    """Complete trees of one depth over four features."""
    rng = np.random.default_rng(seed)
    inner = 2**depth - 1
    count = trees * inner
    yes, no = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for tree in range(trees):
        for node in range(inner):
            children = (2 * node + 1, 2 * node + 2)
            ends = [tree * inner + c if c < inner else count + tree * 2**depth + c - inner for c in children]
            yes[tree * inner + node], no[tree * inner + node] = ends
    return [
        np.arange(trees) * inner,
        rng.integers(0, 4, count),
        rng.uniform(-1, 1, count).astype(np.float32),
        rng.choice(modes, count).astype(np.int64),
        yes,
        no,
        rng.integers(0, 2, count).astype(bool),
        rng.uniform(-1, 1, (trees * 2**depth, targets)),
    ]


def _walk(x: Any, roots: Any, features: Any, splits: Any, modes: Any, yes: Any, no: Any, missing: Any, weights: Any,
          aggregate: str = "sum") -> Any:  # fmt: skip
    """One item and one tree after the other."""
    import torch

    compare = [lambda a, b: a <= b, lambda a, b: a < b, lambda a, b: a >= b, lambda a, b: a > b,
               lambda a, b: a == b, lambda a, b: a != b]  # fmt: skip
    rows = []
    for item in x.detach():
        reached = []
        for root in roots.tolist():
            node = root
            while node < len(features):
                value = item[features[node]]
                goes = compare[modes[node]](value, splits[node]) or (missing[node] and value.isnan())
                node = (yes if goes else no)[node].item()
            reached.append(weights.detach()[node - len(features)])
        votes = torch.stack(reached)
        rows.append({"sum": votes.sum(0), "average": votes.mean(0), "min": votes.min(0).values,
                     "max": votes.max(0).values}[aggregate])  # fmt: skip
    return torch.stack(rows).to(x.dtype) if rows else torch.zeros(0, weights.shape[1], dtype=x.dtype)


@samples("tree_ensemble", oracle=_walk)
def _tree_ensemble() -> Iterator[Sample]:
    x = random(5, 4)
    holes = x.copy()
    holes[1, :] = np.nan
    yield call(x, *_forest(), grad=False, half=False)
    yield call(holes, *_forest(1, modes=(0, 1, 2, 3, 4, 5)), "average", grad=False, half=False)
    yield call(random(4, 5).T, *_forest(2, targets=1), "min", grad=False, half=False)
    yield call(x, *_forest(3, trees=1, depth=1), "max", grad=False, half=False)
    yield call(np.zeros((0, 4)), *_forest(), grad=False, half=False)


refused("tree_ensemble", random(4), *_forest(), error=ShapeError, match=r"\(items, features\)")
refused("tree_ensemble", random(2, 4), *_forest(), "most", error=ArgumentError, match="one of sum, average")
refused("tree_ensemble", random(2, 4), *_forest()[:1], random(3), *_forest()[2:], error=ShapeError, match="one length")


@samples("couple_probabilities")
def _couple_probabilities() -> Iterator[Sample]:
    def pairs(items: int, classes: int) -> Any:
        upper = np.triu(random(items, classes, classes, low=0.1, high=0.9), 1)
        return upper + np.tril((1 - upper.transpose(0, 2, 1)), -1)

    yield call(pairs(4, 3), grad=False)
    yield call(pairs(1, 2), grad=False)
    yield call(np.zeros((0, 3, 3)), grad=False)


refused("couple_probabilities", random(2, 3), error=ShapeError, match=r"\(items, classes, classes\)")


@samples("count_sequences")
def _count_sequences() -> Iterator[Sample]:
    pool = np.array([2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    starts, indexes = np.array([0, 4]), np.arange(7)
    x = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]])
    weights = random(7, low=0.5, high=2.0).astype(np.float32)
    yield call(x, pool, starts, indexes, None, 2, 2, 0, "TF", 7)
    yield call(x, pool, starts, indexes, None, 1, 2, 5, "TF", 7)
    yield call(x[0], pool, starts, indexes, weights, 1, 2, 1, "TFIDF", 7)
    yield call(x, pool, starts, indexes[::-1].copy(), weights, 1, 2, 0, "IDF", 8)
    yield call(np.zeros((2, 0), np.int64), pool, starts, indexes, None, 1, 2, 0, "TF", 7)


_GRAMS = (np.array([1]), np.array([0]), np.array([0]), None)
refused("count_sequences", random(2), *_GRAMS, 1, 1, 0, "TF", 1, error=DTypeError, match="x must be an int tensor")
refused("count_sequences", np.array([1]), *_GRAMS, 2, 1, 0, "TF", 1, error=ArgumentError, match="1 <= min_length")
refused("count_sequences", np.array([1]), *_GRAMS, 1, 1, 0, "FT", 1, error=ArgumentError, match="TF, IDF, TFIDF")


def _picture(kind: str) -> Any:
    pixels = (np.arange(4 * 5 * 3) * 4 % 256).astype(np.uint8).reshape(4, 5, 3)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return np.frombuffer(file.getvalue(), np.uint8)


@samples("decode_image")
def _decode_image() -> Iterator[Sample]:
    yield call(_picture("png"))
    yield call(_picture("bmp"), "BGR")
    yield call(_picture("png"), "Grayscale")


refused("decode_image", np.zeros(9, np.uint8), error=DataError, match="no picture")
refused("decode_image", np.zeros(9, np.uint8), "CMYK", error=ArgumentError, match="RGB, BGR, Grayscale")
