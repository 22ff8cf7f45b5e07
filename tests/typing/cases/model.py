# pyright: reportAny=true
"""A model as people write them: its settings, its layers, a loss, steps for the learner, and a second model."""

from __future__ import annotations

from dataclasses import dataclass

from burn import Config, Device, Module, Param, Tensor, nn
from burn.module import layer
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLoss, CrossEntropyLossConfig
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from burn.tensor import Distribution
from burn.tensor.activation import softmax
from burn.train import ClassificationOutput, TrainOutput


@dataclass
class Batch:
    images: Tensor  # (batch, height, width)
    targets: Tensor  # (batch,)


class Block(Module):
    """A convolution, a norm, and what came in."""

    conv: Conv2d
    norm: nn.BatchNorm
    scale: Param | None

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.conv(x)).relu()
        if self.scale is not None:
            y = y * self.scale
        return x + y


class ModelConfig(Config):
    num_classes: int
    width: int = 8
    depth: int = 2
    dropout: float = 0.5
    smoothing: float | None = None

    def init(self, device: Device) -> Model:
        return Model(
            first=Conv2dConfig([1, self.width], [3, 3]).init(device),
            blocks=[self.block(device, scaled=index > 0) for index in range(self.depth)],
            pool=AdaptiveAvgPool2dConfig([2, 2]).init(),
            dropout=nn.DropoutConfig(self.dropout).init(),
            head=nn.LinearConfig(4 * self.width, self.num_classes).init(device),
            loss=CrossEntropyLossConfig(smoothing=self.smoothing).init(device),
        )

    def block(self, device: Device, scaled: bool) -> Block:
        conv = nn.conv.Conv2d(self.width, self.width, 3, padding=1, device=device)
        scale = Param(Tensor.ones([1, self.width, 1, 1], device)) if scaled else None
        return Block(conv=conv, norm=nn.BatchNormConfig(self.width).init(device), scale=scale)


class Model(Module):
    """Tells images apart."""

    first: Conv2d
    blocks: list[Block]
    pool: AdaptiveAvgPool2d
    dropout: nn.Dropout
    head: nn.Linear
    loss: CrossEntropyLoss

    def forward(self, images: Tensor) -> Tensor:
        batch, height, width = images.dims()
        x = self.first(images.reshape([batch, 1, height, width]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.dropout(self.pool(x).flatten(1, -1)))

    def classify(self, batch: Batch) -> ClassificationOutput:
        scores = self(batch.images)
        return ClassificationOutput(self.loss(scores, batch.targets), scores, batch.targets)

    def train_step(self, batch: Batch) -> TrainOutput[ClassificationOutput]:
        item = self.classify(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: Batch) -> ClassificationOutput:
        return self.classify(batch)

    def probabilities(self, images: Tensor, temperature: float = 1.0) -> tuple[Tensor, list[int]]:
        shares = softmax(self.forward(images) / temperature, 1)
        return shares, [int(each) for each in shares.argmax(dim=1)]


class AutoEncoder(Module):
    """Layers that are written once: `AutoEncoder.init(device)` makes them."""

    inner: nn.Linear = layer(nn.LinearConfig(16, 4))
    outer: nn.Linear = layer(nn.LinearConfig(4, 16))
    noise: float = 0.1

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.inner(x + x.random_like(Distribution.Normal(0.0, 1.0)) * self.noise).tanh()
        return self.outer(code), code

    def error(self, x: Tensor) -> Tensor:
        restored, _ = self(x)
        return ((restored - x) ** 2).mean()
