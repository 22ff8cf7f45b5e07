"""A network with one hidden layer, and the step that trains it."""

from __future__ import annotations

from burn.nn import Linear, LinearConfig
from burn.nn.loss import MseLoss, Reduction
from burn.prelude import Config, Device, Module, Tensor
from burn.train import RegressionOutput, TrainOutput
from examples.simple_regression.dataset import NUM_FEATURES, HousingBatch


class RegressionModel(Module):
    """Features of a district to the value of its houses."""

    input_layer: Linear
    output_layer: Linear

    def forward(self, inputs: Tensor) -> Tensor:
        """Features (batch, 8) to values (batch, 1)."""
        return self.output_layer(self.input_layer(inputs).relu())

    def forward_step(self, batch: HousingBatch) -> RegressionOutput:
        """Values and their mean squared error, as metrics read them."""
        targets = batch.targets.unsqueeze_dim(1)
        output = self.forward(batch.inputs)
        loss = MseLoss()(output, targets, Reduction.Mean)
        return RegressionOutput(loss, output, targets)

    def train_step(self, batch: HousingBatch) -> TrainOutput[RegressionOutput]:
        """Forward and backward of a batch."""
        item = self.forward_step(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: HousingBatch) -> RegressionOutput:
        """Forward of a batch."""
        return self.forward_step(batch)


class RegressionModelConfig(Config):
    """Settings of the network."""

    hidden_size: int = 64

    def init(self, device: Device) -> RegressionModel:
        """A model whose parameters are drawn when they are first used."""
        return RegressionModel(
            input_layer=LinearConfig(NUM_FEATURES, self.hidden_size).init(device),
            output_layer=LinearConfig(self.hidden_size, 1).init(device),
        )
