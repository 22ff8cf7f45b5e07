"""The guide's network on MNIST, as the benchmarks train it: ours, and the same one in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burn.data.dataloader import column
from burn.data.dataset.vision import MnistDataset
from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig, Relu
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLoss
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from burn.prelude import Config, Device, Module, Tensor
from burn.train import ClassificationOutput, TrainOutput

MEAN, DEVIATION = 0.1307, 0.3081


@dataclass
class MnistBatch:
    """Images (batch, 28, 28), normalised, and their digits (batch)."""

    images: Tensor[Any]
    targets: Tensor[Any]


class MnistBatcher:
    """Makes batches of digits."""

    def batch(self, items: list[Any], device: Device) -> MnistBatch:
        """The items as tensors on `device`."""
        images = np.asarray(column(items, "image"))
        pixels = images.astype(np.float32) * np.float32(1 / (255 * DEVIATION)) - np.float32(MEAN / DEVIATION)
        labels = np.asarray(column(items, "label"), np.int64)
        return MnistBatch(Tensor.from_data(pixels, device), Tensor.from_data(labels, device))


class Model(Module):
    """Two convolutions, a pool, two linear layers."""

    conv1: Conv2d
    conv2: Conv2d
    pool: AdaptiveAvgPool2d
    dropout: Dropout
    linear1: Linear
    linear2: Linear
    activation: Relu

    def forward(self, images: Tensor[Any]) -> Tensor[Any]:
        """Images (batch, 28, 28) to logits (batch, 10)."""
        batch, height, width = images.dims()
        x = self.dropout(self.conv1(images.reshape([batch, 1, height, width])))
        x = self.activation(self.dropout(self.conv2(x)))
        x = self.pool(x).reshape([batch, 16 * 8 * 8])
        x = self.activation(self.dropout(self.linear1(x)))
        return self.linear2(x)  # type: ignore[no-any-return]

    def forward_classification(self, batch: MnistBatch) -> ClassificationOutput:
        """Logits, targets and the loss."""
        output = self(batch.images)
        loss = CrossEntropyLoss(None, output.device)(output, batch.targets)
        return ClassificationOutput(loss, output, batch.targets)

    def train_step(self, batch: MnistBatch) -> TrainOutput[ClassificationOutput]:
        """A training step."""
        item = self.forward_classification(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: MnistBatch) -> ClassificationOutput:
        """A validation step."""
        return self.forward_classification(batch)


class ModelConfig(Config):
    """Settings of the network."""

    num_classes: int = 10
    hidden_size: int = 512
    dropout: float = 0.5

    def init(self, device: Device) -> Model:
        """The network on `device`."""
        return Model(
            conv1=Conv2dConfig([1, 8], [3, 3]).init(device),
            conv2=Conv2dConfig([8, 16], [3, 3]).init(device),
            pool=AdaptiveAvgPool2dConfig([8, 8]).init(),
            dropout=DropoutConfig(self.dropout).init(),
            linear1=LinearConfig(16 * 8 * 8, self.hidden_size).init(device),
            linear2=LinearConfig(self.hidden_size, self.num_classes).init(device),
            activation=Relu(),
        )


def datasets(folder: str | None) -> tuple[Any, Any]:
    """Training and test digits: those of a folder with MNIST's files, or the bundled ones."""
    if folder is None:
        return MnistDataset.bundled("train"), MnistDataset.bundled("test")
    return MnistDataset.train(folder), MnistDataset.test(folder)
