"""Image networks of the usual architectures, in plain PyTorch: true blocks, few channels.

Each stands for the network of the same name that libraries ship: residual blocks, inverted residuals, fire modules,
dense blocks, patches with a class token, and depthwise blocks with layer scale over permuted layer norms.
"""

# mypy: disable-error-code="no-any-return"
# what a module of PyTorch gives when it is called is Any

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Two convolutions around a shortcut, which is a convolution itself where the size changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """Stem, four stages of two residual blocks each, average pool, classifier."""

    def __init__(self, widths: Sequence[int] = (8, 12, 16, 20), classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, last = [], widths[0]
        for index, width in enumerate(widths):
            stages.append(nn.Sequential(Residual(last, width, 1 if index == 0 else 2), Residual(width, width, 1)))
            last = width
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(last, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def convolved(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution, a batch norm and a capped rectifier."""
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return [layer, nn.BatchNorm2d(outputs), nn.ReLU6()]


class InvertedResidual(nn.Module):
    """Widen, filter each channel alone, and narrow again without an activation."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers = convolved(inputs, hidden, 1) if expansion != 1 else []
        layers += convolved(hidden, hidden, 3, stride, hidden)
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv(x) if self.shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals of growing width, a pointwise layer, dropout and a classifier."""

    def __init__(self, classes: int = 10, dropout: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Sequential(*convolved(3, 8, 3, 2)), InvertedResidual(8, 6, 1, 1)]
        last = 6
        for expansion, width, count, stride in ((3, 8, 2, 2), (3, 10, 2, 2), (3, 12, 1, 1)):
            for index in range(count):
                layers.append(InvertedResidual(last, width, stride if index == 0 else 1, expansion))
                last = width
        self.features = nn.Sequential(*layers, nn.Sequential(*convolved(last, 24, 1)))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(24, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class Fire(nn.Module):
    """Squeeze to few channels, then expand by two convolutions side by side."""

    def __init__(self, inputs: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.expand1x1(x)), torch.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """Fire modules between pools that round up, and a convolution as the classifier."""

    def __init__(self, classes: int = 10, dropout: float = 0.0) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
            Fire(12, 4, 8), Fire(16, 4, 8), nn.MaxPool2d(3, 2, ceil_mode=True),
            Fire(16, 6, 12), Fire(24, 6, 12),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Conv2d(24, classes, 1), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(self.classifier(self.features(x)), 1)


class Dense(nn.Module):
    """A bottleneck that reads all that its block made so far and adds a few channels."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
        y = self.conv1(torch.relu(self.norm1(torch.cat(features, 1))))
        return self.conv2(torch.relu(self.norm2(y)))


class DenseBlock(nn.Module):
    """Layers of which each sees the results of all before it."""

    def __init__(self, inputs: int, growth: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Dense(inputs + index * growth, growth) for index in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class DenseNet121(nn.Module):
    """Dense blocks with halving transitions between them."""

    def __init__(self, counts: Sequence[int] = (2, 2), growth: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        layers: list[nn.Module] = []
        width = 8
        for index, count in enumerate(counts):
            layers.append(DenseBlock(width, growth, count))
            width += growth * count
            if index + 1 < len(counts):
                layers.append(
                    nn.Sequential(
                        nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)
                    )
                )
                width //= 2
        self.features = nn.Sequential(*layers)
        self.norm5 = nn.BatchNorm2d(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm5(self.features(self.stem(x))))
        return self.classifier(torch.flatten(functional.adaptive_avg_pool2d(x, (1, 1)), 1))


class PatchLayer(nn.Module):
    """Attention with one projection for query, key and value, then a feed-forward part; norms first."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size, eps=1e-6), nn.LayerNorm(size, eps=1e-6)
        self.qkv, self.proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.fc1, self.fc2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, size // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        found = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.proj(found.transpose(1, 2).reshape(batch, length, size))
        return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Patches, a class token, learned positions, layers, and a head on the token."""

    def __init__(self, layers: int = 2, size: int = 24, heads: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, size, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, size))
        self.positions = nn.Parameter(torch.randn(1, 17, size))
        self.blocks = nn.ModuleList(PatchLayer(size, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(size, eps=1e-6)
        self.head = nn.Linear(size, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class ChannelNorm(nn.LayerNorm):
    """A layer norm over the channels of images."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    """Depthwise convolution, pointwise layers over the last dimension, layer scale, shortcut."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(size, size, 7, padding=3, groups=size)
        self.norm = nn.LayerNorm(size, eps=1e-6)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.scale = nn.Parameter(torch.full((size, 1, 1), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.down(functional.gelu(self.up(y))).permute(0, 3, 1, 2)
        return x + self.scale * y


class ConvNext(nn.Module):
    """A patch stem, stages with norm and stride between them, and a norm before the head."""

    def __init__(self, widths: Sequence[int] = (8, 12), classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], eps=1e-6)]
        for index, width in enumerate(widths):
            if index:
                layers += [ChannelNorm(widths[index - 1], eps=1e-6), nn.Conv2d(widths[index - 1], width, 2, 2)]
            layers += [ConvNextBlock(width), ConvNextBlock(width)]
        self.features = nn.Sequential(*layers)
        self.norm = ChannelNorm(widths[-1], eps=1e-6)
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.head(torch.flatten(self.norm(x), 1))
