"""The words in which networks are written, in four libraries; `reference` has them in NumPy.

A network is a function `network(f, w, x)`: `f` has the layers, `w` hands out the weights in the order
in which the network asks for them. So ours, torch's, jax's, tinygrad's and the NumPy reference in
float64 are the same network with the same weights.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

from burn_bench.benchmark import Array
from burn_bench.suite.elementwise import exact_gelu
from burn_bench.suite.reference import NumpyFunctions, columns, convolution, padded
from burn_bench.suite.weights import Network, Weights, drawn_weights

__all__ = [
    "BurnFunctions", "JaxFunctions", "NumpyFunctions", "TinygradFunctions", "TorchFunctions",
    "Network", "Weights", "columns", "convolution", "drawn_weights", "padded",
]  # fmt: skip


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

    def mean_spatial(self, x: Any, keep: bool = False) -> Any:
        found = x.mean_dims([2, 3])
        return found if keep else found.reshape([x.shape[0], x.shape[1]])

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

    def silu(self, x: Any) -> Any:
        return self.activation.silu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.activation.sigmoid(x)

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.module.batch_norm_training(x, gamma, beta, 1e-5)[0]

    def joined(self, parts: Sequence[Any]) -> Any:
        return self.tensor_class.cat(list(parts), 1)

    def halves(self, x: Any) -> Any:
        return x.chunk(2, 1)

    def doubled(self, x: Any) -> Any:
        return self.module.interpolate(x, (2 * x.shape[2], 2 * x.shape[3]))


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

    def mean_spatial(self, x: Any, keep: bool = False) -> Any:
        return x.mean((2, 3), keepdim=keep)

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

    def silu(self, x: Any) -> Any:
        return self.layers.silu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.torch.sigmoid(x)

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        return self.layers.batch_norm(x, None, None, gamma, beta, training=True)

    def joined(self, parts: Sequence[Any]) -> Any:
        return self.torch.cat(list(parts), 1)

    def halves(self, x: Any) -> Any:
        return x.chunk(2, 1)

    def doubled(self, x: Any) -> Any:
        return self.layers.interpolate(x, scale_factor=2.0, mode="nearest")


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
        return y if b is None else y + b.reshape(1, -1, 1, 1)

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

    def mean_spatial(self, x: Any, keep: bool = False) -> Any:
        return x.mean((2, 3), keepdims=keep)

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

    def silu(self, x: Any) -> Any:
        return self.jax.nn.silu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.jax.nn.sigmoid(x)

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        normed = self.jax.nn.standardize(x, (0, 2, 3), epsilon=1e-5)
        return normed * gamma.reshape(1, -1, 1, 1) + beta.reshape(1, -1, 1, 1)

    def joined(self, parts: Sequence[Any]) -> Any:
        return self.jax.numpy.concatenate(list(parts), 1)

    def halves(self, x: Any) -> Any:
        return self.jax.numpy.split(x, 2, 1)

    def doubled(self, x: Any) -> Any:
        return x.repeat(2, 2).repeat(2, 3)


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

    def mean_spatial(self, x: Any, keep: bool = False) -> Any:
        return x.mean((2, 3), keepdim=keep)

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

    def silu(self, x: Any) -> Any:
        return x.silu()

    def sigmoid(self, x: Any) -> Any:
        return x.sigmoid()

    def batch_norm(self, x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - x.mean((0, 2, 3), keepdim=True)
        spread = ((centred * centred).mean((0, 2, 3)) + 1e-5).rsqrt()
        return centred * (spread * gamma).reshape(1, -1, 1, 1) + beta.reshape(1, -1, 1, 1)

    def joined(self, parts: Sequence[Any]) -> Any:
        first, *others = parts
        return first.cat(*others, dim=1)

    def halves(self, x: Any) -> Any:
        return x.chunk(2, 1)

    def doubled(self, x: Any) -> Any:
        return x.repeat_interleave(2, 2).repeat_interleave(2, 3)
