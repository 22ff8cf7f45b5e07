"""A multilayer perceptron: linear layers with batch normalisation and dropout between them."""

from __future__ import annotations

from itertools import pairwise

from burn.nn import BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig
from burn.nn.loss import CrossEntropyLossConfig
from burn.prelude import Config, Device, Module, Tensor
from burn.train import ClassificationOutput, TrainOutput
from examples.guide.data import MnistBatch


class Mlp(Module):
    """Tells digits apart by their pixels alone."""

    layers: list[Linear]
    norms: list[BatchNorm]
    dropout: Dropout
    output: Linear

    def forward(self, images: Tensor) -> Tensor:
        """Images (batch, height, width) to scores (batch, classes)."""
        x = images.flatten(1, 2)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = self.dropout(norm(layer(x)).relu())
        return self.output(x)

    def classify(self, batch: MnistBatch) -> ClassificationOutput:
        """Scores and their loss, as metrics read them."""
        output = self.forward(batch.images)
        loss = CrossEntropyLossConfig().init(output.device)(output, batch.targets)
        return ClassificationOutput(loss, output, batch.targets)

    def train_step(self, batch: MnistBatch) -> TrainOutput[ClassificationOutput]:
        """Forward and backward of a batch."""
        item = self.classify(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: MnistBatch) -> ClassificationOutput:
        """Forward of a batch."""
        return self.classify(batch)


class MlpConfig(Config):
    """Settings of the perceptron."""

    num_layers: int = 3
    hidden_size: int = 256
    dropout: float = 0.3
    num_pixels: int = 28 * 28
    num_classes: int = 10

    def init(self, device: Device) -> Mlp:
        """A model whose parameters are drawn when they are first used."""
        sizes = [self.num_pixels] + [self.hidden_size] * self.num_layers
        return Mlp(
            layers=[LinearConfig(i, o).init(device) for i, o in pairwise(sizes)],
            norms=[BatchNormConfig(self.hidden_size).init(device) for _ in range(self.num_layers)],
            dropout=DropoutConfig(self.dropout).init(),
            output=LinearConfig(self.hidden_size, self.num_classes).init(device),
        )
