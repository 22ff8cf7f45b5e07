"""The guide's model: two convolutions and two linear layers."""

from __future__ import annotations

from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig, Relu
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLossConfig
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from burn.prelude import Config, Device, Module, Tensor
from burn.train import ClassificationOutput, TrainOutput
from examples.guide.data import MnistBatch


class Model(Module):
    """Tells digits apart."""

    conv1: Conv2d
    conv2: Conv2d
    pool: AdaptiveAvgPool2d
    dropout: Dropout
    linear1: Linear
    linear2: Linear
    activation: Relu

    def forward(self, images: Tensor) -> Tensor:
        """Images (batch, height, width) to scores (batch, classes)."""
        batch_size, height, width = images.dims()
        x = images.reshape([batch_size, 1, height, width])  # one channel

        x = self.conv1(x)  # (batch, 8, _, _)
        x = self.dropout(x)
        x = self.conv2(x)  # (batch, 16, _, _)
        x = self.dropout(x)
        x = self.activation(x)

        x = self.pool(x)  # (batch, 16, 8, 8)
        x = x.reshape([batch_size, 16 * 8 * 8])
        x = self.linear1(x)
        x = self.dropout(x)
        x = self.activation(x)
        return self.linear2(x)  # (batch, classes)

    def forward_classification(self, images: Tensor, targets: Tensor) -> ClassificationOutput:
        """Scores and their loss, as metrics read them."""
        output = self.forward(images)
        loss = CrossEntropyLossConfig().init(output.device)(output, targets)
        return ClassificationOutput(loss, output, targets)

    def train_step(self, batch: MnistBatch) -> TrainOutput[ClassificationOutput]:
        """Forward and backward of a batch."""
        item = self.forward_classification(batch.images, batch.targets)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: MnistBatch) -> ClassificationOutput:
        """Forward of a batch."""
        return self.forward_classification(batch.images, batch.targets)


class ModelConfig(Config):
    """Settings of the model."""

    num_classes: int
    hidden_size: int
    dropout: float = 0.5

    def init(self, device: Device) -> Model:
        """A model whose parameters are drawn when they are first used."""
        return Model(
            conv1=Conv2dConfig([1, 8], [3, 3]).init(device),
            conv2=Conv2dConfig([8, 16], [3, 3]).init(device),
            pool=AdaptiveAvgPool2dConfig([8, 8]).init(),
            activation=Relu(),
            linear1=LinearConfig(16 * 8 * 8, self.hidden_size).init(device),
            linear2=LinearConfig(self.hidden_size, self.num_classes).init(device),
            dropout=DropoutConfig(self.dropout).init(),
        )
