"""The words of networks in NumPy: in float64, the reference of all the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_bench.benchmark import Array
from burn_bench.suite.elementwise import gelu


def padded(x: Array, padding: int, value: float = 0.0) -> Array:
    """An image with a frame."""
    if not padding:
        return x
    return np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * (x.ndim - 2)], constant_values=value)


def columns(x: Array, window: tuple[int, ...], stride: int) -> Array:
    """All windows of an image: (batch, channels, *positions, *window), a view."""
    axes = tuple(range(2, x.ndim))
    found = np.lib.stride_tricks.sliding_window_view(x, window, axes)
    return found[(slice(None), slice(None), *[slice(None, None, stride)] * len(axes))]


def convolution(x: Array, w: Array, b: Array | None, stride: int = 1, padding: int = 0, groups: int = 1) -> Array:
    """A convolution of any rank, by one product of matrices a group."""
    rank = x.ndim - 2
    found = columns(padded(x, padding), w.shape[2:], stride)
    axes = ([1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)])
    if groups == x.shape[1] == w.shape[0]:
        letters = "xyz"[:rank], "ijk"[:rank]
        y = np.einsum(f"nc{letters[0]}{letters[1]},c{letters[1]}->nc{letters[0]}", found, w[:, 0])
    else:
        parts = [
            np.moveaxis(np.tensordot(each, kernel, axes), -1, 1)
            for each, kernel in zip(np.split(found, groups, 1), np.split(w, groups), strict=True)
        ]
        y = np.concatenate(parts, 1)
    return np.ascontiguousarray(y if b is None else y + b.reshape(1, -1, *(1,) * rank))


class NumpyFunctions:
    """NumPy, in float64 for references."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = dtype

    def place(self, array: Array, kind: str) -> Any:
        return array.astype(self.dtype)

    def conv2d(self, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return convolution(x, w, b, stride, padding, groups)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x @ w + b

    def relu(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def relu6(self, x: Any) -> Any:
        return np.clip(x, 0, 6)

    def gelu(self, x: Any) -> Any:
        return gelu(x)

    def max_pool2d(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return columns(padded(x, padding, -np.inf), (size, size), stride).max((-2, -1))

    def average_pool2d(self, x: Any, size: int) -> Any:
        return columns(x, (size, size), size).mean((-2, -1))

    def mean_spatial(self, x: Any, keep: bool = False) -> Any:
        return x.mean((2, 3), keepdims=keep)

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gamma + beta

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def swap(self, x: Any, first: int, second: int) -> Any:
        return x.swapaxes(first, second)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def silu(self, x: Any) -> Any:
        return x * self.sigmoid(x)

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - x.mean((0, 2, 3), keepdims=True)
        spread = np.sqrt((centred * centred).mean((0, 2, 3)) + 1e-5)
        return centred * (gamma / spread).reshape(1, -1, 1, 1) + beta.reshape(1, -1, 1, 1)

    def joined(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts, 1)

    def halves(self, x: Any) -> Any:
        return np.split(x, 2, 1)

    def doubled(self, x: Any) -> Any:
        return x.repeat(2, 2).repeat(2, 3)
