"""A transformer that gives the next token of a text."""

from __future__ import annotations

from burn.nn import Embedding, EmbeddingConfig, Linear, LinearConfig
from burn.nn.attention import generate_autoregressive_mask
from burn.nn.loss import CrossEntropyLossConfig
from burn.nn.transformer import TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput
from burn.prelude import Config, Device, Module, Tensor
from burn.train import SequenceOutput, TrainOutput
from examples.text_generation.data import TextGenerationBatch


class TextGenerationModel(Module):
    """Embeds tokens and their places, and lets each attend to those before it."""

    transformer: TransformerEncoder
    embedding_token: Embedding
    embedding_pos: Embedding
    output: Linear

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, vocabulary) of the tokens that follow each token (batch, length)."""
        batch, length = tokens.dims()
        places = Tensor.arange(range(length), tokens.device).reshape((1, length))
        embedded = (self.embedding_token(tokens) + self.embedding_pos(places)) / 2
        mask = generate_autoregressive_mask(batch, length, tokens.device)
        return self.output(self.transformer(TransformerEncoderInput(embedded).mask_attn(mask)))

    def forward_training(self, batch: TextGenerationBatch) -> SequenceOutput:
        """The loss and what metrics read."""
        logits = self.forward(batch.tokens)
        rows, length, vocabulary = logits.dims()
        flat = logits.reshape((rows * length, vocabulary)), batch.targets.reshape((rows * length,))
        loss = CrossEntropyLossConfig().init(logits.device).forward(*flat)
        return SequenceOutput(loss, logits, batch.targets)

    def train_step(self, batch: TextGenerationBatch) -> TrainOutput[SequenceOutput]:
        """A step of training."""
        item = self.forward_training(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: TextGenerationBatch) -> SequenceOutput:
        """A step of validation."""
        return self.forward_training(batch)


class TextGenerationModelConfig(Config):
    """Settings of the model."""

    transformer: TransformerEncoderConfig
    vocab_size: int
    max_seq_length: int

    def init(self, device: Device) -> TextGenerationModel:
        """A model whose parameters are drawn when they are first used."""
        width = self.transformer.d_model
        return TextGenerationModel(
            transformer=self.transformer.init(device),
            embedding_token=EmbeddingConfig(self.vocab_size, width).init(device),
            embedding_pos=EmbeddingConfig(self.max_seq_length, width).init(device),
            output=LinearConfig(width, self.vocab_size).init(device),
        )
