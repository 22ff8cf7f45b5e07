"""The networks, each written once: `network(f, w, x)`, layers from `f`, weights from `w`.

Batch norms are folded into the convolutions before them, as every engine for inference does.
"""

from __future__ import annotations

from typing import Any

from burn.tools.benchmark.suite.functions import Weights


def mlp(f: Any, w: Weights, x: Any) -> Any:
    """784-512-10."""
    hidden = f.relu(f.linear(x, w.matrix(784, 512), w.vector(512)))
    return f.linear(hidden, w.matrix(512, 10), w.vector(10))


def tiny_mlp(f: Any, w: Weights, x: Any) -> Any:
    """Three layers with 992 parameters."""
    x = f.relu(f.linear(x, w.matrix(16, 24), w.vector(24)))
    x = f.relu(f.linear(x, w.matrix(24, 20), w.vector(20)))
    return f.linear(x, w.matrix(20, 4), w.vector(4))


def guide_cnn(f: Any, w: Weights, x: Any, dropout: float = 0.5) -> Any:
    """The network of the guide: two convolutions, pooling to 8x8, two linear layers."""

    def dropped(x: Any) -> Any:
        return f.dropout(x, dropout) if dropout else x

    x = dropped(f.conv2d(x, w.kernel(8, 1, 3, 3), w.vector(8)))
    x = dropped(f.conv2d(x, w.kernel(16, 8, 3, 3), w.vector(16)))
    x = f.average_pool2d(f.relu(x), 3)  # 24x24 to 8x8
    x = f.reshape(x, x.shape[0], 1024)
    x = f.relu(dropped(f.linear(x, w.matrix(1024, 512), w.vector(512))))
    return f.linear(x, w.matrix(512, 10), w.vector(10))


def encoder(f: Any, w: Weights, x: Any, layers: int = 6, size: int = 384, heads: int = 12) -> Any:
    """A transformer encoder like BERT's: norms after the residual sums."""
    batch, length = x.shape[0], x.shape[1]

    def split(y: Any) -> Any:
        return f.swap(f.reshape(y, batch, length, heads, size // heads), 1, 2)

    for _ in range(layers):
        query, key, value = (split(f.linear(x, w.matrix(size, size), w.vector(size))) for _ in range(3))
        mixed = f.reshape(f.swap(f.attention(query, key, value), 1, 2), batch, length, size)
        x = x + f.linear(mixed, w.matrix(size, size), w.vector(size))
        x = f.layer_norm(x, w.vector(size, 1.0), w.vector(size))
        wide = f.gelu(f.linear(x, w.matrix(size, 4 * size), w.vector(4 * size)))
        x = x + f.linear(wide, w.matrix(4 * size, size), w.vector(size))
        x = f.layer_norm(x, w.vector(size, 1.0), w.vector(size))
    return x


def resnet18(f: Any, w: Weights, x: Any) -> Any:
    """ResNet-18."""
    x = f.relu(f.conv2d(x, w.kernel(64, 3, 7, 7), w.vector(64), stride=2, padding=3))
    x = f.max_pool2d(x, 3, 2, 1)
    inputs = 64
    for outputs in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if outputs > 64 and block == 0 else 1
            y = f.relu(f.conv2d(x, w.kernel(outputs, inputs, 3, 3), w.vector(outputs), stride=stride, padding=1))
            y = f.conv2d(y, w.kernel(outputs, outputs, 3, 3), w.vector(outputs), padding=1)
            if stride != 1:
                x = f.conv2d(x, w.kernel(outputs, inputs, 1, 1), w.vector(outputs), stride=stride)
            x = f.relu(y + x)
            inputs = outputs
    return f.linear(f.mean_spatial(x), w.matrix(512, 1000), w.vector(1000))


def mobilenet_v2(f: Any, w: Weights, x: Any) -> Any:
    """MobileNetV2: expand, filter each channel, project; a residual where the shapes allow it."""
    x = f.relu6(f.conv2d(x, w.kernel(32, 3, 3, 3), w.vector(32), stride=2, padding=1))
    inputs = 32
    for expansion, outputs, repeats, first_stride in MOBILENET:
        for block in range(repeats):
            stride = first_stride if block == 0 else 1
            wide = inputs * expansion
            y = x
            if expansion != 1:
                y = f.relu6(f.conv2d(y, w.kernel(wide, inputs, 1, 1), w.vector(wide)))
            y = f.conv2d(y, w.kernel(wide, 1, 3, 3), w.vector(wide), stride=stride, padding=1, groups=wide)
            y = f.conv2d(f.relu6(y), w.kernel(outputs, wide, 1, 1), w.vector(outputs))
            x = x + y if stride == 1 and inputs == outputs else y
            inputs = outputs
    x = f.relu6(f.conv2d(x, w.kernel(1280, 320, 1, 1), w.vector(1280)))
    return f.linear(f.mean_spatial(x), w.matrix(1280, 1000), w.vector(1000))


MOBILENET = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, blocks and first stride of each stage."""
