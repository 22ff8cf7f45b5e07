"""The words in which networks are written, in five libraries.

A network is a function `network(f, w, x)`: `f` has the layers, `w` hands out the weights in the order
in which the network asks for them. So ours, torch's, jax's, tinygrad's and the NumPy reference in
float64 are the same network with the same weights.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burn.tools.benchmark.benchmark import Array
from burn.tools.benchmark.suite.elementwise import exact_gelu, gelu

Network = Callable[[Any, "Weights", Any], Any]


class Weights:
    """The weights of a network. The first pass draws them, later ones hand out what was drawn.

    `place(array, kind)` gives each to the library; a kind is "matrix" (inputs, outputs), "kernel"
    (outputs, inputs, *window) or "vector".
    """

    def __init__(self, place: Callable[[Array, str], Any], seed: int = 7) -> None:
        self.place = place
        self.values: list[Any] = []
        self.kinds: list[str] = []
        self._generator = np.random.default_rng(seed)

    def matrix(self, inputs: int, outputs: int) -> Any:
        """The weight of a linear layer."""
        return self._draw("matrix", (inputs, outputs), math.sqrt(1 / inputs))

    def kernel(self, outputs: int, inputs: int, *window: int) -> Any:
        """The weight of a convolution."""
        return self._draw("kernel", (outputs, inputs, *window), math.sqrt(2 / (inputs * math.prod(window))))

    def vector(self, size: int, mean: float = 0.0) -> Any:
        """A bias, or the scale of a norm."""
        return self._draw("vector", (size,), 0.05, mean)

    def _draw(self, kind: str, shape: tuple[int, ...], deviation: float, mean: float = 0.0) -> Any:
        array = self._generator.standard_normal(shape) * deviation + mean
        value = self.place(array.astype(np.float32), kind)
        self.values.append(value)
        self.kinds.append(kind)
        return value

    @staticmethod
    def given(values: Sequence[Any]) -> Weights:
        """Weights that were drawn before."""
        return _Given(values)


class _Given(Weights):
    def __init__(self, values: Sequence[Any]) -> None:
        self._next = iter(values)

    def _draw(self, kind: str, shape: tuple[int, ...], deviation: float, mean: float = 0.0) -> Any:
        return next(self._next)


def drawn_weights(functions: Any, network: Network, x: Array) -> Weights:
    """The weights that a network asks for, placed by a library."""
    weights = Weights(functions.place)
    network(functions, weights, functions.place(x, "input"))
    return weights


# NumPy, in the dtype of its input


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


def convolution(x: Array, w: Array, b: Array, stride: int = 1, padding: int = 0, groups: int = 1) -> Array:
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
    return np.ascontiguousarray(y + b.reshape(1, -1, *(1,) * rank))


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

    def mean_spatial(self, x: Any) -> Any:
        return x.mean((2, 3))

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


class BurnFunctions:
    """Ours, on one device. `dropout` draws on the device without its graph."""

    def __init__(self, device: Any) -> None:
        from burn.tensor import Distribution, Tensor, activation, module
        from burn.tensor.methods.creation import tensor

        self.device = device
        self.tensor, self.module, self.activation = tensor, module, activation
        self.tensor_class, self.distribution = Tensor, Distribution

    def place(self, array: Array, kind: str) -> Any:
        return self.tensor(array, device=self.device)

    def conv2d(self, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return self.module.conv2d(x, w, b, self.module.ConvOptions(stride=stride, padding=padding, groups=groups))

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return self.module.linear(x, w, b)

    def relu(self, x: Any) -> Any:
        return x.relu()

    def relu6(self, x: Any) -> Any:
        return x.clamp(0.0, 6.0)

    def gelu(self, x: Any) -> Any:
        return self.activation.gelu(x)

    def max_pool2d(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return self.module.max_pool2d(x, size, stride, padding)

    def average_pool2d(self, x: Any, size: int) -> Any:
        return self.module.adaptive_avg_pool2d(x, x.shape[2] // size)

    def mean_spatial(self, x: Any) -> Any:
        return x.mean_dims([2, 3]).reshape([x.shape[0], x.shape[1]])

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.module.layer_norm(x, gamma, beta, 1e-5)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.module.attention(q, k, v)

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(list(shape))

    def swap(self, x: Any, first: int, second: int) -> Any:
        return x.swap_dims(first, second)

    def dropout(self, x: Any, probability: float) -> Any:
        kept = self.tensor_class.random(x.shape, self.distribution.Bernoulli(1 - probability), self.device)
        return x * kept * (1 / (1 - probability))


class TorchFunctions:
    """torch, by its own functional layer: a linear weight lies as (outputs, inputs)."""

    def __init__(self, channels_last: bool = False, double: bool = False) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.layers = self.torch.nn.functional
        self.channels_last = channels_last
        self.dtype = self.torch.float64 if double else self.torch.float32

    def place(self, array: Array, kind: str) -> Any:
        found = self.torch.tensor(array, dtype=self.dtype)
        if kind == "matrix":
            return found.t().contiguous()
        if self.channels_last and found.ndim == 4:
            return found.contiguous(memory_format=self.torch.channels_last)
        return found

    def conv2d(self, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return self.layers.conv2d(x, w, b, stride=stride, padding=padding, groups=groups)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return self.layers.linear(x, w, b)

    def relu(self, x: Any) -> Any:
        return self.layers.relu(x)

    def relu6(self, x: Any) -> Any:
        return self.layers.relu6(x)

    def gelu(self, x: Any) -> Any:
        return self.layers.gelu(x)

    def max_pool2d(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return self.layers.max_pool2d(x, size, stride, padding)

    def average_pool2d(self, x: Any, size: int) -> Any:
        return self.layers.adaptive_avg_pool2d(x, x.shape[2] // size)

    def mean_spatial(self, x: Any) -> Any:
        return x.mean((2, 3))

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.layers.layer_norm(x, gamma.shape, gamma, beta)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.layers.scaled_dot_product_attention(q, k, v)

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def swap(self, x: Any, first: int, second: int) -> Any:
        return x.transpose(first, second)

    def dropout(self, x: Any, probability: float) -> Any:
        return self.layers.dropout(x, probability)


class JaxFunctions:
    """jax. Random bits for `dropout` come from `key`, which the caller sets for each step."""

    def __init__(self) -> None:
        self.jax: Any = importlib.import_module("jax")
        self.key: Any = None

    def place(self, array: Array, kind: str) -> Any:
        return self.jax.numpy.asarray(array)

    def conv2d(self, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        y = self.jax.lax.conv_general_dilated(
            x, w, (stride, stride), [(padding, padding)] * 2,
            dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=groups,
        )  # fmt: skip
        return y + b.reshape(1, -1, 1, 1)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x @ w + b

    def relu(self, x: Any) -> Any:
        return self.jax.nn.relu(x)

    def relu6(self, x: Any) -> Any:
        return self.jax.nn.relu6(x)

    def gelu(self, x: Any) -> Any:
        return self.jax.nn.gelu(x, approximate=False)

    def max_pool2d(self, x: Any, size: int, stride: int, padding: int) -> Any:
        window, steps = (1, 1, size, size), (1, 1, stride, stride)
        pads = ((0, 0), (0, 0), (padding, padding), (padding, padding))
        return self.jax.lax.reduce_window(x, -self.jax.numpy.inf, self.jax.lax.max, window, steps, pads)

    def average_pool2d(self, x: Any, size: int) -> Any:
        batch, channels, height, width = x.shape
        return x.reshape(batch, channels, height // size, size, width // size, size).mean((3, 5))

    def mean_spatial(self, x: Any) -> Any:
        return x.mean((2, 3))

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.jax.nn.standardize(x, epsilon=1e-5) * gamma + beta

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        return self.jax.nn.softmax(scores, -1) @ v

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def swap(self, x: Any, first: int, second: int) -> Any:
        return x.swapaxes(first, second)

    def dropout(self, x: Any, probability: float) -> Any:
        self.key, now = self.jax.random.split(self.key)
        kept = self.jax.random.bernoulli(now, 1 - probability, x.shape)
        return self.jax.numpy.where(kept, x / (1 - probability), 0.0)


class TinygradFunctions:
    """tinygrad."""

    def __init__(self, tinygrad: Any) -> None:
        self.tinygrad = tinygrad

    def place(self, array: Array, kind: str) -> Any:
        return self.tinygrad.Tensor(array).realize()

    def conv2d(self, x: Any, w: Any, b: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        return x.conv2d(w, b, groups=groups, stride=stride, padding=padding)

    def linear(self, x: Any, w: Any, b: Any) -> Any:
        return x.linear(w, b)

    def relu(self, x: Any) -> Any:
        return x.relu()

    def relu6(self, x: Any) -> Any:
        return x.relu6()

    def gelu(self, x: Any) -> Any:
        return exact_gelu(x)

    def max_pool2d(self, x: Any, size: int, stride: int, padding: int) -> Any:
        return x.max_pool2d((size, size), stride, padding=padding)

    def average_pool2d(self, x: Any, size: int) -> Any:
        return x.avg_pool2d((size, size))

    def mean_spatial(self, x: Any) -> Any:
        return x.mean((2, 3))

    def layer_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return x.layernorm(eps=1e-5) * gamma + beta

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return q.scaled_dot_product_attention(k, v)

    def reshape(self, x: Any, *shape: int) -> Any:
        return x.reshape(shape)

    def swap(self, x: Any, first: int, second: int) -> Any:
        return x.transpose(first, second)

    def dropout(self, x: Any, probability: float) -> Any:
        return x.dropout(probability)
