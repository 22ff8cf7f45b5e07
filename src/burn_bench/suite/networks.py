"""The networks, each written once: `network(f, w, x)`, layers from `f`, weights from `w`.

Batch norms are folded into the convolutions before them, as every engine for inference does.
"""

from __future__ import annotations

from typing import Any

from burn_bench.suite.weights import Weights


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


def resnet18(f: Any, w: Weights, x: Any, classes: int = 1000, normed: bool = False) -> Any:
    """ResNet-18; `normed` is the network that is trained, with its batch norms."""

    def convolve(x: Any, inputs: int, outputs: int, size: int, stride: int = 1) -> Any:
        kernel, padding = w.kernel(outputs, inputs, size, size), size // 2
        if not normed:
            return f.conv2d(x, kernel, w.vector(outputs), stride=stride, padding=padding)
        y = f.conv2d(x, kernel, None, stride=stride, padding=padding)
        return f.batch_norm(y, w.vector(outputs, 1.0), w.vector(outputs))

    x = f.max_pool2d(f.relu(convolve(x, 3, 64, 7, 2)), 3, 2, 1)
    inputs = 64
    for outputs in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if outputs > 64 and block == 0 else 1
            y = f.relu(convolve(x, inputs, outputs, 3, stride))
            y = convolve(y, outputs, outputs, 3)
            if stride != 1:
                x = convolve(x, inputs, outputs, 1, stride)
            x = f.relu(y + x)
            inputs = outputs
    return f.linear(f.mean_spatial(x), w.matrix(512, classes), w.vector(classes))


def resnet50(f: Any, w: Weights, x: Any) -> Any:
    """ResNet-50: blocks of 1x1, 3x3 and 1x1, the stride at the 3x3."""
    x = f.relu(f.conv2d(x, w.kernel(64, 3, 7, 7), w.vector(64), stride=2, padding=3))
    x = f.max_pool2d(x, 3, 2, 1)
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride, outputs = 2 if width > 64 and block == 0 else 1, 4 * width
            y = f.relu(f.conv2d(x, w.kernel(width, inputs, 1, 1), w.vector(width)))
            y = f.relu(f.conv2d(y, w.kernel(width, width, 3, 3), w.vector(width), stride=stride, padding=1))
            y = f.conv2d(y, w.kernel(outputs, width, 1, 1), w.vector(outputs))
            if block == 0:
                x = f.conv2d(x, w.kernel(outputs, inputs, 1, 1), w.vector(outputs), stride=stride)
            x = f.relu(y + x)
            inputs = outputs
    return f.linear(f.mean_spatial(x), w.matrix(2048, 1000), w.vector(1000))


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


def efficientnet_b0(f: Any, w: Weights, x: Any) -> Any:
    """EfficientNet-B0: the blocks of MobileNetV2 with SiLU, larger windows, and channels weighed by what they hold."""
    x = f.silu(f.conv2d(x, w.kernel(32, 3, 3, 3), w.vector(32), stride=2, padding=1))
    inputs = 32
    for expansion, size, outputs, repeats, first_stride in EFFICIENTNET:
        for block in range(repeats):
            stride = first_stride if block == 0 else 1
            wide, few = inputs * expansion, inputs // 4
            y = x
            if expansion != 1:
                y = f.silu(f.conv2d(y, w.kernel(wide, inputs, 1, 1), w.vector(wide)))
            kernel, padding = w.kernel(wide, 1, size, size), size // 2
            y = f.silu(f.conv2d(y, kernel, w.vector(wide), stride=stride, padding=padding, groups=wide))
            weight = f.mean_spatial(y, keep=True)
            weight = f.silu(f.conv2d(weight, w.kernel(few, wide, 1, 1), w.vector(few)))
            y = y * f.sigmoid(f.conv2d(weight, w.kernel(wide, few, 1, 1), w.vector(wide)))
            y = f.conv2d(y, w.kernel(outputs, wide, 1, 1), w.vector(outputs))
            x = x + y if stride == 1 and inputs == outputs else y
            inputs = outputs
    x = f.silu(f.conv2d(x, w.kernel(1280, 320, 1, 1), w.vector(1280)))
    return f.linear(f.mean_spatial(x), w.matrix(1280, 1000), w.vector(1000))


EFFICIENTNET = (
    (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1), (6, 5, 192, 4, 2),
    (6, 3, 320, 1, 1),
)  # fmt: skip
"""Expansion, window, channels, blocks and first stride of each stage."""


def squeezenet(f: Any, w: Weights, x: Any) -> Any:
    """SqueezeNet 1.1: a 1x1 squeezes, a 1x1 and a 3x3 beside each other expand."""
    x = f.relu(f.conv2d(x, w.kernel(64, 3, 3, 3), w.vector(64), stride=2))
    inputs = 64
    for stage in (((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256))):
        x = f.max_pool2d(x, 3, 2, 0)
        for few, wide in stage:
            x = f.relu(f.conv2d(x, w.kernel(few, inputs, 1, 1), w.vector(few)))
            one = f.relu(f.conv2d(x, w.kernel(wide, few, 1, 1), w.vector(wide)))
            three = f.relu(f.conv2d(x, w.kernel(wide, few, 3, 3), w.vector(wide), padding=1))
            x, inputs = f.joined([one, three]), 2 * wide
    return f.mean_spatial(f.relu(f.conv2d(x, w.kernel(1000, inputs, 1, 1), w.vector(1000))))
