"""A transformer encoder that classifies texts."""

from __future__ import annotations

from burn.nn import Embedding, EmbeddingConfig, Linear, LinearConfig
from burn.nn.loss import CrossEntropyLossConfig
from burn.nn.transformer import TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput
from burn.prelude import Config, Device, Module, Tensor
from burn.train import ClassificationOutput, TrainOutput
from examples.text_classification.batcher import TextClassificationInferenceBatch, TextClassificationTrainingBatch


class TextClassificationModel(Module):
    """Embeds tokens and their places, lets them attend to each other, and reads the class from their mean."""

    transformer: TransformerEncoder
    embedding_token: Embedding
    embedding_pos: Embedding
    output: Linear

    def forward(self, item: TextClassificationInferenceBatch) -> Tensor:
        """Logits (batch, classes)."""
        tokens, mask = item.tokens, item.mask_pad
        batch, length = tokens.dims()
        places = Tensor.arange(range(length), tokens.device).reshape((1, length))
        embedded = (self.embedding_token(tokens) + self.embedding_pos(places)) / 2
        encoded = self.transformer(TransformerEncoderInput(embedded).mask_pad(mask))
        kept = mask.bool_not().float().reshape((batch, length, 1))
        mean = (encoded * kept).sum_dim(1) / kept.sum_dim(1)
        return self.output(mean.squeeze(1))

    def forward_classification(self, item: TextClassificationTrainingBatch) -> ClassificationOutput:
        """The loss and what metrics read."""
        output = self.forward(item)
        loss = CrossEntropyLossConfig().init(output.device).forward(output, item.labels)
        return ClassificationOutput(loss, output, item.labels)

    def infer(self, item: TextClassificationInferenceBatch) -> Tensor:
        """The probability of each class."""
        return self.forward(item).softmax(1)

    def train_step(self, batch: TextClassificationTrainingBatch) -> TrainOutput[ClassificationOutput]:
        """A step of training."""
        item = self.forward_classification(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: TextClassificationTrainingBatch) -> ClassificationOutput:
        """A step of validation."""
        return self.forward_classification(batch)


class TextClassificationModelConfig(Config):
    """Settings of the model."""

    transformer: TransformerEncoderConfig
    n_classes: int
    vocab_size: int
    max_seq_length: int

    def init(self, device: Device) -> TextClassificationModel:
        """A model whose parameters are drawn when they are first used."""
        width = self.transformer.d_model
        return TextClassificationModel(
            transformer=self.transformer.init(device),
            embedding_token=EmbeddingConfig(self.vocab_size, width).init(device),
            embedding_pos=EmbeddingConfig(self.max_seq_length, width).init(device),
            output=LinearConfig(width, self.n_classes).init(device),
        )
