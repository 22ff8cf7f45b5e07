"""A small convolutional network for images in colour."""

from __future__ import annotations

from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig, PaddingConfig2d, Relu
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLossConfig
from burn.nn.pool import MaxPool2d, MaxPool2dConfig
from burn.prelude import Device, Module, Tensor
from burn.train import ClassificationOutput, TrainOutput
from examples.custom_image_dataset.dataset import ClassificationBatch


class Cnn(Module):
    """Two pairs of convolutions, each followed by pooling, then two linear maps."""

    activation: Relu
    dropout: Dropout
    pool: MaxPool2d
    conv1: Conv2d
    conv2: Conv2d
    conv3: Conv2d
    conv4: Conv2d
    fc1: Linear
    fc2: Linear

    def forward(self, x: Tensor) -> Tensor:
        """Images (batch, 3, 32, 32) to logits (batch, classes)."""
        x = self.activation(self.conv1(x))
        x = self.activation(self.conv2(x))
        x = self.dropout(self.pool(x))
        x = self.activation(self.conv3(x))
        x = self.activation(self.conv4(x))
        x = self.dropout(self.pool(x))
        x = self.activation(self.fc1(x.flatten(1, 3)))
        return self.fc2(self.dropout(x))

    def forward_classification(self, batch: ClassificationBatch) -> ClassificationOutput:
        """The loss and what metrics read."""
        output = self.forward(batch.images)
        loss = CrossEntropyLossConfig().init(output.device).forward(output, batch.targets)
        return ClassificationOutput(loss, output, batch.targets)

    def train_step(self, batch: ClassificationBatch) -> TrainOutput[ClassificationOutput]:
        """A step of training."""
        item = self.forward_classification(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: ClassificationBatch) -> ClassificationOutput:
        """A step of validation."""
        return self.forward_classification(batch)


def new_model(classes: int, device: Device, channels: int = 16) -> Cnn:
    """A network whose parameters are drawn when they are first used."""
    same = PaddingConfig2d.Same

    def convolution(before: int, after: int) -> Conv2d:
        return Conv2dConfig([before, after], [3, 3], padding=same).init(device)

    return Cnn(
        activation=Relu(),
        dropout=DropoutConfig(0.3).init(),
        pool=MaxPool2dConfig([2, 2], [2, 2]).init(),
        conv1=convolution(3, channels),
        conv2=convolution(channels, channels),
        conv3=convolution(channels, 2 * channels),
        conv4=convolution(2 * channels, 2 * channels),
        fc1=LinearConfig(2 * channels * 8 * 8, 128).init(device),
        fc2=LinearConfig(128, classes).init(device),
    )
